"""Where sentences for the user stand: in the half of the screen that the user is not at.

Nor do they cover what answers, such as a plan while its form is filled in: widgets of the class
`ANSWERS`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from textual import events
from textual.errors import NoWidget
from textual.geometry import Offset
from textual.notifications import Notification, Notifications
from textual.screen import Screen
from textual.widgets._toast import Toast, ToastHolder, ToastRack

ANSWERS = "answers"
_BARS = 2
"""Lines at the top, and at the bottom, that are left free in any case."""

MOST_TOASTS = 8
"""Nobody reads more at once, and they would cover half of a usual terminal."""

_NUMBER = re.compile(r"(?<!\S)[\d,]+(?!\S)")

_WEIGHTS = "information", "warning", "error"


class Toasts:
    """Keeps the toasts away from what was acted on last, by a key or by the mouse."""

    def __init__(self) -> None:
        """Nothing has been acted on yet."""
        self._clicked: int | None = None

    def notice(self, event: events.Event, screen: Screen[object]) -> None:
        """Remember which row the mouse acted on; a key acts where the keyboard is."""
        if isinstance(event, events.MouseDown):
            with suppress(NoWidget):
                under, _ = screen.get_widget_at(*event.screen_offset)
                if not isinstance(under, Toast):
                    self._clicked = event.screen_y
        elif isinstance(event, events.Key | events.Paste):
            self._clicked = None

    def place(self, screen: Screen[object]) -> None:
        """Put a screen's toasts above or below."""
        row = self._clicked if self._clicked is not None else _keyboard_row(screen)
        height = screen.size.height
        below = row < height // 2
        answers = [widget.region for widget in screen.query(f".{ANSWERS}") if widget.region]
        edges = [height - it.y if below else it.bottom for it in answers]
        margin = max([_BARS, *(edge for edge in edges if edge <= height // 2)])
        for rack in screen.query_children(ToastRack):
            rack.set_class(below, "-below")
            rack.styles.margin = (0, 1, margin, 0) if below else (margin, 1, 0, 0)


def in_the_way(standing: Sequence[Notification]) -> list[Notification]:
    """List what the newest takes the place of, or where too many stand, the oldest of the least."""
    gone = [one for one in standing[:-1] if _says_the_same(one, standing[-1])]
    kept = [one for one in standing if one not in gone]
    kept.sort(key=lambda it: _WEIGHTS.index(it.severity))
    return gone + kept[: max(0, len(kept) - MOST_TOASTS)]


def _says_the_same(one: Notification, other: Notification) -> bool:
    if one.severity == other.severity == "information":
        # As with every "Saved 9 bytes to a.txt."; two warnings may tell of two lines.
        return _NUMBER.sub("", one.message) == _NUMBER.sub("", other.message)
    return one.message == other.message


def clear_away(screen: Screen[object], notifications: Notifications) -> None:
    """Take out what holds the toasts that stand no more: Textual takes out the toasts alone."""
    standing = {ToastRack._toast_id(notification) for notification in notifications}
    for rack in screen.query_children(ToastRack):
        for holder in rack.query_children(ToastHolder):
            if holder.id not in standing:
                holder.remove()


def _keyboard_row(screen: Screen[object]) -> int:
    """Give the row of the screen that the keyboard is at, the last one for none."""
    focused = screen.focused
    if focused is None:
        return screen.size.height
    at: Offset = getattr(focused, "cursor_screen_offset", focused.region.offset)
    return at.y
