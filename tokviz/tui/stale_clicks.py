"""Ignore clicks that arrive too late for their target, or that it does not handle."""

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
    """Detects presses on a removed widget, and double clicks whose first click removed the widget.

    A removed widget is visible until the next frame, and a press on it would reach its parent. The
    second click of a double click must not reach a widget that the user has not seen before it.

    Only the left button clicks links, tabs and fields. The right button reaches widgets with
    `HEARS_RIGHT` only.
    """

    def __init__(self) -> None:
        """Start without a press."""
        self._widget: Widget | None = None
        self._place = Offset(-1, -1)
        self._time = float("-inf")
        self._is_stale = False

    def take(self, event: events.MouseDown | events.MouseUp, screen: Screen[Any]) -> bool:
        """Return whether to ignore a press, or the release after it."""
        if isinstance(event, events.MouseDown):
            place = Offset(event.x, event.y)
            repeats = event.time - self._time <= App.CLICK_CHAIN_TIME_THRESHOLD
            self._is_stale = repeats and place == self._place and self._is_gone(screen)
            if not self._is_stale:
                self._widget = pressed = widget_at(screen, place)
                self._is_stale = pressed is not None and not pressed.is_attached
            self._place, self._time = place, event.time
            if event.button != _LEFT and not self._is_stale:
                hears = getattr(self._widget, "HEARS_RIGHT", False)
                self._is_stale = event.button != RIGHT or not hears
        return self._is_stale

    def _is_gone(self, screen: Screen[Any]) -> bool:
        widget = self._widget
        if widget is None or not widget.is_attached:
            return True
        return widget.screen is not screen or not widget.is_on_screen


def widget_at(screen: Screen[Any], offset: Offset) -> Widget | None:
    """Return the widget at a position of the screen, None if there is none."""
    try:
        return screen.get_widget_at(*offset)[0]
    except errors.NoWidget:
        return None
