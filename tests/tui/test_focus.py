"""The focus returns where it was when a menu or a dialog closes."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

import tokviz
from tests.tui.waiting import settle, until
from tokviz.tui.app import TokvizApp
from tokviz.tui.widgets.conversation.view import PartEditor
from tokviz.tui.widgets.field import PushButton
from tokviz.workspace.session import Opened, RunAction, Session
from tokviz.workspace.settings import Settings

SIZES = [(120, 40), (80, 24)]


def make_app(screen: str, panel: str = "ids") -> TokvizApp:
    session = Session(
        Opened("hello world abc"),
        tokviz.load("gpt2"),
        Settings(panel=panel),
        remember=False,
        first=RunAction(screen, "refresh"),
    )
    return TokvizApp(session)


async def close_dialogs(app: TokvizApp, pilot: Pilot[None]) -> None:
    for _ in range(4):
        if len(app.screen_stack) == 1:
            return
        await pilot.press("escape")
        await settle(pilot)
    assert len(app.screen_stack) == 1, f"Esc does not close {app.screen}"


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_button_that_is_clicked_leaves_the_focus_in_the_text(size: tuple[int, int]) -> None:
    app = make_app("tokens", panel="splits")
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.screen.is_ready and app.screen.query(PushButton))
        await settle(pilot)
        before = app.focused
        await pilot.click(app.screen.query(PushButton).first())
        await settle(pilot)
        assert len(app.screen_stack) > 1
        await close_dialogs(app, pilot)
        assert app.focused is before
        await pilot.press("x", "alt+i", "y")
        await settle(pilot)
        assert app.session.live.text == "xyhello world abc"


async def test_a_conversation_without_messages_takes_no_letters_after_a_dialog() -> None:
    app = make_app("chat")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.current_mode == "chat" and app.screen.is_ready)
        for action in ("new_conversation", "delete_message", "help"):
            await app.run_action(action, app.screen)
            await settle(pilot)
        await close_dialogs(app, pilot)
        assert app.focused is None
        await app.run_action("add_message", app.screen)
        await settle(pilot)
        await pilot.press("x")
        await settle(pilot)
        assert app.screen.query_one("#message-editor", PartEditor).text == "x"
