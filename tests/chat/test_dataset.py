"""Files of conversations: access to every row, and errors with line and column."""

from __future__ import annotations

import gzip
import json
import os
import signal
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chat.conversations import nanochat_conversations, turns
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset, JsonLines
from tokviz.chat.messages import ConversationError
from tokviz.errors import InputFileError
from tokviz.training.corpus.parquet import ParquetTable


def lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def texts(dataset: Dataset) -> list[str]:
    dataset.index_all()
    return [dataset.row(i).messages[0].text for i in range(dataset.n_rows)]


@given(
    values=st.lists(nanochat_conversations(), max_size=5), ending=st.sampled_from(["\n", "\r\n"])
)
def test_rows_of_json_lines_are_the_lines(values, ending):
    data = "".join(json.dumps(value, ensure_ascii=False) + ending for value in values).encode(
        "utf-8", "replace"
    )
    dataset = Dataset.from_bytes("a.jsonl", data)
    assert dataset.n_rows == len(values)
    for i, value in enumerate(values):
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
        assert dataset.row(i) == Conversation.from_json(json.loads(text))
        assert dataset.place(i) == f"line {i + 1}"
        assert dataset.raw(i).strip() == text.encode()


def test_blank_lines_are_no_rows_and_count():
    blank = b" " * 200
    data = b"\n" + lines(turns("a")) + blank + b"\n\n" + blank + lines(turns("b"))
    dataset = Dataset.from_bytes("a.jsonl", data)
    assert texts(dataset) == ["a", "b"]
    assert [dataset.place(0), dataset.place(1)] == ["line 2", "line 5"]


SOME = [b"{}", b" ", b"\n", b"\r\n", b"\t\v\f", b"\0", b"\x85", b"x" * 9]


@given(data=st.lists(st.sampled_from(SOME)).map(b"".join), looked_at=st.integers(1, 12))
def test_rows_are_the_lines_that_are_not_blank_however_much_is_looked_at(
    data: bytes, looked_at: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokviz.chat.dataset._LOOKED_AT", looked_at)
        found = JsonLines(data)
        found.index_all()
    lines = enumerate(data.split(b"\n"), 1)
    rows = [(f"line {number}", line) for number, line in lines if line.strip()]
    assert [(found.place(row), found.raw(row)) for row in range(found.n_rows)] == rows
    assert found.complete


def test_broken_rows_say_line_and_column_and_the_others_stay(tmp_path):
    path = tmp_path / "a.jsonl"
    good, bad = lines(turns("a")), b'[{"role": "user" "content": 1}]\n'
    others = lines([{"role": "usr", "content": ""}]) + b"[" * 100_000 + b"\n" + b"9" * 5_000 + b"\n"
    others += b"[" + b"0," * 8_000_000 + b"0]\n"
    path.write_bytes(good + bad + others + good)
    dataset = Dataset.open(path)
    dataset.index_all()
    assert dataset.n_rows == 7
    assert dataset.row(0) == dataset.row(6)
    for row, said in (
        (1, "line 2, column 18: this is not JSON: a comma is missing here, or a quote before"),
        (2, "line 3: message 1, key 'role': 'usr' is not a known role; did you mean 'user'?"),
        (3, "line 4: this JSON nests too deeply"),
        (4, "line 5: a number has too many digits"),
        (5, "line 6: more than 8,000,000 values in one JSON text"),
    ):
        with pytest.raises(ConversationError) as caught:
            dataset.row(row)
        assert str(caught.value) == said
        assert dataset.preview(row) == said
    with pytest.raises(IndexError):
        dataset.row(7)


@pytest.mark.parametrize(
    ("value", "n_rows"),
    [
        ({"messages": turns("a")}, 1),
        (turns("a", "b"), 1),
        ([{"messages": turns("a")}] * 3, 3),
        ([turns("a"), turns("a", "b")], 2),
        ({"data": [{"messages": turns("a")}] * 2}, 2),
        ({"conversations": [{"from": "human", "value": "a"}]}, 1),
    ],
)
@pytest.mark.parametrize(
    ("name", "indent"), [("a.json", None), ("a.json", 2), ("-", None), ("-", 2), ("a.jsonl", 2)]
)
def test_one_json_text_is_found_out(value, n_rows, indent, name):
    data = json.dumps(value, indent=indent).encode()
    assert texts(Dataset.from_bytes(name, data)) == ["a"] * n_rows


def test_json_lines_in_a_file_called_json_are_lines():
    assert texts(Dataset.from_bytes("a.json", lines(turns("a"), turns("b")))) == ["a", "b"]


def test_broken_json_over_many_lines_says_where():
    with pytest.raises(ConversationError, match="line 3, column 3: this is not JSON"):
        Dataset.from_bytes("a.json", b'{\n "messages": [\n  }]\n}')


def test_bytes_that_are_no_utf8_are_kept():
    data = b'[{"role": "user", "content": "a\xffb"}]\n'
    assert Dataset.from_bytes("a.jsonl", data * 2).row(0).messages[0].text == "a\udcffb"


def test_a_byte_order_mark_is_no_matter():
    assert texts(Dataset.from_bytes("a.jsonl", b"\xef\xbb\xbf" + lines(turns("a")) * 2)) == [
        "a",
        "a",
    ]


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_a_device_that_never_ends_is_no_dataset():
    with pytest.raises(InputFileError, match="/dev/zero: more than 200,000,000 bytes"):
        Dataset.open("/dev/zero")


def test_empty_files_have_no_rows(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"")
    dataset = Dataset.open(tmp_path / "a.jsonl")
    assert dataset.complete
    assert dataset.n_rows == 0
    with pytest.raises(ConversationError, match="line 1, column 1: this is not JSON: it is empty"):
        Dataset.from_bytes("a.json", b"")


def test_compressed_files_are_opened(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines(turns("a"), turns("b"))))
    assert texts(Dataset.open(tmp_path / "a.jsonl.gz")) == ["a", "b"]
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines(turns("a")))[:-9])
    with pytest.raises(InputFileError, match="is damaged"):
        Dataset.open(tmp_path / "b.jsonl.gz")


