"""Widgets in which the mouse drags a number, and a line with a handle."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tokviz.tui.widgets.curve import Scale
from tokviz.tui.widgets.spans import RoleStyles, Span, draw


class Dragged(Widget):
    """Base of widgets in which presses and drags of the mouse choose a number."""

    @dataclass
    class Moved(Message):
        """The user moved to another number."""

        value: int

        def can_replace(self, message: Message) -> bool:
            """Only the newest number matters."""
            return isinstance(message, Dragged.Moved)

    # Selecting text by a drag would redraw the whole screen at every move.
    ALLOW_SELECT = False
    _is_dragged = False

    def can_go(self) -> bool:
        """Return whether the mouse can choose a number."""
        return True

    @abstractmethod
    def go(self, column: int) -> None:
        """Choose the number at a column, which may be outside the widget."""

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Choose the number under the mouse, and start dragging."""
        if self.can_go():
            event.stop()
            self._is_dragged = True
            self.capture_mouse()
            self.go(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse while a button is pressed; another window may receive the release."""
        if self._is_dragged and not event.button:
            self._let_go()
        elif self._is_dragged:
            self.go(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Stop dragging."""
        if self._is_dragged:
            event.stop()
            self._let_go()

    def _let_go(self) -> None:
        self._is_dragged = False
        self.release_mouse()


class Scrubber(Dragged, can_focus=True):
    """A value between 0 and a last one, which a click or a drag changes.

    The screen handles the arrow keys, because it defines the size of a step.
    """

    DEFAULT_CSS = """
    Scrubber {
        height: 1;
        width: 1fr;
        & > .scrubber--accent { color: $text-accent; }
        & > .scrubber--rest { color: $border-blurred; }
        & > .scrubber--mark { color: $text-warning; text-style: bold; }
        & > .scrubber--handle { color: $text-accent; text-style: bold; }
        &:focus > .scrubber--handle { color: $foreground; background: $block-cursor-background; }
        &:nocolor:focus > .scrubber--handle { text-style: reverse; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"scrubber--{role}" for role in ("accent", "rest", "mark", "handle")
    }

    def __init__(self, *, id: str | None = None) -> None:
        """Create a scrubber with the range 0 to 0."""
        super().__init__(id=id)
        self._value, self._scale = 0, Scale(0)
        self._mark: int | None = None

    def show(self, value: int, scale: Scale, mark: int | None = None) -> None:
        """Show a value on a scale, and optionally a mark at another value."""
        if (value, scale, mark) != (self._value, self._scale, self._mark):
            self._value, self._scale, self._mark = value, scale, mark
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        width = self.size.width
        if width < 1:
            return Strip([])
        handle = self._scale.column_of(self._value, width)
        spans = [Span("━", "accent")] * handle + [Span("●", "handle")]
        spans += [Span("─", "rest")] * (width - handle - 1)
        if self._mark is not None:
            column = self._scale.column_of(self._mark, width)
            if column != handle:
                spans[column] = Span("◆", "mark")
        return draw(spans, RoleStyles(self, "scrubber"), width)

    def go(self, column: int) -> None:
        """Move the handle to a column."""
        value = self._scale.value_of(column, self.size.width)
        if value != self._value:
            self.show(value, self._scale, self._mark)
            self.post_message(self.Moved(value))
