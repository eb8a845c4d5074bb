"""Switch screens, each of which is created on first use."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from textual.app import App

from tokviz.tui.actions import Action, Kind
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.registry import SCREENS
from tokviz.workspace.session import Session


def screen_class(screen_id: str) -> type[TokvizScreen]:
    """Import a screen."""
    screen: type[TokvizScreen] = import_module(f"tokviz.tui.screens.{screen_id}").SCREEN
    return screen


class ScreenSwitcher:
    """The screens created so far."""

    def __init__(self, app: App[Any], session: Session) -> None:
        """Create the switcher with the session that the screens show."""
        self._app, self._session = app, session
        self.created: dict[str, TokvizScreen] = {}
        """Screens by id."""

    def screen(self, screen_id: str) -> TokvizScreen:
        """Return a screen, created on first use."""
        if screen_id not in self.created:
            self.created[screen_id] = screen_class(screen_id)(self._session)
        return self.created[screen_id]

    def mounted(self) -> list[TokvizScreen]:
        """List the screens that are mounted."""
        return [screen for screen in self.created.values() if screen.is_mounted]

    def show(self, screen_id: str) -> None:
        """Switch to a screen, unless a dialog waits for its answer or the app is ending."""
        app = self._app
        if len(app.screen_stack) == 1 and app.is_running and screen_id != app.current_mode:
            app.switch_mode(screen_id)

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
