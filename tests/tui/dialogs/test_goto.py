from __future__ import annotations

import pytest

from tests.tui.dialogs.conftest import OpenDialog
from tokviz.tui.dialogs.ask_text import Wrong
from tokviz.tui.dialogs.goto import GotoDialog, GotoLimits, GotoTarget, parse_target

LIMITS = GotoLimits(n_lines=10, n_tokens=1000, n_bytes=5000)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("1", GotoTarget("line", 1)),
        (" 10 ", GotoTarget("line", 10)),
        ("3:7", GotoTarget("line", 3, 7)),
        ("3:", GotoTarget("line", 3)),
        ("3:0", GotoTarget("line", 3, 1)),
        ("#0", GotoTarget("token", 0)),
        ("#999", GotoTarget("token", 999)),
        ("@1,024", GotoTarget("byte", 1024)),
        ("@ 5_000", GotoTarget("byte", 5000)),
        ("@0x1f", GotoTarget("byte", 31)),
    ],
)
def test_places_are_read(text: str, target: GotoTarget) -> None:
    assert parse_target(text, LIMITS) == target


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
        parse_target(text, LIMITS)


def test_text_without_tokens_says_so() -> None:
    with pytest.raises(Wrong, match=r"There is no token yet\."):
        parse_target("#0", GotoLimits(1, 0, 0))
    assert parse_target("@0", GotoLimits(1, 0, 0)) == GotoTarget("byte", 0)


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (20, 5)])
async def test_wrong_place_keeps_the_dialog_open_and_a_right_one_ends_it(
    open_dialog: OpenDialog, size: tuple[int, int]
) -> None:
    async with open_dialog(GotoDialog(LIMITS), size) as pilot:
        await pilot.type("99")
        await pilot.press("enter")
        assert pilot.is_open
        assert pilot.shows("The lines go from")
        await pilot.press("backspace")
        assert not pilot.shows("The lines go from")
        await pilot.click_text("Enter")
        assert pilot.result == GotoTarget("line", 9)
