"""The Chat screen waits for a pause in typing before a long rendering, but not otherwise."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tokviz
from tests.tui.waiting import WAIT, settle, until
from tokviz.chat.conversation import Conversation
from tokviz.tui.app import TokvizApp
from tokviz.tui.screens.chat import ChatScreen, rendering
from tokviz.tui.screens.chat.state import PartPlace
from tokviz.workspace.session import Opened, Session, ShowScreen

MESSAGES: list[dict[str, Any]] = [
    {"role": ("user", "assistant")[n % 2], "content": f"text {n}"} for n in range(400)
]


async def test_only_typing_delays_a_long_rendering(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(
        Opened("hello"), tokviz.load("gpt2"), remember=False, first=ShowScreen("chat")
    )
    app = TokvizApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        monkeypatch.setattr(rendering, "TYPED_SECONDS", 10 * WAIT)
        screen.chat.change(Conversation.from_json({"messages": MESSAGES}), PartPlace(0))
        await until(pilot, lambda: not screen.rendered.is_waiting)
        screen.messages.editor.type_text("x")
        await asyncio.sleep(0.5)
        await pilot.pause()
        assert screen.rendered.is_waiting
        screen.chat.change(template="chatml")
        await until(pilot, lambda: not screen.rendered.is_waiting)
        assert screen.rendered.problem is None
