"""What every screen of tokviz has."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, cast

from textual import work
from textual.notifications import SeverityLevel

from tokviz.errors import TokvizError
from tokviz.tui.screens.sized import SizedScreen
from tokviz.tui.settings import Settings

if TYPE_CHECKING:
    from tokviz.tui.app import TokvizApp
    from tokviz.tui.clipboard import CopyResult


class TokvizScreen(SizedScreen):
    """A screen of the app, from `tokviz.tui.screens.registry`."""

    action_group: str
    """Its id, and the name of its actions."""

    @property
    def tokviz(self) -> TokvizApp:
        """The app, with its own type."""
        return cast("TokvizApp", self.app)

    @property
    def settings(self) -> Settings:
        """The remembered choices."""
        return self.tokviz.settings

    def say(self, text: str, severity: SeverityLevel = "information") -> None:
        """Show the user a sentence, as plain text."""
        self.notify(text, severity=severity, markup=False)

    @work(group="copy", description="copy", exit_on_error=False)
    async def copy(self, text: str, what: str) -> None:
        """Copy a text, and say where the copy went."""
        from tokviz.tui.clipboard import copy

        try:
            result = await copy(self.app, text)
        except TokvizError as error:
            self.say(f"Not copied. {error}", "error")
            return
        self.say(_copied(result, what))

    def call_here(self, method: Callable[..., object], *arguments: object) -> None:
        """Call a method on the screen's thread from a worker; nothing if the app has ended."""
        with contextlib.suppress(RuntimeError, CancelledError):
            self.app.call_from_thread(method, *arguments)


def _copied(result: CopyResult, what: str) -> str:
    places = {
        "clipboard": f"Copied {what}.",
        "terminal": f"Copied {what}: sent to the terminal (OSC 52).",
        "file": f"Copied {what} to a file, since no clipboard could take it.",
    }
    return f"{places[result.method]} {result.detail}".rstrip()
