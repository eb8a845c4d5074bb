"""Files of token ids: every format, the documents in a row, and each rule."""

from __future__ import annotations

import json
import struct
from itertools import chain

import numpy as np
import pytest

import tokviz
from tokviz.chat.lint import TOKEN_RULES
from tokviz.chat.messages import ConversationError
from tokviz.chat.token_files import TokenReader, is_tokenized, open_rows
from tokviz.errors import InputFileError

QWEN = tokviz.load("qwen2")
GPT2 = tokviz.load("gpt2")
CHAT = QWEN.encode("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n")
LABELS = [-100] * 9 + CHAT[9:]
GOOD = {"input_ids": CHAT, "labels": LABELS}
END = 50256


def as_lines(tmp_path, *rows):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_rows(str(path))


def found(tmp_path, row, tokenizer=QWEN):
    return TokenReader(tokenizer).read(as_lines(tmp_path, row), 0)


def codes(row):
    return [finding.code for finding in row.findings]


def ids_of(rows):
    return [rows.value(row)[0]["input_ids"].tolist() for row in range(rows.n_rows)]


def write_megatron(path, sequences, documents, code=8, dtype=np.uint16):
    lengths = np.array([*map(len, sequences)], np.int32)
    ids = np.concatenate([np.array(it, dtype) for it in sequences])
    path.with_suffix(".bin").write_bytes(ids.tobytes())
    pointers = (np.cumsum(lengths) - lengths) * np.dtype(dtype).itemsize
    header = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths), len(documents))
    parts = (lengths, pointers.astype(np.int64), np.array(documents, np.int64))
    path.with_suffix(".idx").write_bytes(header + b"".join(part.tobytes() for part in parts))


# -- formats


@pytest.mark.parametrize("kind", ["parquet", "file.arrow", "stream.arrow"])
def test_tables_hold_tokenized_rows(tmp_path, kind):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    numbers = pyarrow.list_(pyarrow.int32())
    schema = pyarrow.schema([("input_ids", numbers), ("labels", numbers), ("id", pyarrow.string())])
    table = pyarrow.Table.from_pylist([{**GOOD, "id": "a"}] * 5, schema=schema)
    path = str(tmp_path / f"rows.{kind}")
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=2)
    else:
        opened = pyarrow.ipc.new_file if kind == "file.arrow" else pyarrow.ipc.new_stream
        with opened(path, schema) as writer:
            writer.write_table(table, max_chunksize=2)
    rows = open_rows(path)
    assert rows.n_rows == 5 and is_tokenized(rows)
    row = TokenReader(QWEN).read(rows, 4)
    assert row.ids.tolist() == CHAT
    assert row.mask.tolist() == [0] * 9 + [1] * 3


def test_an_arrow_file_holds_conversations_too(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    path = str(tmp_path / "rows.arrow")
    table = pyarrow.table({"messages": [[{"role": "user", "content": "Hi"}]]})
    with pyarrow.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)
    rows = open_rows(path)
    assert not is_tokenized(rows)
    assert rows.row(0).messages[0].text == "Hi"


def test_megatron_rows_come_from_the_index_with_their_documents(tmp_path):
    path = tmp_path / "data.bin"
    write_megatron(path, [[1, 2], [3, END], [5, 6, END]], [0, 2, 3])
    for name in ("data.bin", "data.idx"):
        rows = open_rows(str(tmp_path / name))
        assert ids_of(rows) == [[1, 2], [3, END], [5, 6, END]]
        assert rows.place(0) == "document 1, sequence 1"
        assert rows.place(2) == "document 2, sequence 3"
    reader = TokenReader(GPT2)
    assert [codes(reader.read(rows, row)) for row in range(3)] == [[], [], []]


def test_a_wrong_index_is_an_error(tmp_path):
    path = tmp_path / "data.idx"
    write_megatron(path, [[1, 2], [3]], [0, 1, 2])
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with pytest.raises(InputFileError, match="ends before its last row"):
        open_rows(str(path))
    path.write_bytes(b"TNTIDX" + whole[6:])
    with pytest.raises(InputFileError, match="is not an index of Megatron-LM"):
        open_rows(str(path))
    path.write_bytes(whole)
    path.with_suffix(".bin").write_bytes(b"\1\0")
    with pytest.raises(InputFileError, match="names tokens beyond the 1 of the"):
        open_rows(str(path))


@pytest.mark.parametrize(("dtype", "ids"), [("uint16", GPT2.encode("Hi there, you")),
                                            ("uint32", CHAT)])  # fmt: skip
