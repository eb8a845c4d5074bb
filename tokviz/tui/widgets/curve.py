"""A curve over the merges, drawn with block characters, and the scale of its x axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

_BLOCKS = " ▁▂▃▄▅▆▇█"


class Scale(NamedTuple):
    """A scale of whole numbers from 0 at the left edge to the last one at the right edge.

    Attributes:
        last: The last number.
        is_log: Whether it is logarithmic, in the number plus 1.
    """

    last: int
    is_log: bool = False

    def column_of(self, value: float, width: int) -> int:
        """Return the column of a number, one of `width`.

        >>> [Scale(4).column_of(value, 3) for value in range(5)]
        [0, 0, 1, 2, 2]
        >>> [Scale(999, is_log=True).column_of(value, 31) for value in (0, 9, 99, 999)]
        [0, 10, 20, 30]
        """
        if self.last <= 0 or width <= 1:
            return 0
        share = value / self.last
        if self.is_log:
            share = math.log1p(max(value, 0)) / math.log1p(self.last)
        return min(max(round(share * (width - 1)), 0), width - 1)

    def value_at(self, column: float, width: int) -> float:
        """Return the number at the middle of a column.

        >>> [Scale(999, is_log=True).value_at(column, 31) for column in (0, 30)]
        [0.0, 999.0]
        """
        if self.last <= 0 or width <= 1 or column <= 0:
            return 0.0
        if column >= width - 1:
            return float(self.last)
        share = column / (width - 1)
        return math.expm1(share * math.log1p(self.last)) if self.is_log else share * self.last

    def value_of(self, column: int, width: int) -> int:
        """Return the whole number at a column; columns outside have the first or last one.

        >>> [Scale(4).value_of(column, 3) for column in (-1, 0, 1, 2, 9)]
        [0, 0, 2, 4, 4]
        """
        return round(self.value_at(column, width))


class Curve(NamedTuple):
    """A curve and its axes.

    Attributes:
        title: The title of the y axis.
        points: Pairs (x, y) with growing x: the value after x merges.
        last_x: The right edge of the x axis; its left edge is 0.
        y_range: The bottom and the top of the y axis.
        y_label: Formats a number of the y axis.
        log_from: The bottom of a logarithmic y axis; None if the y axis is always linear.
        empty_text: The text shown if there are no points.
    """

    title: str
    points: Sequence[tuple[float, float]] = ()
    last_x: int = 1
    y_range: tuple[float, float] = (0.0, 1.0)
    y_label: Callable[[float], str] = str
    log_from: float | None = None
    empty_text: str = ""

    def y_axis(self, is_log: bool) -> tuple[float, float, bool]:
        """Return the bottom, the top, and whether the axis is logarithmic."""
        if is_log and self.log_from is not None:
            return self.log_from, max(self.y_range[1], 2 * self.log_from), True
        return *self.y_range, False


def compression_curve(
    title: str, points: Sequence[tuple[float, float]], last_x: int, empty_text: str = ""
) -> Curve:
    """Return a curve of bytes per token, which starts with one token per byte."""
    top = max(2.0, math.ceil(max((ratio for _, ratio in points), default=2.0) * 2) / 2)
    return Curve(title, points, last_x, (1.0, top), "{:.1f}".format, empty_text=empty_text)


def curve_rows(curve: Curve, width: int, height: int, *, is_log: bool = False) -> list[str]:
    """Draw a curve as columns of blocks; columns beyond the last point are empty.

    Returns:
        The rows from the top down, each `width` characters wide.

    >>> curve_rows(Curve("", [(0, 0.0), (4, 1.0)], last_x=4), 5, 1)
    ['▁▂▄▆█']
    """
    bottom, top, is_log_y = curve.y_axis(is_log)
    scale = Scale(curve.last_x, is_log)
    levels = []
    index = 0
    for column in range(width):
        x = scale.value_at(column, width)
        while index < len(curve.points) and curve.points[index][0] < x:
            index += 1
        value = _value_at(curve.points, index, x)
        levels.append(0 if value is None else _level(value, height * 8, bottom, top, is_log_y))
    return [
        "".join(_BLOCKS[min(max(level - row * 8, 0), 8)] for level in levels)
        for row in reversed(range(height))
    ]


def _value_at(points: Sequence[tuple[float, float]], index: int, x: float) -> float | None:
    """Return the value at an x; `index` is that of the first point at or after it."""
    if index == len(points):
        return None
    after = points[index]
    if index == 0:
        return after[1]
    before = points[index - 1]
    return before[1] + (x - before[0]) / (after[0] - before[0]) * (after[1] - before[1])


def _level(value: float, n_levels: int, bottom: float, top: float, is_log: bool) -> int:
    if is_log:
        value, bottom, top = (math.log(max(number, bottom)) for number in (value, bottom, top))
    share = (value - bottom) / (top - bottom) if top > bottom else 0.0
    return min(max(round(share * n_levels), 1), n_levels)
