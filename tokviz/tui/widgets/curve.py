"""A curve over the merges, drawn with block characters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tokviz.tui.widgets.scale import Scale

_BLOCKS = " ▁▂▃▄▅▆▇█"


class Curve(NamedTuple):
    """What is drawn.

    Attributes:
        title: What the y axis is.
        points: (x, y) with growing x: what is there after x merges.
        last_x: The right edge of the x axis; its left edge is 0.
        y_range: The bottom and the top of the y axis.
        y_label: Spells a number of the y axis.
        log_from: The bottom of the y axis where it is drawn logarithmically; None if it never is.
        nothing: What to say if there are no points.
    """

    title: str
    points: Sequence[tuple[float, float]] = ()
    last_x: int = 1
    y_range: tuple[float, float] = (0.0, 1.0)
    y_label: Callable[[float], str] = str
    log_from: float | None = None
    nothing: str = ""

    def y_axis(self, is_log: bool) -> tuple[float, float, bool]:
        """Give the bottom, the top, and whether the axis is logarithmic."""
        if is_log and self.log_from is not None:
            return self.log_from, max(self.y_range[1], 2 * self.log_from), True
        return *self.y_range, False


def compression_curve(
    title: str, points: Sequence[tuple[float, float]], last_x: int, nothing: str = ""
) -> Curve:
    """Make a curve of bytes per token, which begins with a token for every byte."""
    top = max(2.0, math.ceil(max((ratio for _, ratio in points), default=2.0) * 2) / 2)
    return Curve(title, points, last_x, (1.0, top), "{:.1f}".format, nothing=nothing)


def curve_rows(curve: Curve, width: int, height: int, *, is_log: bool = False) -> list[str]:
    """Draw a curve as columns of blocks; columns beyond the last point stay empty.

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
    """Give the value at an x, whose first point that is not before it has this index."""
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
