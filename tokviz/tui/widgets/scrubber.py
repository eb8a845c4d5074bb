"""A line with a handle that is dragged through a range of numbers."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import ClassVar

from textual.strip import Strip

from tokviz.tui.widgets.dragged import Dragged
from tokviz.tui.widgets.roles import role_strip
from tokviz.tui.widgets.scale import Scale


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
        self._value, self._scale = 0, Scale(0)
        self._mark: int | None = None

    def show(self, value: int, scale: Scale, mark: int | None = None) -> None:
        """Show a value on a scale, and perhaps a mark at another value."""
        if (value, scale, mark) != (self._value, self._scale, self._mark):
            self._value, self._scale, self._mark = value, scale, mark
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        width = self.size.width
        if width < 1:
            return Strip([])
        handle = self._scale.column_of(self._value, width)
        cells = ["━"] * handle + ["●"] + ["─"] * (width - handle - 1)
        roles = ["done"] * handle + ["handle"] + ["rest"] * (width - handle - 1)
        if self._mark is not None:
            column = self._scale.column_of(self._mark, width)
            if column != handle:
                cells[column], roles[column] = "◆", "mark"
        runs = groupby(zip(cells, roles, strict=True), key=itemgetter(1))
        words = (("".join(cell for cell, _ in run), role) for role, run in runs)
        return role_strip(self, "scrubber", words, width)

    def go(self, column: int) -> None:
        """Take the handle to a column."""
        value = self._scale.value_of(column, self.size.width)
        if value != self._value:
            self.show(value, self._scale, self._mark)
            self.post_message(self.Moved(value))
