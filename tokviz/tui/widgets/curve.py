"""A curve drawn with block characters."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BLOCKS = " ▁▂▃▄▅▆▇█"


def curve_rows(
    points: Sequence[tuple[float, float]],
    width: int,
    height: int,
    *,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
) -> list[str]:
    """Draw a curve as columns of blocks.

    A column shows the value at its right edge; columns beyond the last point stay empty.

    Args:
        points: (x, y) with growing x > 0.
        width: Columns.
        height: Rows.
        x_range: The x of the left and of the right edge, both > 0; the scale is logarithmic.
        y_range: The y of the bottom and of the top.

    Returns:
        The rows from the top down, each `width` characters wide.

    >>> curve_rows([(1, 0.5), (2, 1.0)], 2, 1, x_range=(1, 4), y_range=(0, 1))
    ['██']
    """
    levels = [
        _level(value, height * 8, *y_range) for value in _column_values(points, width, *x_range)
    ]
    return [
        "".join(_BLOCKS[min(max(level - row * 8, 0), 8)] for level in levels)
        for row in reversed(range(height))
    ]


def _column_values(
    points: Sequence[tuple[float, float]], width: int, first_x: float, last_x: float
) -> list[float | None]:
    """Find the value at the right edge of every column, None where the curve is not yet."""
    growth = math.log(max(last_x / first_x, 1.000001)) / max(width, 1)
    values: list[float | None] = []
    index = 0
    for column in range(width):
        left, right = (first_x * math.exp(growth * edge) for edge in (column, column + 1))
        while index < len(points) and points[index][0] < right:
            index += 1
        if not points or left > points[-1][0] * 1.000001:
            values.append(None)
        elif index in (0, len(points)):
            values.append(points[min(index, len(points) - 1)][1])
        else:
            values.append(_between(points[index - 1], points[index], right))
    return values


def _between(before: tuple[float, float], after: tuple[float, float], x: float) -> float:
    share = math.log(x / before[0]) / math.log(after[0] / before[0])
    return before[1] + share * (after[1] - before[1])


def _level(value: float | None, n_levels: int, bottom: float, top: float) -> int:
    if value is None:
        return 0
    share = (value - bottom) / (top - bottom) if top > bottom else 0.0
    return min(max(round(share * n_levels), 1), n_levels)
