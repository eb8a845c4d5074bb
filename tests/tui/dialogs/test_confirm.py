from __future__ import annotations

import pytest

from tests.tui.dialogs.conftest import OpenDialog
from tokviz.tui.dialogs.confirm import ConfirmDialog


def question(*, danger: bool) -> ConfirmDialog:
    return ConfirmDialog("Title", "Do \x1b[31mit?", "do it", danger=danger)


@pytest.mark.parametrize(
    ("key", "answer"), [("enter", True), ("y", True), ("n", False), ("escape", False)]
)
async def test_keys_answer(open_dialog: OpenDialog, key: str, answer: bool) -> None:
    async with open_dialog(question(danger=False)) as pilot:
        await pilot.press(key)
        assert pilot.result is answer


async def test_enter_is_no_answer_where_something_would_be_lost(open_dialog: OpenDialog) -> None:
    async with open_dialog(question(danger=True)) as pilot:
        await pilot.press("enter")
        assert pilot.is_open
        await pilot.press("y")
        assert pilot.result is True


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (20, 5)])
@pytest.mark.parametrize(("label", "answer"), [("Y", True), ("Esc", False)])
async def test_both_answers_can_be_clicked_at_any_size(
    open_dialog: OpenDialog, size: tuple[int, int], label: str, answer: bool
) -> None:
    async with open_dialog(question(danger=True), size) as pilot:
        await pilot.click_text(label)
        assert pilot.result is answer


async def test_what_would_be_lost_can_be_saved_where_that_is_offered(
    open_dialog: OpenDialog,
) -> None:
    async with open_dialog(question(danger=True)) as pilot:
        await pilot.press("s")
        assert pilot.is_open
    saved: list[bool] = []
    dialog = ConfirmDialog("", "", "quit", danger=True, save=lambda: saved.append(True))
    async with open_dialog(dialog) as pilot:
        await pilot.click_text("S save first")
        assert (pilot.result, saved) == (False, [True])


async def test_question_is_shown_as_glyphs(open_dialog: OpenDialog) -> None:
    async with open_dialog(question(danger=False)) as pilot:
        assert pilot.shows("Do ␛[31mit?")
