"""A line with a handle that is dragged through a range of numbers."""

from __future__ import annotations

from typing import ClassVar

from textual.strip import Strip

from tokviz.tui.widgets.dragged import Dragged
from tokviz.tui.widgets.roles import role_strip


class Scrubber(Dragged, can_focus=True):
    """Shows a value between 0 and a last one; a click or a drag changes it.

    The arrow keys are left to the screen, which knows what one step is.
    """

    DEFAULT_CSS = """
    Scrubber {
        height: 1;
        width: 1fr;
        & > .scrubber--done { color: $text-accent; }
        & > .scrubber--rest { color: $border-blurred; }
        & > .scrubber--mark { color: $text-warning; text-style: bold; }
        & > .scrubber--handle { color: $text-accent; text-style: bold; }
        &:focus > .scrubber--handle { color: $foreground; background: $block-cursor-background; }
        &:nocolor:focus > .scrubber--handle { text-style: reverse; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"scrubber--{role}" for role in ("done", "rest", "mark", "handle")
    }

    def __init__(self, *, id: str | None = None) -> None:
        """Begin with the range 0 to 0."""
        super().__init__(id=id)
        self._value = self._last = 0
        self._mark: int | None = None

    def show(self, value: int, last: int, mark: int | None = None) -> None:
        """Show a value, the end of the range, and perhaps a mark at another value."""
        if (value, last, mark) != (self._value, self._last, self._mark):
            self._value, self._last, self._mark = value, last, mark
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        width = self.size.width
        if width < 1:
            return Strip([])
        handle = column_of(self._value, self._last, width)
        cells = ["━"] * handle + ["●"] + ["─"] * (width - handle - 1)
        roles = ["done"] * handle + ["handle"] + ["rest"] * (width - handle - 1)
        if self._mark is not None:
            column = column_of(self._mark, self._last, width)
            if column != handle:
                cells[column], roles[column] = "◆", "mark"
        return role_strip(self, "scrubber", zip(cells, roles, strict=True), width)

    def go(self, column: int) -> None:
        """Take the handle to a column."""
        value = value_of(column, self._last, self.size.width)
        if value != self._value:
            self.show(value, self._last, self._mark)
            self.post_message(self.Moved(value))


def column_of(value: int, last: int, width: int) -> int:
    """Say in which of `width` columns a value from 0 to `last` stands.

    >>> [column_of(value, 4, 3) for value in range(5)]
    [0, 0, 1, 2, 2]
    """
    if last <= 0 or width <= 1:
        return 0
    return min(max(round(value * (width - 1) / last), 0), width - 1)


def value_of(column: int, last: int, width: int) -> int:
    """Say which value from 0 to `last` a column stands for; the edges are the ends.

    >>> [value_of(column, 4, 3) for column in (-1, 0, 1, 2, 9)]
    [0, 0, 2, 4, 4]
    """
    if last <= 0 or width <= 1:
        return 0
    return round(min(max(column, 0), width - 1) * last / (width - 1))