@pytest.mark.parametrize(("name", "reason"), [("none", "no such file"), ("", "is a folder")])
def test_what_cannot_be_read_is_said(tmp_path, name, reason):
    with pytest.raises(InputFileError, match=reason):
        Dataset.open(tmp_path / name)


def test_a_hundred_thousand_rows_are_open_at_once(tmp_path):
    path = tmp_path / "a.jsonl"
    row = lines({"messages": turns("x" * 50, "y" * 50)})
    path.write_bytes(row * 100_000 + lines(turns("last")))
    dataset = Dataset.open(path)
    assert dataset.n_rows == 0
    assert dataset.row(5).messages[0].text == "x" * 50
    assert dataset.n_rows < 10_000
    assert dataset.row(100_000).messages[0].text == "last"
    assert dataset.complete
    assert dataset.n_rows == 100_001


@pytest.mark.parametrize("said", [[], [{"role": "user", "content": " "}]], ids=["none", "blank"])
def test_a_row_in_which_nothing_is_said_says_so(said):
    rows = Dataset.from_bytes("a.jsonl", lines({"messages": said}))
    assert rows.preview(0) == "(nothing is said)"


def test_previews_are_the_first_words():
    messages = [{"role": "system", "content": "S"}, *turns(" a\n\n b " + "c" * 1000)]
    assert Dataset.from_bytes("a.jsonl", lines(messages)).preview(0) == ("a b " + "c" * 1000)[:200]


# -- parquet


def write_parquet(path, columns, row_group_size=2):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), path, row_group_size=row_group_size)


def test_parquet_rows_are_read_from_any_group(tmp_path):
    messages = [turns(f"q{i}", f"a{i}") for i in range(7)]
    messages[3][1]["name"] = "Bo"
    write_parquet(tmp_path / "a.parquet", {"id": list(range(7)), "messages": messages})
    dataset = Dataset.open(tmp_path / "a.parquet")
    assert dataset.n_rows == 7
    for i in (6, 0, 3, 5):
        assert dataset.row(i) == Conversation.from_json({"messages": messages[i]})
    assert dataset.place(6) == "row 7"


