"""Clicks that mean nothing: they come too late for what they were meant for, or ask it nothing."""

from __future__ import annotations

from typing import Any

from textual import errors, events
from textual.app import App
from textual.geometry import Offset
from textual.screen import Screen
from textual.widget import Widget

from tokviz.tui.messages import RIGHT

_LEFT = 1


class StaleClicks:
    """Finds the presses whose widget is gone, and those that repeat one whose widget is gone since.

    A press may meet what has been taken out and is seen until the next frame; Textual would ask
    what that stood in. The second click of a double one must not act on what a dialog uncovers or
    covers, or on what takes the place of a button: nobody can have seen that before.

    Only the left button does what words, tabs and fields say; the right one asks a widget that says
    so by `HEARS_RIGHT`.
    """

    def __init__(self) -> None:
        """Begin with nothing pressed."""
        self._widget: Widget | None = None
        self._place = Offset(-1, -1)
        self._time = float("-inf")
        self._is_idle = False

    def take(self, event: events.MouseDown | events.MouseUp, screen: Screen[Any]) -> bool:
        """Tell whether a press, or the release that ends it, means nothing to its widget."""
        if isinstance(event, events.MouseDown):
            place = Offset(event.x, event.y)
            repeats = event.time - self._time <= App.CLICK_CHAIN_TIME_THRESHOLD
            self._is_idle = repeats and place == self._place and self._is_gone(screen)
            if not self._is_idle:
                self._widget = pressed = widget_at(screen, place)
                self._is_idle = pressed is not None and not pressed.is_attached
            self._place, self._time = place, event.time
            if event.button != _LEFT and not self._is_idle:
                hears = getattr(self._widget, "HEARS_RIGHT", False)
                self._is_idle = event.button != RIGHT or not hears
        return self._is_idle

    def _is_gone(self, screen: Screen[Any]) -> bool:
        widget = self._widget
        if widget is None or not widget.is_attached:
            return True
        return widget.screen is not screen or not widget.is_on_screen


def widget_at(screen: Screen[Any], place: Offset) -> Widget | None:
    """Give the widget at a place of the screen, None where there is none any more."""
    try:
        return screen.get_widget_at(*place)[0]
    except errors.NoWidget:
        return None
