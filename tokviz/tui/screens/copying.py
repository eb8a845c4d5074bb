"""Copying, and saying where the copy went: what every screen with something to copy has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from tokviz.errors import TokvizError
from tokviz.tui.messages import CopyRequested
from tokviz.tui.screens.base import Controller

if TYPE_CHECKING:
    from tokviz.tui.clipboard import CopyResult


class Copying(Controller):
    """Copies text to wherever the user can paste it from."""

    @on(CopyRequested)
    def _copy_requested(self, message: CopyRequested) -> None:
        message.stop()
        self.copy(message.text, message.what)

    def copy(self, text: str, what: str) -> None:
        """Copy in the background, and say where the copy went."""
        self.screen.run_worker(self._copy(text, what), group="copy")

    async def _copy(self, text: str, what: str) -> None:
        from tokviz.tui.clipboard import copy

        try:
            result = await copy(self.app, text)
        except TokvizError as error:
            self.say(f"Not copied. {error}", "error")
            return
        self.say(copied(result, what))


def copied(result: CopyResult, what: str) -> str:
    """Say where a copy went."""
    places = {
        "clipboard": f"Copied {what}.",
        "terminal": f"Copied {what}: sent to the terminal (OSC 52).",
        "file": f"Copied {what} to a file, since no clipboard could take it.",
    }
    return f"{places[result.method]} {result.detail}".rstrip()
