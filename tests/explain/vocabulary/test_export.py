from __future__ import annotations

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokviz.explain.vocabulary.export import ExportKind, escaped, export
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.tokenizer.tokenizer import Tokenizer

TOKENS = {0: b"a", 3: b' "x",\n', 7: b"\xe4\xb8", 9: "世".encode(), 11: b"=cmd()", 12: b"\\n\r\x00"}
INDEX = VocabularyIndex(Tokenizer(TOKENS, [], {"<|end|>": 20}))


def unescaped(text: str) -> bytes:
    plain = {"\\\\": b"\\", "\\n": b"\n", "\\t": b"\t", "\\r": b"\r"}
    parts = re.findall(r"\\x[0-9a-f]{2}|\\.|[^\\]", text, re.DOTALL)
    return b"".join(
        plain.get(part) or (bytes.fromhex(part[2:]) if part[:2] == "\\x" else part.encode())
        for part in parts
    )


def test_csv_round_trips_every_token() -> None:
    data = export(INDEX, range(len(INDEX)), "csv").decode()
    rows = list(csv.DictReader(io.StringIO(data, newline="")))
    assert {int(row["id"]): bytes.fromhex(row["bytes"]) for row in rows} == TOKENS | {
        20: b"<|end|>"
    }
    assert rows[3]["text"] == "世" and rows[3]["script"] == "Han"
    assert [row["special"] for row in rows] == ["False"] * 6 + ["True"]


def test_json_lines_round_trip_every_token() -> None:
    lines = export(INDEX, [2, 0], "jsonl").decode().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["id"] for record in records] == [7, 0]
    assert records[0]["bytes"] == "e4b8" and records[0]["text"] == "\ufffd"
    assert records[1] == {
        "id": 0, "text": "a", "bytes": "61", "length": 1, "characters": 1, "script": "Latin",
        "special": False,
    }  # fmt: skip


def test_text_has_one_reversible_line_per_token() -> None:
    lines = export(INDEX, range(len(INDEX)), "txt").decode().split("\n")
    assert lines.pop() == ""
    pairs = [line.split("\t", 1) for line in lines]
    assert {int(i): unescaped(text) for i, text in pairs} == TOKENS | {20: b"<|end|>"}


@given(st.binary(max_size=30))
def test_escapes_lose_nothing(token: bytes) -> None:
    assert unescaped(escaped(token)) == token
    assert "\n" not in escaped(token) and "\t" not in escaped(token)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "txt"])
def test_a_list_of_nothing_is_a_file_too(kind: ExportKind) -> None:
    assert export(INDEX, [], kind).count(b"\n") == (kind == "csv")
