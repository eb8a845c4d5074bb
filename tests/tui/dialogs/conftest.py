from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from tests.tui.waiting import settle
from tokviz.tui.themes import DARK, theme

NOT_CLOSED = object()


class DialogApp(App[None]):
    """Shows one dialog and keeps its result."""

    def __init__(self, dialog: Screen[Any]) -> None:
        super().__init__()
        self.register_theme(theme(DARK))
        self.theme = DARK
        self.dialog = dialog
        self.result: object = NOT_CLOSED

    def on_mount(self) -> None:
        self.push_screen(self.dialog, self.keep)

    def keep(self, result: object) -> None:
        self.result = result


class DialogPilot:
    """Drives a dialog and waits for its threads, never for a time."""

    def __init__(self, app: DialogApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def settle(self) -> None:
        await settle(self.pilot)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
        await self.settle()

    async def type(self, text: str) -> None:
        await self.press(*(_KEYS.get(char, char) for char in text))

    async def paste(self, text: str) -> None:
        from textual.events import Paste

        focused = self.app.focused
        assert focused is not None
        focused.post_message(Paste(text))
        await self.settle()

    async def click_row(self, index: int) -> None:
        await self.pilot.click("RowList", offset=(3, index))
        await self.settle()

    async def click_text(self, text: str) -> None:
        """Click on the first place of the screen that shows a text."""
        for y, line in enumerate(self.screen_lines()):
            if text in line:
                await self.pilot.click(offset=(line.index(text), y))
                await self.settle()
                return
        raise AssertionError(f"{text!r} is not on the screen:\n" + "\n".join(self.screen_lines()))

    def screen_lines(self) -> list[str]:
        return [strip.text for strip in self.app.screen._compositor.render_strips()]

    def shows(self, text: str) -> bool:
        return any(text in line for line in self.screen_lines())

    @property
    def result(self) -> object:
        return self.app.result

    @property
    def is_open(self) -> bool:
        return self.app.result is NOT_CLOSED


_KEYS = {" ": "space", "/": "slash", "~": "tilde", ".": "full_stop", "#": "number_sign"}

OpenDialog = Callable[..., AbstractAsyncContextManager[DialogPilot]]


@pytest.fixture
def open_dialog() -> OpenDialog:
    """Open a dialog in an app of its own: `async with open_dialog(dialog, size) as pilot`."""

    @asynccontextmanager
    async def opened(
        dialog: Screen[Any], size: tuple[int, int] = (80, 24)
    ) -> AsyncIterator[DialogPilot]:
        app = DialogApp(dialog)
        async with app.run_test(size=size) as pilot:
            driver = DialogPilot(app, pilot)
            await asyncio.wait_for(driver.settle(), 20)
            yield driver

    return opened
