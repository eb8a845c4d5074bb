"""The rows of all lines: which line is at a row, and at which row a line begins."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar, Final, TypeAlias

from tokviz.live.sums import ITEMS, BlockList
from tokviz.tui.widgets.editor.long_line import LongLine

LineBreaks: TypeAlias = tuple[int, ...] | LongLine
"""The row breaks of a line; it has one row more than their `len`."""

ROWS: Final = 0


class RowIndex(BlockList[LineBreaks]):
    """The row breaks of every line, in order; there is at least one line."""

    __slots__ = ()

    usual_block: ClassVar[int] = 512

    def __init__(self, lines: Sequence[LineBreaks]) -> None:
        """Take the breaks of all lines."""
        super().__init__(lines, (lambda line: len(line) + 1,))

    @property
    def n_rows(self) -> int:
        """The rows of all lines."""
        return self.total(ROWS)

    @property
    def n_lines(self) -> int:
        """The number of lines."""
        return self.total(ITEMS)

    def line(self, number: int) -> LineBreaks:
        """Return the breaks of a line."""
        # Asked several times for every row that is drawn: no place is made on the way.
        before = self._block_sums(ITEMS)
        block = bisect_right(before, number, 0, len(self._blocks)) - 1
        return self._blocks[block].items[number - before[block]]

    def top(self, number: int) -> int:
        """Return the first row of a line."""
        return self.start(self.nth(number), ROWS)

    def line_at(self, row: int) -> tuple[int, int]:
        """Return the line at a row (0 to n_rows - 1), and the row counted from the line's first."""
        above = self._block_sums(ROWS)
        block = bisect_right(above, row) - 1
        tops = self._blocks[block].sums(ROWS)
        slot = bisect_right(tops, row - above[block]) - 1
        return self._block_sums(ITEMS)[block] + slot, row - above[block] - tops[slot]

    def replace(self, first: int, last: int, lines: Sequence[LineBreaks]) -> None:
        """Replace the lines from `first` up to and with `last` by at least one."""
        place = self.nth(first)
        if first == last and len(lines) == 1:
            block = self._blocks[place.block]
            block.items[place.slot] = lines[0]
            block.forget(ROWS)
            self._sums[ROWS] = None
        else:
            self.splice(place, self.nth(last), lines)
