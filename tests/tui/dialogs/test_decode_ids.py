from __future__ import annotations

import pytest

import tokviz
from tests.tui.dialogs.conftest import OpenDialog
from tokviz.tui.dialogs.base import About
from tokviz.tui.dialogs.insert import DecodeIdsDialog

GPT4 = tokviz.load("gpt-4")


async def test_ids_become_tokens_and_their_text(open_dialog: OpenDialog) -> None:
    async with open_dialog(DecodeIdsDialog(GPT4, "15339 1917")) as pilot:
        assert pilot.shows("Decode token ids of cl100k_base")
        assert pilot.shows("15339   hello")
        assert pilot.shows("1917   ·world")
        assert pilot.shows("hello world")
        await pilot.press("enter")
        assert pilot.result == b"hello world"


async def test_typed_and_pasted_lists_are_decoded(open_dialog: OpenDialog) -> None:
    async with open_dialog(DecodeIdsDialog(GPT4)) as pilot:
        await pilot.press("enter")
        assert pilot.is_open, "there is nothing to put in"
        await pilot.paste("[15339,\n 1917]\n")
        assert pilot.shows("hello world")
        await pilot.press("enter")
        assert pilot.result == b"hello world"


async def test_an_id_that_does_not_exist_is_named_and_nothing_is_put_in(
    open_dialog: OpenDialog,
) -> None:
    async with open_dialog(DecodeIdsDialog(GPT4, "15339 999999 888888")) as pilot:
        assert pilot.shows("No token has the id 999999 (position 1 of the ids) in cl100k_base")
        assert pilot.shows("2 of the ids have no token.")
        assert pilot.shows("no such token")
        await pilot.press("enter")
        assert pilot.is_open
        await pilot.press("escape")
        assert pilot.result is None


@pytest.mark.parametrize("typed", ["15339 x", "1.5", "-1", "9" * 30])
async def test_what_is_no_id_is_said(open_dialog: OpenDialog, typed: str) -> None:
    async with open_dialog(DecodeIdsDialog(GPT4, typed)) as pilot:
        assert pilot.shows("Use only numbers")
        await pilot.press("enter")
        assert pilot.is_open


async def test_bytes_that_are_no_text_and_controls_are_drawn_safely(
    open_dialog: OpenDialog,
) -> None:
    ids = GPT4.encode_bytes(b"\x1b[31m\xff")
    async with open_dialog(DecodeIdsDialog(GPT4, str(ids))) as pilot:
        assert not pilot.shows("\x1b")
        await pilot.press("enter")
        assert pilot.result == b"\x1b[31m\xff"


@pytest.mark.parametrize("size", [(40, 12), (120, 40)])
async def test_it_fits(open_dialog: OpenDialog, size: tuple[int, int]) -> None:
    async with open_dialog(DecodeIdsDialog(GPT4, "15339 1917"), size) as pilot:
        assert pilot.shows("15339   hello")
        assert len(pilot.app.screen.query(About)) == 2
        await pilot.click_text("insert")
        assert pilot.result == b"hello world"


async def test_moving_through_the_tokens_tells_what_each_shows_and_what_is_held_back(
    open_dialog: OpenDialog,
) -> None:
    ids = tokviz.load("gpt2").encode("a世")
    async with open_dialog(DecodeIdsDialog(tokviz.load("gpt2"), str(ids))) as pilot:
        step = pilot.app.screen.query_one("#step", About)
        assert step._text == "A streaming program adds “a” here."
        await pilot.press("down")
        assert step._text == (
            "A streaming program adds nothing yet, and holds e4 b8 back; "
            "decoded alone, this token would print \ufffd."
        )
        await pilot.press("down")
        assert step._text.startswith(
            "A streaming program adds “世” here; decoded alone, this token"
        )


async def test_tokens_that_drift_are_marked_with_the_cause(open_dialog: OpenDialog) -> None:
    async with open_dialog(DecodeIdsDialog(GPT4, "71 4896 1917")) as pilot:
        assert pilot.shows("2 of 3 tokens drift")
        assert pilot.shows("│ 15339 hello")
        assert pilot.shows("71 ≠ h")
        assert pilot.shows("1917   ·world")
        assert pilot.shows("≠ In the pre-token hello, encoding merges h + ello (merge 15,084).")
