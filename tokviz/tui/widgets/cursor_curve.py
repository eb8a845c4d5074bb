"""A curve over a logarithmic scale with a cursor that can be moved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual.geometry import Region
from textual.strip import Strip

from tokviz.tui.widgets.curve import curve_rows
from tokviz.tui.widgets.dragged import Dragged
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.flow import flow, words_of
from tokviz.tui.widgets.roles import role_strip

AXIS_COLUMNS = 7
"""Columns at the left for the labels of the y axis and the axis itself."""

Cells = list[tuple[str, str]]
"""A row: stretches of (text, role)."""


class Curve(NamedTuple):
    """What is drawn.

    Attributes:
        title: What the y axis is.
        points: (x, y) with growing x, from 1 on.
        y_range: The bottom and the top.
        y_labels: What they are called.
        last_x: The right edge of the scale.
        nothing: What to say if there are no points.
    """

    title: str
    points: Sequence[tuple[float, float]] = ()
    y_range: tuple[float, float] = (0.0, 1.0)
    y_labels: tuple[str, str] = ("", "")
    last_x: int = 1
    nothing: str = ""


class CursorCurve(Dragged):
    """Draws a curve and the place where one is; a click or a drag goes elsewhere."""

    DEFAULT_CSS = """
    CursorCurve {
        & > .cursor-curve--past { color: $text-accent; }
        & > .cursor-curve--future { color: $text-disabled; }
        & > .cursor-curve--cursor { color: $text-warning; text-style: bold; }
        & > .cursor-curve--axis { color: $text-muted; }
        & > .cursor-curve--value { text-style: bold; }
    }
    """
    ROLES: ClassVar[tuple[str, ...]] = ("past", "future", "cursor", "axis", "value")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"cursor-curve--{role}" for role in ROLES}

    def __init__(self, *, id: str | None = None) -> None:
        """Begin without a curve."""
        super().__init__(id=id)
        self._curve = Curve("")
        self._cursor = 0
        self._value = ""
        self._drawn: tuple[tuple[int, int], list[str]] | None = None

    def show(self, curve: Curve) -> None:
        """Show another curve."""
        self._curve = curve
        self._drawn = None
        self.refresh()

    def set_cursor(self, x: int, value: str) -> None:
        """Put the cursor at an x, and say the value there."""
        if (x, value) == (self._cursor, self._value):
            return
        width, last_x = self.size.width - AXIS_COLUMNS, self._curve.last_x
        moved = column_of(x, last_x, width) != column_of(self._cursor, last_x, width)
        self._cursor, self._value = x, value
        if moved:
            self.refresh()
        else:
            self.refresh(Region(0, 0, self.size.width, 1))

    def _blocks(self) -> list[str]:
        size = (self.size.width, self.size.height)
        if self._drawn is None or self._drawn[0] != size:
            curve = self._curve
            rows = curve_rows(
                curve.points,
                max(size[0] - AXIS_COLUMNS, 0),
                max(size[1] - 2, 0),
                x_range=(1, max(curve.last_x, 2)),
                y_range=curve.y_range,
            )
            self._drawn = (size, rows)
        return self._drawn[1]

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        width, height = self.size
        cells = curve_line(self._curve, self._blocks(), self._cursor, self._value, y, width, height)
        return role_strip(self, "cursor-curve", cells, width)

    def can_go(self) -> bool:
        """Without points there is no place on the curve."""
        return bool(self._curve.points)

    def go(self, column: int) -> None:
        """Go to the merge at a column."""
        x = x_of(column - AXIS_COLUMNS, self._curve.last_x, self.size.width - AXIS_COLUMNS)
        if x != self._cursor:
            self.post_message(self.Moved(x))


def curve_line(
    curve: Curve, blocks: Sequence[str], cursor: int, value: str, y: int, width: int, height: int
) -> Cells:
    """Draw one row: the title and the value, a row of the curve, or the x axis."""
    if y == 0:
        return [(fit(curve.title, width), "axis"), (f"  {value}" if value else "", "value")]
    if not curve.points:
        rows = flow(words_of(curve.nothing), width)
        return [(span.text, "axis") for row in rows[y - 1 : y] for span in row]
    if height < 3 or width <= AXIS_COLUMNS + 4:
        return []
    if y == height - 1:
        first, last = "1", f"{curve.last_x:,}"
        gap = " " * max(1, width - AXIS_COLUMNS - len(first) - len(last))
        return [(" " * AXIS_COLUMNS + first + gap + last, "axis")]
    label = curve.y_labels[1] if y == 1 else curve.y_labels[0] if y == height - 2 else ""
    row = blocks[y - 1]
    column = column_of(cursor, curve.last_x, width - AXIS_COLUMNS)
    mark = row[column] if row[column] != " " else "│"
    return [
        (f"{label:>{AXIS_COLUMNS - 1}}▕", "axis"),
        (row[:column], "past"),
        (mark, "cursor"),
        (row[column + 1 :], "future"),
    ]


def column_of(x: int, last_x: int, width: int) -> int:
    """Say in which column of a logarithmic scale from 1 to `last_x` an x stands."""
    if x <= 1 or last_x <= 1 or width <= 1:
        return 0
    return min(math.ceil(math.log(x) / math.log(last_x) * width - 1e-9) - 1, width - 1)


def x_of(column: int, last_x: int, width: int) -> int:
    """Say which x a column stands for: the right edge's, as the curve is drawn.

    >>> [x_of(column, 256, 8) for column in (-1, 0, 3, 7, 9)]
    [1, 2, 16, 256, 256]
    """
    if column < 0 or last_x <= 1 or width <= 1:
        return 1
    share = min(column + 1, width) / width
    return min(max(round(math.exp(share * math.log(last_x))), 1), last_x)
