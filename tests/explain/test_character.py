"""What a character is: code points, forms, what cannot be seen, and its tokens."""

from __future__ import annotations

import unicodedata
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles import nasty
from tokviz.explain.character import MOST_POINTS, char_at, clusters, inspect
from tokviz.text import bytetext
from tokviz.text.glyphs import UNSAFE
from tokviz.text.sentences import format_sentences
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.dialogs.character import as_text, character_rows


@cache
def gpt4() -> Tokenizer:
    return tokviz.load("gpt-4")


@given(text=nasty.byte_texts.filter(bool))
def test_every_character_of_nasty_text_is_described_exactly_and_safely(text: str) -> None:
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
        ("👨\u200d👩", "U+200D is invisible"),
    ],
    ids=lambda value: ascii(value) if len(value) < 5 else "",
)  # fmt: skip
def test_invisible_characters_are_named(char: str, words: str) -> None:
    assert words in format_sentences(inspect(char, 0, gpt4()).notes)


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


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (b"\xc0\x80", "overlong sequence", "U+0000 in 2 bytes, and fewer are enough"),
        (b"\xc1", "overlong sequence", "U+0040 to U+007F in 2 bytes"),
        (b"\xe0\x82\xa9", "overlong sequence", "shortest form is valid, here c2 a9"),
        (b"\xf0\x8f\xbf\xbf", "overlong sequence", "U+FFFF in 4 bytes"),
        (b"\x80", "stray continuation byte", "no lead byte before it"),
        (b"\xc3", "truncated sequence", "2 bytes, and 1 continuation byte (80 to bf) must"),
        (b"\xf0\x9f", "truncated sequence", "4 bytes, and 2 continuation bytes (80 to bf) must"),
        (b"\xed\xa0\x80", "surrogate", "U+D800, a surrogate"),
        (b"\xed\xbf", "surrogate", "U+DFC0 to U+DFFF, a surrogate"),
        (b"\xf4\x90\x80\x80", "beyond U+10FFFF", "U+110000"),
        (b"\xf5", "beyond U+10FFFF", "U+140000 to U+17FFFF"),
        (b"\xff", "impossible byte", "never occurs in UTF-8"),
    ],
)
@pytest.mark.parametrize(
    ("before", "after"), [(b"", b""), (b"a", b"b"), ("é".encode(), b"\xc3\xa9")]
)
def test_every_invalid_byte_names_the_rule_its_sequence_breaks(
    data: bytes, name: str, words: str, before: bytes, after: bytes
) -> None:
    text = bytetext.from_bytes(before + data + after)
    start = len(before.decode())
    for number in range(len(data)):
        found = inspect(text, start + number, gpt4())
        (point,) = found.points
        assert point.label == f"byte {data[number : number + 1].hex()}"
        assert point.name.startswith(f"invalid UTF-8: {name}")
        assert (f"byte {number + 1} of {data.hex(' ')}" in point.name) == (len(data) > 1)
        note = format_sentences(found.notes)
        assert note.startswith(f"{data.hex(' ')} ") and words in note
        assert f"(here {data.decode(errors='replace').count(chr(0xFFFD))} ×)" in note


def test_a_byte_after_a_complete_sequence_starts_another_one() -> None:
    text = bytetext.from_bytes(b"\xc0\x80\x80\xc3")
    names = [inspect(text, at, gpt4()).points[0].name.partition(": ")[2] for at in range(4)]
    assert names == [
        "overlong sequence, byte 1 of c0 80",
        "overlong sequence, byte 2 of c0 80",
        "stray continuation byte",
        "truncated sequence",
    ]


EDGE_BYTES = b"a\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xed\xef\xf0\xf4\xf5\xf7\xf8\xff"
REASONS = {
    "unexpected end of data": {"truncated sequence"},
    "invalid continuation byte": {"overlong sequence", "surrogate", "beyond U+10FFFF"},
    "invalid start byte": {
        "stray continuation byte", "overlong sequence", "beyond U+10FFFF", "impossible byte",
    },
}  # fmt: skip


@given(data=st.lists(st.sampled_from(EDGE_BYTES), min_size=1, max_size=8).map(bytes))
def test_invalid_sequences_are_classified_as_by_pythons_decoder(data: bytes) -> None:
    text = bytetext.from_bytes(data)
    for match in bytetext.RAW_BYTES.finditer(text):
        (point,) = inspect(text, match.start(), gpt4()).points
        kind, _, place = point.name.removeprefix("invalid UTF-8: ").partition(", byte ")
        sequence = bytes.fromhex(place.partition(" of ")[2]) or point.data
        assert sequence in data and point.data in sequence
        with pytest.raises(UnicodeDecodeError) as refused:
            sequence.decode()
        assert kind in REASONS[refused.value.reason]


def test_the_bytes_of_three_encodings_are_side_by_side_for_characters_only() -> None:
    shown = as_text(inspect("🙂", 0, gpt4()), "gpt-4")
    assert "1 code point; bytes: 4 in UTF-8, 4 in UTF-16, 4 in UTF-32 (big-endian)" in shown
    assert "UTF-8 f0 9f 99 82 · UTF-16 d8 3d de 42 · UTF-32 00 01 f6 42" in shown
    invalid = as_text(inspect("\udcc0\udc80", 0, gpt4()), "gpt-4")
    assert "1 byte of invalid UTF-8, no code point" in invalid
    assert "UTF-16" not in invalid and "1 code point" not in invalid
