"""What a character is: code points, forms, what cannot be seen, and its tokens."""

from __future__ import annotations

import unicodedata
from functools import cache

import pytest
from hypothesis import given

import tokviz
from tests.oracles import nasty
from tokviz import bytetext
from tokviz.explain.character import MOST_POINTS, char_at, clusters, inspect
from tokviz.glyphs import UNSAFE
from tokviz.sentences import said
from tokviz.tokenizer import Tokenizer
from tokviz.tui.dialogs.character import as_text, character_rows


@cache
def gpt4() -> Tokenizer:
    return tokviz.load("gpt-4")


@given(text=nasty.byte_texts.filter(bool))
def test_every_character_of_nasty_text_is_told_exactly_and_safely(text: str) -> None:
    spans = clusters(text)
    assert "".join(text[start:end] for start, end in spans) == text
    for at in {0, len(text) // 2, len(text) - 1}:
        found = inspect(text, at, gpt4())
        assert (found.start, found.start + len(found.text)) in spans
        assert found.start <= at < found.start + len(found.text)
        data = bytetext.to_bytes(found.text)
        assert b"".join(point.data for point in found.points) == data[: len(data)]
        assert {name for form in found.forms for name in form.name.split(", ")} == {
            "original", "NFC", "NFD", "NFKC", "NFKD"
        }  # fmt: skip
        for form in found.forms:
            wanted = [bytetext.to_bytes(found.text)] + [
                bytetext.to_bytes(unicodedata.normalize(name, found.text))  # type: ignore[arg-type]
                for name in form.name.replace("original", "").split(", ")
                if name
            ]
            assert set(wanted[1:] or wanted) == {form.data}
            assert b"".join(token for token, _ in form.tokens) == form.data
            assert [number for _, number in form.tokens] == gpt4().encode_bytes(form.data)
        for width in (20, 74):
            rows = character_rows(found, "gpt-4", width)
            shown = "".join(span.text for row in rows for span in row)
            assert UNSAFE.search(shown) is None
        assert UNSAFE.search(as_text(found, "gpt-4").replace("\n", "")) is None


@given(text=nasty.byte_texts.filter(bool))
def test_the_character_of_a_byte_is_found(text: str) -> None:
    sizes = [bytetext.n_bytes(char) for char in text]
    owners = [number for number, size in enumerate(sizes) for _ in range(size)]
    assert [char_at(text, byte) for byte in range(len(owners))] == owners


@pytest.mark.parametrize(
    ("char", "words"),
    [
        ("\u200b", "U+200B is invisible: it has no visible glyph"),
        ("\xa0", "U+00A0 is invisible: it looks like the space"),
        ("\u2800", "U+2800 is invisible"),
        ("а", "U+0430 looks like “a” (U+0061 LATIN SMALL LETTER A)"),
        ("“", "looks like “\"” (U+0022 QUOTATION MARK)"),
        ("‐", "looks like “-”"),
        ("\x1b", "U+001B is invisible"),
        ("\udcff", "not valid UTF-8"),
        ("👨\u200d👩", "U+200D is invisible"),
    ],
    ids=lambda value: ascii(value) if len(value) < 5 else "",
)  # fmt: skip
def test_what_cannot_be_seen_is_named(char: str, words: str) -> None:
    assert words in said(inspect(char, 0, gpt4()).notes)


@pytest.mark.parametrize("char", ["a", " ", "é", "世", "🙂"])
def test_an_honest_character_has_no_warning(char: str) -> None:
    assert inspect(char, 0, gpt4()).notes == ()


def test_names_categories_and_scripts_are_those_of_unicode() -> None:
    family = inspect("👨\u200d👩", 1, gpt4())
    assert [point.name for point in family.points] == ["MAN", "ZERO WIDTH JOINER", "WOMAN"]
    assert [point.category for point in family.points] == ["symbol", "format character", "symbol"]
    assert [point.script for point in inspect("й", 0, gpt4()).points] == ["Cyrillic"]
    assert [point.category for point in inspect("\U0001fae9", 0, gpt4()).points] == ["symbol"], (
        "younger than Python's own tables"
    )


def test_marks_without_end_are_listed_in_part() -> None:
    found = inspect("a" + "\u0301" * 500, 3, gpt4())
    assert (len(found.points), found.n_points) == (MOST_POINTS, 501)
    assert any("437 more" in span.text for row in character_rows(found, "", 60) for span in row)
