from __future__ import annotations

import pytest

from tests.tui.dialogs.conftest import OpenDialog
from tokviz.tui.dialogs.ask_text import GotoDialog, Numbered, Wrong, read_place


def kinds(n_tokens: int = 1000) -> list[Numbered]:
    """List what has numbers; going there only says where."""
    return [
        Numbered("", "12 or 12:3", "line", 1, 10, lambda *place: ("line", *place)),
        Numbered("#", "#12", "token", 0, n_tokens - 1, lambda *place: ("token", *place)),
        Numbered("@", "@345", "byte", 0, 5000, lambda *place: ("byte", *place)),
    ]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("1", ("line", 1, 1)),
        (" 10 ", ("line", 10, 1)),
        ("3:7", ("line", 3, 7)),
        ("3:", ("line", 3, 1)),
        ("3:0", ("line", 3, 1)),
        ("#0", ("token", 0, 1)),
        ("#999", ("token", 999, 1)),
        ("@1,024", ("byte", 1024, 1)),
        ("@ 5_000", ("byte", 5000, 1)),
        ("@0x1f", ("byte", 31, 1)),
    ],
)
def test_places_are_read(text: str, target: tuple[str, int, int]) -> None:
    assert read_place(text, kinds())() == target


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Type 12"),
        ("abc", "Type 12"),
        ("-1", "Type 12"),
        ("9" * 5000, "Type 12"),
        ("0", "from 1 to 10"),
        ("11", "from 1 to 10"),
        ("#1000", "from 0 to 999"),
        ("@5001", "from 0 to 5,000"),
    ],
)
def test_anything_else_is_answered_with_what_is_possible(text: str, sentence: str) -> None:
    with pytest.raises(Wrong, match=sentence):
        read_place(text, kinds())


def test_text_without_tokens_says_so() -> None:
    with pytest.raises(Wrong, match=r"There are no tokens\."):
        read_place("#0", kinds(n_tokens=0))
    assert read_place("@0", kinds(n_tokens=0))() == ("byte", 0, 1)


def test_a_number_alone_means_the_first_kind_where_none_is_without_a_sign() -> None:
    assert read_place("7", kinds()[1:])() == ("token", 7, 1)


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (20, 5)])
async def test_wrong_place_keeps_the_dialog_open_and_a_right_one_ends_it(
    open_dialog: OpenDialog, size: tuple[int, int]
) -> None:
    async with open_dialog(GotoDialog(kinds()), size) as pilot:
        await pilot.type("99")
        await pilot.press("enter")
        assert pilot.is_open
        assert pilot.shows("The lines go from")
        await pilot.press("backspace")
        assert not pilot.shows("The lines go from")
        await pilot.click_text("Enter")
        assert callable(pilot.result) and pilot.result() == ("line", 9, 1)
