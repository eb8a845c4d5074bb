"""Switch screens: create each on first use, and skip those that the user passes by quickly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from textual.app import App

from tokviz.tui.actions import Action, Kind
from tokviz.tui.messages import ScreenReady
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.registry import SCREENS
from tokviz.workspace.session import Session


def screen_class(screen_id: str) -> type[TokvizScreen]:
    """Import a screen."""
    screen: type[TokvizScreen] = import_module(f"tokviz.tui.screens.{screen_id}").SCREEN
    return screen


class ScreenSwitcher:
    """The screens created so far, and the screen that the user requested last."""

    def __init__(self, app: App[Any], session: Session, next_keys: Callable[[], list[str]]) -> None:
        """Create the switcher.

        Args:
            app: The app.
            session: The session that the screens show.
            next_keys: Returns the keys that wait to be handled.
        """
        self._app, self._session = app, session
        self._next_keys = next_keys
        self.created: dict[str, TokvizScreen] = {}
        """Screens by id."""
        self.switch_keys: frozenset[str] = frozenset()
        """Keys and chords that switch the screen."""
        self._requested: str | None = None
        """The screen requested last, if the app did not switch to it."""
        self.is_pending = False
        """Whether a requested screen waits until the current one has been drawn."""
        self._is_undrawn = False

    @property
    def target_id(self) -> str:
        """The screen that the user is on, or is about to reach."""
        return self._requested or self._app.current_mode

    def screen(self, screen_id: str) -> TokvizScreen:
        """Return a screen, created on first use."""
        if screen_id not in self.created:
            self.created[screen_id] = screen_class(screen_id)(self._session)
        return self.created[screen_id]

    def mounted(self) -> list[TokvizScreen]:
        """List the screens that are mounted."""
        return [screen for screen in self.created.values() if screen.is_mounted]

    def show(self, screen_id: str, may_wait: bool = True) -> None:
        """Switch to a screen now, or once the current one has been drawn."""
        app = self._app
        if len(app.screen_stack) > 1 or not app.is_running:
            # A dialog waits for its answer, or the app is ending.
            return
        keys = self._next_keys()
        if {*keys[:1], " ".join(keys)} & self.switch_keys:
            # Creating a screen is slow: skip one that the next key leaves.
            self._requested = screen_id
            return
        has_more = self._is_undrawn or (may_wait and app.message_queue_size > 0)
        if has_more and screen_id != app.current_mode:
            # Of the screens requested before the next frame, draw only the last one.
            if not (self._is_undrawn or self.is_pending):
                app.call_later(self._drawn)
            self._requested, self.is_pending = screen_id, True
            return
        self._requested, self.is_pending = None, False
        if screen_id == app.current_mode:
            return
        app.switch_mode(screen_id)
        self._is_undrawn = True
        self.await_drawing()

    def await_drawing(self) -> None:
        """Wait until the current screen has been drawn; a new one must be ready first."""
        screens = self._app.screen_stack
        if self._is_undrawn and screens and getattr(screens[0], "is_ready", True):
            screens[0].call_after_refresh(self._drawn)

    def _drawn(self) -> None:
        self._is_undrawn = False
        if self.is_pending and self._requested is not None:
            requested, self._requested, self.is_pending = self._requested, None, False
            self.show(requested, may_wait=False)
        self._app.post_message(ScreenReady())

    def actions_elsewhere(self) -> Iterator[tuple[Kind, Action]]:
        """Yield the actions that only other screens offer, each with its screen."""
        current = self._app.current_mode
        own = set(map(id, screen_class(current).declared()))
        for kind in SCREENS:
            created = self.created.get(kind.id)
            for action in screen_class(kind.id).declared() if kind.id != current else ():
                is_possible = created is None or created.check_action(action.method, ())
                if id(action) not in own and is_possible:
                    yield kind, action
