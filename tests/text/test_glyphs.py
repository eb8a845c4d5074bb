from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, get_character_cell_size

from tests.oracles.nasty import EVERY_CODE_POINT, FRAGMENTS, byte_texts
from tokviz.text import glyphs
from tokviz.text.glyphs import HIDDEN, LABEL, PLAIN, SHOWN, display, safe, safe_lines, token_label

TABLES = {"plain": PLAIN, "label": LABEL, "shown": SHOWN, "hidden": HIDDEN}
FORBIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp", "Me", "Mc"}
IGNORABLE = {
    *(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE10),
    *range(0xFFF0, 0xFFF9),
    *range(0xE0000, 0xE1000),
}


def is_forbidden(char: str) -> bool:
    """An independent form of the rule: categories and published lists."""
    code = ord(char)
    return (
        unicodedata.category(char) in FORBIDDEN_CATEGORIES
        or code in IGNORABLE
        or code & 0xFFFE == 0xFFFE
        or 0xFDD0 <= code <= 0xFDEF
        or 0x1F3FB <= code <= 0x1F3FF
        or 0x1F1E6 <= code <= 0x1F1FF
    )


def forbidden_in(text: str) -> list[str]:
    """Return the unsafe characters, and the zero-width characters without a base letter."""
    bad = [char for char in text if is_forbidden(char)]
    for before, char in zip("\n" + text, text, strict=False):
        if get_character_cell_size(char) == 0 and not (
            unicodedata.category(char) == "Mn"
            and (before == "◌" or unicodedata.category(before)[0] in "LNM")
        ):
            bad.append(char)
    return bad


@pytest.fixture(scope="module")
def harmless():
    """Characters that are drawn unchanged."""
    return {
        char
        for char in map(chr, EVERY_CODE_POINT)
        if not is_forbidden(char) and get_character_cell_size(char)
    }


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_character_of_unicode_is_drawn_safely_and_visibly(table, harmless):
    bad = []
    for char in map(chr, EVERY_CODE_POINT):
        glyph = table[char]
        if glyph in harmless:
            continue
        if forbidden_in(glyph) or cell_len(glyph) < 1:
            bad.append(hex(ord(char)))
    assert bad == []


def test_every_visible_character_of_a_simple_width_stays_itself(harmless):
    kept = {char for char in harmless if unicodedata.category(char)[0] in "LPSN"}
    jamo = {chr(code) for code in range(0x1100, 0x1200)}
    assert {char for char in kept - jamo if HIDDEN[char] != char} == set()


texts = st.one_of(st.text(), byte_texts, st.lists(st.sampled_from(FRAGMENTS)).map("".join))


@given(texts)
def test_safe_text_holds_nothing_dangerous(text):
    assert forbidden_in(safe(text)) == []


@given(texts)
def test_safe_lines_keeps_the_lines(text):
    shown = safe_lines(text)
    assert shown.count("\n") == text.count("\n")
    assert forbidden_in(shown.replace("\n", "")) == []


@given(st.binary())
def test_a_label_holds_nothing_dangerous_for_any_bytes(data):
    assert forbidden_in(token_label(data)) == []


@given(texts)
def test_a_second_pass_changes_nothing(text):
    assert safe(safe(text)) == safe(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, 1 + 1", "plain text, 1 + 1"),
        ("a\nb\tc\rd", "a⏎b→c␍d"),
        ("\x00\x1b[31m\x7f\x9b", "␀␛[31m␡‹U+009B›"),
        ("a\u200bb\u202ec\U000e0041", "a‹U+200B›b‹U+202E›c‹U+E0041›"),
        ("\u2028\ufeff\xad", "‹U+2028›‹U+FEFF›‹U+00AD›"),
        ("caf\udce9", "caf‹e9›"),
        ("\ud83d", "‹U+D83D›"),
        ("e\u0301", "e\u0301"),
        (" \u0301", " ◌\u0301"),
        ("z\u0300\u0301\u0302", "z\u0300\u0301◌\u0302"),
        ("👍🏽", "👍‹U+1F3FD›"),
        ("🇩🇪", "ⒹⒺ"),
        ("1️⃣", "1‹U+FE0F›‹U+20E3›"),
        ("\u1112\u1161\u11ab", "\u1112ㅏㄴ"),
        ("\u3000\xa0", "\u3000\xa0"),
    ],
)
def test_safe_shows_every_character(text, shown):
    assert safe(text) == shown


@pytest.mark.parametrize(
    ("data", "label"),
    [
        (b" the", "·the"),
        (b"\n\n", "⏎⏎"),
        (b"\xe4\xb8", "‹e4 b8›"),
        (b"a\xe4\xb8 b", "a‹e4 b8›·b"),
        ("世".encode(), "世"),
        ("e\u0301".encode(), "e◌\u0301"),
        ("\xa0\u3000\u2003".encode(), "⍽□ ‹U+2003›"),
        (b"\xed\xa0\x80", "‹ed a0 80›"),
        (b"", ""),
    ],
)
def test_token_labels(data, label):
    assert token_label(data) == label


def test_the_editor_tables_differ_in_what_they_show():
    text = " \xa0\u200b\u093f🏽e\u0301\r"
    assert display(text, SHOWN) == ["·", "⍽", "‹U+200B›", "◌", "▒", "e", "◌\u0301", "␍"]
    assert display(text, HIDDEN) == [" ", "\xa0", "◦", "◌", "▒", "e\u0301", "", " "]


def test_a_table_does_not_grow_without_bound():
    table = glyphs.Glyphs(PLAIN.style)
    for code in range(0x20000):
        table[chr(code)]
    assert len(table) <= glyphs._CACHE_SIZE + 1