def test_parquet_may_hold_sharegpt_alpaca_or_json_text(tmp_path):
    sharegpt = [[{"from": "human", "value": "Hi"}]]
    write_parquet(tmp_path / "a.parquet", {"conversations": sharegpt, "system": ["S"]})
    assert [m.text for m in Dataset.open(tmp_path / "a.parquet").row(0).messages] == ["S", "Hi"]
    alpaca = {"instruction": ["Add", "Hi"], "input": ["1", None], "output": ["2", "Ho"]}
    write_parquet(tmp_path / "c.parquet", alpaca)
    dataset = Dataset.open(tmp_path / "c.parquet")
    assert [dataset.row(i).messages[0].text for i in (0, 1)] == ["Add\n\n1", "Hi"]
    write_parquet(tmp_path / "b.parquet", {"messages": [json.dumps(turns("Hi")), "{"]})
    dataset = Dataset.open(tmp_path / "b.parquet")
    assert dataset.row(0).messages[0].text == "Hi"
    with pytest.raises(ConversationError, match="this is not JSON"):
        dataset.row(1)


def test_parquet_has_what_stands_beside_the_messages(tmp_path):
    beside = {"documents": [["D"]], "functions": ["F"], "reasoning": ["R"], "notes": ["N"]}
    write_parquet(tmp_path / "a.parquet", {"messages": [turns("Hi")], **beside})
    found = Dataset.open(tmp_path / "a.parquet").row(0).extra_fields()
    assert {aside.key for aside in found} == {"documents", "functions", "reasoning"}


def test_parquet_rows_are_read_in_any_order_of_a_group_of_many_batches(tmp_path):
    contents = [f"{i:04} " + "x" * 40_000 for i in range(100)]
    write_parquet(
        tmp_path / "a.parquet",
        {"messages": [turns(text, "a") for text in contents]},
        row_group_size=60,
    )
    dataset = Dataset.open(tmp_path / "a.parquet")
    for i in (0, 59, 58, 99, 0, 60, 30):
        assert dataset.row(i).messages[0].text == contents[i]


def test_a_parquet_row_that_is_too_large_is_named(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"messages": [json.dumps(turns("a" * 17_000_000)), "[]"]})
    dataset = Dataset.open(tmp_path / "a.parquet")
    with pytest.raises(ConversationError, match="row 1 has more than 16,777,216 bytes"):
        dataset.row(0)


@pytest.mark.parametrize(
    ("kind", "number"),
    [("timestamp[ns]", 1), ("timestamp[ms]", 10**18), ("date32", 2**31 - 1)],
)
def test_parquet_rows_with_times_that_python_has_not_are_read(tmp_path, kind, number):
    pyarrow = pytest.importorskip("pyarrow")
    columns = [
        pyarrow.array(["user", "assistant"]),
        pyarrow.array(["Hi", "Hello"]),
        pyarrow.array([number, number], kind),
    ]
    said = pyarrow.StructArray.from_arrays(columns, names=["role", "content", "when"])
    messages = pyarrow.ListArray.from_arrays(pyarrow.array([0, 2], "int32"), said)
    write_parquet(tmp_path / "a.parquet", {"messages": messages})
    row = Dataset.open(tmp_path / "a.parquet").row(0)
    assert [message.text for message in row.messages] == ["Hi", "Hello"]


def test_a_parquet_file_that_is_damaged_meanwhile_is_named_whenever_it_is_asked(tmp_path):
    path = tmp_path / "a.parquet"
    write_parquet(path, {"messages": [turns("Hi")]})
    table = ParquetTable(str(path))
    assert table.rows(0, 0, ["messages"])
    os.kill(table._jobs.pid, signal.SIGKILL)
    path.write_bytes(b"PAR1 no")
    with suppress(InputFileError):  # the end of the process may not be known yet
        table.rows(0, 0, ["messages"])
    for _ in range(2):
        with pytest.raises(InputFileError, match="is not a readable Parquet file: Parquet"):
            table.rows(0, 0, ["messages"])
    table.close()


def test_parquet_without_messages_is_refused(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"body": ["a"]})
    with pytest.raises(InputFileError, match="has no column 'messages'; its columns are 'body'"):
        Dataset.open(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputFileError, match="is not a readable Parquet file"):
        Dataset.open(tmp_path / "b.parquet")
