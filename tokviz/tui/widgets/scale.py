"""Where a number stands in a row of columns: the same for the scrubber and for every curve."""

from __future__ import annotations

import math
from typing import NamedTuple


class Scale(NamedTuple):
    """A scale of whole numbers from 0 at the left edge to the last one at the right edge.

    Attributes:
        last: The last number.
        is_log: Whether it is logarithmic: equal ways multiply the number, plus 1, by the same.
    """

    last: int
    is_log: bool = False

    def column_of(self, value: float, width: int) -> int:
        """Say in which of `width` columns a number stands.

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
        """Say which number stands in the middle of a column.

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
        """Say which whole number a column stands for; the edges are the ends.

        >>> [Scale(4).value_of(column, 3) for column in (-1, 0, 1, 2, 9)]
        [0, 0, 2, 4, 4]
        """
        return round(self.value_at(column, width))