def test_the_type_of_raw_ids_is_guessed_and_said(tmp_path, dtype, ids):
    path = tmp_path / "train.bin"
    path.write_bytes(np.array(ids * 50, dtype).tobytes())
    rows = open_rows(str(path), window=7)
    assert [*chain(*ids_of(rows))] == ids * 50
    assert f"read as {dtype}, which is a guess" in rows.notes[0]
    assert rows.place(1) == "tokens 8 to 14"
    assert not open_rows(str(path), dtype).notes
    path.write_bytes(b"123")
    with pytest.raises(InputFileError, match="3 bytes, not a multiple of 4"):
        open_rows(str(path), "uint32")


def test_the_header_of_llm_c_tells_the_type(tmp_path):
    path = tmp_path / "train.bin"
    header = np.zeros(256, "<i4")
    header[:3] = 20240520, 1, 3
    path.write_bytes(header.tobytes() + np.array([1, 2, END], "<u2").tobytes())
    rows = open_rows(str(path))
    assert ids_of(rows) == [[1, 2, END]]
    assert not rows.notes


def test_npy_holds_one_row_or_several(tmp_path):
    path = str(tmp_path / "rows.npy")
    np.save(path, np.array([[1, 2, 3], [4, 5, 6]], np.uint16))
    assert ids_of(open_rows(path)) == [[1, 2, 3], [4, 5, 6]]
    np.save(path, np.arange(5))
    assert ids_of(open_rows(path, window=2)) == [[0, 1], [2, 3], [4]]
    np.save(path, np.zeros(3))
    with pytest.raises(InputFileError, match="1 dimensions of float64, not one or two of integers"):
        open_rows(path)


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.arrow"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"junk, not numbers")
    with pytest.raises(InputFileError, match=name):
        open_rows(str(path))


def test_an_empty_bin_has_no_rows(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"")
    assert open_rows(str(path)).n_rows == 0


# -- documents


def test_documents_start_where_positions_restart(tmp_path):
    row = {"input_ids": [1, 2, 3, 4, 5], "position_ids": [0, 1, 0, 1, 2]}
    assert found(tmp_path, row, GPT2).documents == [0, 2]


def test_documents_end_at_the_end_token(tmp_path):
    assert found(tmp_path, {"input_ids": [1, END, 2, END]}, GPT2).documents == [0, 2]


def test_padding_is_no_document(tmp_path):
    row = {"input_ids": [1, END, END, END], "attention_mask": [1, 1, 0, 0]}
    read = found(tmp_path, row, GPT2)
    assert read.documents == [0]
    assert read.mask.tolist() == [1, 1, 0, 0]


# -- rules

BROKEN = {
    "lengths-differ": {**GOOD, "labels": LABELS[1:]},
    "ids-outside-vocabulary": {"input_ids": [999_999, -1, *CHAT]},
    "labels-differ": {**GOOD, "labels": [*LABELS[:-1], 5]},
    "all-masked": {**GOOD, "labels": [-100] * len(CHAT)},
    "labels-everywhere": {**GOOD, "labels": CHAT},
    "truncated-end": {"input_ids": CHAT[:-2], "labels": LABELS[:-2]},
}


def test_a_good_row_has_no_finding(tmp_path):
    assert codes(found(tmp_path, GOOD)) == []


@pytest.mark.parametrize("code", TOKEN_RULES)
def test_each_rule_finds_its_problem(tmp_path, code):
    assert codes(found(tmp_path, BROKEN[code])) == [code]


def test_shifted_labels_are_recognized(tmp_path):
    read = found(tmp_path, {"input_ids": CHAT, "labels": [*CHAT[1:], -100]})
    assert "they are shifted by one" in read.findings[0].message


def test_a_mask_of_zeros_trains_on_nothing(tmp_path):
    row = {"input_ids": CHAT, "assistant_masks": [0] * len(CHAT)}
    assert codes(found(tmp_path, row)) == ["all-masked"]


def test_text_without_turns_may_be_in_the_loss_everywhere(tmp_path):
    read = found(tmp_path, {"input_ids": [1, END], "labels": [1, END]}, GPT2)
    assert [(it.code, it.severity) for it in read.findings] == [("labels-everywhere", "warning")]


@pytest.mark.parametrize("ids", ["text", [[1, 2], [3]], [1.5], {"a": 1}, [2**70]])
def test_ids_that_are_none_are_an_error_with_the_place(tmp_path, ids):
    with pytest.raises(ConversationError, match="line 1: key 'input_ids': must be a list of int"):
        found(tmp_path, {"input_ids": ids})
