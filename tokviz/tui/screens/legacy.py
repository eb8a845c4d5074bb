"""What screens need that are not composed of controllers yet."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

from textual import events
from textual.geometry import Size

from tokviz.settings import Settings
from tokviz.tui.actions import Action, Gesture
from tokviz.tui.legacy_actions.registry import table_of
from tokviz.tui.messages import CopyRequested
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.copying import Copying


class LegacyScreen(TokvizScreen):
    """A screen with a table of actions."""

    @classmethod
    def declared(cls) -> list[Action]:
        """Read the table."""
        return table_of(cls.SCREEN_ID)[0] if hasattr(cls, "SCREEN_ID") else []

    @classmethod
    def gestures(cls) -> list[Gesture]:
        """Read the table."""
        return table_of(cls.SCREEN_ID)[1]

    @property
    def tokviz(self) -> Any:
        """The app."""
        return self.app

    @property
    def settings(self) -> Settings:
        """The remembered choices."""
        return self.session.settings

    def call_here(self, method: Callable[..., object], *arguments: object) -> None:
        """Call a method on the screen's thread from a worker; nothing if the app has ended."""
        with contextlib.suppress(RuntimeError, CancelledError):
            self.app.call_from_thread(method, *arguments)

    def drop_if_outdated(self, event: events.Resize) -> bool:
        """Tell whether a size is outdated."""
        return event.size != self.app.size

    def fit(self, size: Size) -> None:
        """Leave it to the heirs."""


class LegacyCopying(LegacyScreen):
    """Copies."""

    def on_copy_requested(self, message: CopyRequested) -> None:
        """Copy what a panel shows."""
        message.stop()
        self.copy(message.text, message.what)

    def copy(self, text: str, what: str) -> None:
        """Copy in a thread, and say where the copy went."""
        Copying(self).copy(text, what)
