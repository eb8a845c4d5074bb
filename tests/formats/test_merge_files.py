"""Merge files of every format give the same merges."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tokviz.formats.byte_level import to_characters
from tokviz.formats.merge_files import parse_merges, read_merges

MERGES = [(b" ", b"t"), (b"h", b"e"), (b" t", b"he"), (b"\xc3", b"\xa9"), (b"\n", b"\n")]


def gpt2_text(merges):
    return "".join(f"{to_characters(left)} {to_characters(right)}\n" for left, right in merges)


FORMS = {
    "gpt2": "#version: 0.2\n" + gpt2_text(MERGES),
    "no version": gpt2_text(MERGES),
    "crlf": gpt2_text(MERGES).replace("\n", "\r\n"),
    "json pairs": json.dumps([[to_characters(a), to_characters(b)] for a, b in MERGES]),
    "json text": json.dumps([f"{to_characters(a)} {to_characters(b)}" for a, b in MERGES]),
    "json bytes": json.dumps([[list(a), list(b)] for a, b in MERGES]),
    "json latin-1": json.dumps([[a.decode("latin-1"), b.decode("latin-1")] for a, b in MERGES]),
    "json hex": json.dumps([[a.hex(), b.hex()] for a, b in MERGES]),
    "hex": "".join(f"{a.hex()} {b.hex()}\n" for a, b in MERGES),
    "python tuples": "".join(f"({a!r}, {b!r})\n" for a, b in MERGES),
    "python spaced": "".join(f"{a!r} {b!r}\n" for a, b in MERGES),
    "python lists": "".join(f"{list(a)} {list(b)}\n" for a, b in MERGES),
    "repr": repr(MERGES),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read(form, tmp_path):
    path = tmp_path / "merges"
    path.write_text(FORMS[form], encoding="utf-8", newline="")
    assert read_merges(path) == MERGES


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=6), st.binary(min_size=1, max_size=6))))
def test_any_bytes_survive_gpt2s_alphabet_and_pythons_literals(merges):
    text = gpt2_text(merges)
    if not text.startswith("["):
        assert parse_merges(text.encode(), "m") == merges
    lines = "".join(f"{left!r} {right!r}\n" for left, right in merges)
    assert parse_merges(lines.encode(), "m") == merges


def test_a_merge_of_number_signs_is_no_comment():
    assert parse_merges(b"# #\n## #\n", "m") == [(b"#", b"#"), (b"##", b"#")]


def test_a_bracket_may_be_merged_first():
    assert parse_merges(b"[ ]\n[] [\n", "m") == [(b"[", b"]"), (b"[]", b"[")]
    assert parse_merges(b"[ a\n", "m") == [(b"[", b"a")]


def test_no_merges_are_no_error():
    assert parse_merges(b"", "m") == []
    assert parse_merges(b"#version: 0.2\n", "m") == []
    assert parse_merges(b"[]", "m") == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a b\na b c\n", "line 2: 'a b c' is not a merge"),
        (b"#version: 0.2\na b\n\nc d\n", "line 3: '' is not a merge"),
        ("#version: 0.2\na b\n漢 b\n".encode(), "line 3: '漢' + 'b': '漢' stands for no byte"),
        (b"a b\na \xff", "line 2, column 3: the byte 0xff is not UTF-8"),
        (b'["a b", 3]', "item 1: 3 is not a pair"),
        (b'[["a", "b"], ["a"]]', "item 1: ['a'] is not a pair"),
        (b'[["a", "b"], [[97], [98]]]', "item 1: is not written as item 0 is"),
        (b"[[[97], [256]]]", "item 0: [[97], [256]] is not a pair"),
        (b'["a b",', "line 1, column 8: is not JSON: it is cut off"),
        (b"[" * 100_000, "nested too deeply"),
        (b"(b'a', b'b')\n(b'a', __import__('os'))\n", "line 2:"),
        (b"(" * 100_000, "line 1:"),
    ],
)
def test_what_is_wrong_names_the_line(data, words, tmp_path):
    path = tmp_path / "merges.txt"
    path.write_bytes(data)
    with pytest.raises(tokviz.InputFileError) as caught:
        read_merges(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
