"""A row that is replaced in its dataset; everything else stays byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chat.conversations import TEXTS, nanochat_conversations
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset, is_plain_text
from tokviz.chat.dataset_rows import edited_row, keeps_shape
from tokviz.chat.messages import ConversationError, Message
from tokviz.errors import InputFileError
from tokviz.storage.files import write_file

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
ROWS: list[Any] = [
    {"id": 1, "messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "f"}], "x": 1.50},
    {"conversations": [{"from": "human", "value": "Hi", "k": 1}], "chat_template_kwargs": {"a": 0}},
    {"system": "S", "conversations": [{"from": "human", "value": "Hi"}], "id": "a"},
    {
        "system": "",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}],
    },
    {"output": "O", "input": "I", "instruction": "Hi", "n": None},
    {"completion": " all", "prompt": "Hi", "label": False},
    {"prompt": [{"content": "Hi", "role": "user"}], "completion": [], "k": 2},
    {"chosen": [{"role": "user", "content": "Hi"}], "rejected": [], "prompt": "Hi"},
    [{"role": "user", "content": "Hi"}],
    {"messages": [{"role": "user", "content": "Hi"}, {"tool_calls": [CALL], "role": "assistant"}]},
    {"messages": [{"role": "user", "content": "Hi", "tool_calls": None, "name": None}]},
]


def with_first_text(conversation: Conversation, text: str) -> Conversation:
    """Change the text of the first message that is not a system message."""
    messages = list(conversation.messages)
    index = next(n for n, message in enumerate(messages) if message.role != "system")
    messages[index] = replace(messages[index], content=text)
    return replace(conversation, messages=tuple(messages))


def written(dataset: Dataset, row: int, edit: Callable[[Conversation], Conversation]) -> bytes:
    return b"".join(dataset.with_row(row, edit(dataset.row(row))))


@pytest.mark.parametrize("value", ROWS)
@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_a_row_keeps_its_shape_its_keys_and_its_formatting(value: Any, separators: Any) -> None:
    old = json.dumps(value, separators=separators)
    edited = with_first_text(Conversation.from_json(value), "Good day")
    if "input" in value:
        edited = with_first_text(edited, "Good day\n\nI")
    assert keeps_shape(edited)
    new = old.replace('"Hi"', '"Good day"', 1)
    if "chosen" in value:
        new = json.dumps({"chosen": [{"role": "user", "content": "Good day"}], "rejected": [],
                          "prompt": "Hi"}, separators=separators)  # fmt: skip
    assert edited_row(old.encode(), edited).decode() == new


@given(st.data(), st.lists(nanochat_conversations(), min_size=1, max_size=5), TEXTS, TEXTS)
def test_all_bytes_of_other_lines_stay(data: Any, rows: Any, text: str, between: str) -> None:
    blank = "".join(char for char in between if char in " \n\r\t")
    row = data.draw(st.integers(0, len(rows) - 1))
    lines = [json.dumps({"k": n, **value}, ensure_ascii=n % 2 > 0) for n, value in enumerate(rows)]
    file = ("\r\n" + blank).join([*lines, ""])
    dataset = Dataset.from_bytes("rows.jsonl", file.encode())
    edited = dataset.row(row)
    edited = replace(edited, messages=(*edited.messages, Message("user", text)))
    new = b"".join(dataset.with_row(row, edited))
    again = Dataset.from_bytes("rows.jsonl", new)
    assert again.n_rows == len(rows)
    assert again.row(row).messages == edited.messages
    for other in range(len(rows)):
        if other != row:
            assert again.raw(other) == dataset.raw(other)
    start = file.encode().index(lines[row].encode())
    assert new.startswith(file.encode()[:start])
    assert new.endswith(file.encode()[start + len(lines[row].encode()) :])
    same = b"".join(dataset.with_row(row, dataset.row(row)))
    assert [json.loads(line) for line in same.splitlines() if line.strip()] == [
        json.loads(line) for line in lines
    ]


@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
@pytest.mark.parametrize("container", [list, lambda rows: {"about": ["x"], "data": rows}])
def test_a_row_of_a_json_file_is_replaced_in_place(indent: Any, container: Any) -> None:
    rows = [{"messages": [{"role": "user", "content": word}], "k": 1e5} for word in "abc"]
    text = json.dumps(container(rows), indent=indent)
    dataset = Dataset.from_bytes("rows.json", text.encode())
    assert written(dataset, 1, lambda it: with_first_text(it, "é")).decode() == text.replace(
        '"b"', '"é"'
    )


def test_invalid_bytes_a_byte_order_mark_and_a_missing_line_end_stay() -> None:
    first = b'\xef\xbb\xbf{"messages": [{"role": "user", "content": "caf\xe9"}]}'
    last = b'{"messages": [{"role": "user", "content": "x"}], "y": "caf\xe9"}'
    dataset = Dataset.from_bytes("rows.jsonl", first + b"\n" + last)
    assert written(dataset, 1, lambda it: with_first_text(it, "z")) == (
        first + b"\n" + last.replace(b'"x"', b'"z"')
    )
    changed = written(dataset, 0, lambda it: with_first_text(it, it.messages[0].text + "!"))
    assert changed == first.replace(b"\xe9", b"\xe9!") + b"\n" + last


def test_a_repaired_row_takes_the_place_of_the_broken_one() -> None:
    dataset = Dataset.from_bytes("rows.jsonl", b'{"messages"\n  {"mess \n')
    repaired = Conversation.from_json({"prompt": "a", "completion": "b"})
    assert b"".join(dataset.with_row(1, repaired)) == (
        b'{"messages"\n  {"prompt": "a", "completion": "b"} \n'
    )


def test_a_conversation_that_no_longer_fits_is_recognized_and_written_as_messages() -> None:
    old = b'{"id": 3, "prompt": "a", "completion": "b"}'
    conversation = Conversation.from_json(json.loads(old))
    longer = replace(conversation, messages=(*conversation.messages, Message("user", "c")))
    assert keeps_shape(conversation)
    assert not keeps_shape(longer)
    row = json.loads(edited_row(old, longer))
    assert [*row] == ["id", "messages"]
    assert [message["content"] for message in row["messages"]] == ["a", "b", "c"]


def test_a_row_of_a_table_is_replaced_in_a_new_file(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    rows = [
        {"messages": [{"role": "user", "content": f"{n}"}], "tools": '["f"]', "id": n}
        for n in range(50)
    ]
    table = pa.Table.from_pylist(rows)
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=20, compression="zstd")
    dataset = Dataset.open(tmp_path / "a.parquet")
    edited = with_first_text(dataset.row(33), "new")
    edited = replace(edited, extra={**edited.extra, "tools": ["g"]})
    write_file(tmp_path / "b.parquet", dataset.with_row(33, edited))
    found = parquet.ParquetFile(tmp_path / "b.parquet")
    assert found.metadata.num_row_groups == 3
    assert found.metadata.row_group(0).column(0).compression == "ZSTD"
    rows[33] |= {"messages": [{"role": "user", "content": "new"}], "tools": '["g"]'}
    assert found.read().to_pylist() == rows
    assert found.schema_arrow.equals(table.schema)
    named = replace(edited, messages=(Message("user", "x", {"name": "me"}),))
    with pytest.raises(InputFileError, match="column 'messages' has no place for 'name'"):
        [*dataset.with_row(33, named)]
    with pytest.raises(ConversationError, match="key 'documents': the table has no such column"):
        [*dataset.with_row(33, replace(edited, extra={"documents": ["d"]}))]


def test_only_plain_text_is_written_in_place() -> None:
    names = ["a.jsonl", "a.json", "a.txt", "a.jsonl.gz", "a.zst", "a.parquet"]
    assert [is_plain_text(name) for name in names] == [True] * 3 + [False] * 3
