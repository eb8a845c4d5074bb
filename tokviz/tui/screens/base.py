"""What every screen of tokviz has."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, cast

from textual.notifications import SeverityLevel

from tokviz.settings import Settings
from tokviz.tui.screens.sized import SizedScreen

if TYPE_CHECKING:
    from tokviz.tui.app import TokvizApp


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

    def call_here(self, method: Callable[..., object], *arguments: object) -> None:
        """Call a method on the screen's thread from a worker; nothing if the app has ended."""
        with contextlib.suppress(RuntimeError, CancelledError):
            self.app.call_from_thread(method, *arguments)
