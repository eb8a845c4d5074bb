"""Letters on everything that the keyboard or a click can reach: typing one goes there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.geometry import Offset, Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from tokviz.tui.dialogs.base import Modal
from tokviz.tui.palette import palette_of
from tokviz.tui.widgets.field import PushButton

LETTERS = "asdfjkleiowghruvncmtyxbpqz"
"""Labels, home row first."""


class Target(NamedTuple):
    """A place on the screen to go to: what takes the keyboard there, or None for a click."""

    place: Offset
    takes: Widget | None = None


def targets(screen: Screen[object], strips: list[Strip]) -> list[Target]:
    """Find the targets: clickable words and focusable widgets.

    Args:
        screen: The screen, or the dialog on it.
        strips: Its current content.
    """
    found: dict[Offset, Target] = {}
    for y, strip in enumerate(strips):
        x, before = 0, None
        for segment in strip:
            meta = segment.style.meta if segment.style else {}
            link = meta.get("@click") or meta.get("target")
            place = Offset(x, y)
            if link is not None and link != before:
                found[place] = Target(place)
            x, before = x + segment.cell_length, link
    laid_out = screen._compositor.visible_widgets
    for widget in screen.focus_chain:
        # A new widget has no position yet.
        if widget in laid_out and (region := Region.intersection(*laid_out[widget])):
            button = isinstance(widget, PushButton)
            found[region.offset] = Target(region.offset, None if button else widget)
    return [found[place] for place in sorted(found, key=lambda place: (place.y, place.x))]


def labels(number: int) -> list[str]:
    """Return a number of labels, none of which is a prefix of another.

    >>> labels(3), labels(27)[-2:]
    (['a', 's', 'd'], ['za', 'zs'])
    """
    found = deque(reversed(LETTERS))
    while len(found) < number:
        first = found.popleft()
        found.extend(first + letter for letter in reversed(LETTERS))
    return sorted(reversed(found), key=len)[:number]


class _Labelled(Widget):
    """Shows the screen as it was, with the letters on it."""

    def __init__(self, strips: list[Strip], places: dict[str, Offset]) -> None:
        super().__init__()
        self.typed = ""
        self._strips, self._places = strips, places

    def render_line(self, y: int) -> Strip:
        """Draw a line of the screen, with the letters that are left to type."""
        strip = self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width)
        look = palette_of(self.app).pin + Style(meta={}, underline=False)
        for label, place in self._places.items():
            if place.y == y and label.startswith(self.typed):
                text = label[len(self.typed) :][: strip.cell_length - place.x]
                after = strip.crop(place.x + len(text), strip.cell_length)
                strip = Strip.join([strip.crop(0, place.x), Strip([Segment(text, look)]), after])
        return strip


class JumpMode(Modal[Target]):
    """Waits for the letters of a target, which is its result; other keys and clicks close it."""

    DEFAULT_CSS = """
    JumpMode { background: transparent; }
    JumpMode _Labelled { width: 100%; height: 100%; }
    """

    def __init__(self, found: list[Target], strips: list[Strip]) -> None:
        """Create the dialog with the targets and the content of the screen."""
        super().__init__()
        self._targets = dict(zip(labels(len(found)), found, strict=True))
        self._shown = _Labelled(strips, {label: one.place for label, one in self._targets.items()})

    def compose(self) -> ComposeResult:
        """Yield the screen as it was."""
        yield self._shown

    def on_key(self, event: events.Key) -> None:
        """Add a letter."""
        event.stop()
        typed = self._shown.typed + event.key.lower()
        if not any(label.startswith(typed) for label in self._targets):
            self.dismiss(None)
        elif typed in self._targets:
            self.dismiss(self._targets[typed])
        else:
            self._shown.typed = typed
            self._shown.refresh()

    def on_click(self) -> None:
        """Go nowhere."""
        self.dismiss(None)

    def on_resize(self, event: events.Resize) -> None:
        """Close without a result if the screen changed."""
        if event.size != self.app.size or event.size.height != len(self._shown._strips):
            self.dismiss(None)


def click(place: Offset) -> Iterator[events.MouseEvent]:
    """Return the mouse events of a click."""
    for kind in (events.MouseDown, events.MouseUp):
        yield kind(None, place.x, place.y, 0, 0, 1, False, False, False, place.x, place.y)
