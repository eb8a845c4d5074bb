"""A widget whose handler raised keeps handling messages."""

from __future__ import annotations

from typing import Any

import pytest
from textual import message_pump
from textual.app import App
from textual.message import Message
from textual.widget import Widget

from tokviz.tui.textual_private import handler_errors


class Ping(Message):
    """Makes the handler count, and raise the first time."""


class Counter(Widget):
    n_pings = 0

    def on_ping(self) -> None:
        self.n_pings += 1
        if self.n_pings == 1:
            raise ValueError("first")


class CountingApp(App[None]):
    def compose(self) -> Any:
        yield Counter()

    def _handle_exception(self, error: Exception) -> None:
        """Ignore the error, as an app that reports errors and continues."""


async def pings_handled() -> int:
    app = CountingApp()
    async with app.run_test():
        counter = app.query_one(Counter)
        for _ in range(2):
            counter.post_message(Ping())
    # The app ends once its widgets have handled what was posted, or have stopped handling.
    return counter.n_pings


async def test_widget_survives_an_error_in_a_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_pump, "invoke", handler_errors.invoke_reporting_errors)
    assert await pings_handled() == 2


async def test_textual_still_needs_the_workaround(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_pump, "invoke", handler_errors.invoke)
    assert await pings_handled() == 1
