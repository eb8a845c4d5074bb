from __future__ import annotations

import unicodedata
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.dialogs.conftest import OpenDialog
from tokviz.text.characters import USEFUL, Character, by_number, search
from tokviz.text.glyphs import UNSAFE
from tokviz.tui.dialogs.insert import InsertCharacterDialog, paint_character


@pytest.mark.parametrize(
    "text", ["U+E9", "u+00e9", "0xE9", "e9", "E9", r"\u00e9", "\\u{e9}", "&#xe9;", " U+E9 "]
)
def test_number_is_read_in_every_usual_spelling(text: str) -> None:
    assert by_number(text) == Character(0xE9, "LATIN SMALL LETTER E WITH ACUTE")


@pytest.mark.parametrize(("text", "sentence"), [("U+D800", "UTF-16"), ("U+110000", "U+10FFFF")])
def test_number_that_is_no_character_says_why(text: str, sentence: str) -> None:
    answer = by_number(text)
    assert isinstance(answer, str)
    assert sentence in answer
    assert all(not 0xD800 <= character.code <= 0xDFFF for character in search(text))


def test_words_are_no_number() -> None:
    assert by_number("zero") is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("zwsp", 0x200B),
        ("esc", 0x1B),
        ("zero width joiner", 0x200D),
        ("joiner zero", 0x200D),
        ("latin small letter a", ord("a")),
        ("face with tears of joy", 0x1F602),
        ("U+0378", 0x378),
        ("cjk unified ideograph-4e00", 0x4E00),
        ("tag latin capital letter a", 0xE0041),
    ],
)
def test_name_alias_or_words_find_the_character_first(text: str, code: int) -> None:
    assert search(text)[0].code == code


def test_words_that_begin_a_word_of_the_name_go_first() -> None:
    names = [character.name for character in search("ring")]
    assert names[0].split()[0].startswith("RING") or " RING" in f" {names[0]}"


def test_nothing_typed_offers_useful_characters_with_their_true_names() -> None:
    assert search("") == USEFUL
    for character in USEFUL:
        official = unicodedata.name(character.text, "")
        assert not official or character.name.startswith(official)


@given(st.characters(exclude_categories=("Cs",)).map(lambda char: by_number(f"U+{ord(char):X}")))
def test_row_is_safe_and_never_exceeds_its_width(drawn: Character) -> None:
    for character, width in product([drawn, *USEFUL], range(12, 100)):
        text = "".join(span.text for span in paint_character(character, width))
        assert UNSAFE.search(text) is None
        assert cell_len(text) <= max(width, 20)


async def test_name_and_enter_give_the_character(open_dialog: OpenDialog) -> None:
    async with open_dialog(InsertCharacterDialog()) as pilot:
        await pilot.type("right-to-left override")
        await pilot.press("enter")
        assert pilot.result == "\u202e"


async def test_enter_right_after_typing_waits_for_the_search(open_dialog: OpenDialog) -> None:
    async with open_dialog(InsertCharacterDialog()) as pilot:
        await pilot.press("U", "plus", "E", "9", "enter")
        assert pilot.result == "é"


async def test_click_inserts_one_of_the_offered(open_dialog: OpenDialog) -> None:
    async with open_dialog(InsertCharacterDialog()) as pilot:
        await pilot.click_text("NO-BREAK SPACE")
        assert pilot.result == "\u00a0"


async def test_surrogate_is_refused_in_words(open_dialog: OpenDialog) -> None:
    async with open_dialog(InsertCharacterDialog()) as pilot:
        await pilot.type("d800")
        assert pilot.shows("half of a UTF-16 pair")
        await pilot.press("enter")
        assert pilot.is_open


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (20, 5)])
async def test_usable_at_any_size(open_dialog: OpenDialog, size: tuple[int, int]) -> None:
    async with open_dialog(InsertCharacterDialog(), size) as pilot:
        assert pilot.shows("U+200B")
        await pilot.click_text("Esc")
        assert pilot.result is None
