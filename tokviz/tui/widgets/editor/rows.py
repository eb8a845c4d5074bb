"""The rows of all lines: which line is at a row, and at which row a line begins."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, TypeAlias

from tokviz.live.sums import ITEMS, Block, BlockList
from tokviz.tui.widgets.editor.long_line import LongLine

LineBreaks: TypeAlias = tuple[int, ...] | LongLine
"""The row breaks of a line; it has one row more than their `len`."""

ROWS: Final = 0
_ONE_ROW_EACH: Final[dict[int, list[LineBreaks]]] = {}
"""Number of lines → the list that all blocks of so many lines share, if none of them is broken."""


def _n_rows(line: LineBreaks) -> int:
    return len(line) + 1


_MEASURES: Final[tuple[Callable[[LineBreaks], int]]] = (_n_rows,)


class RowIndex(BlockList[LineBreaks]):
    """The row breaks of every line, in order; there is at least one line."""

    __slots__ = ()

    usual_block: ClassVar[int] = 512

    def __init__(
        self, lines: Sequence[LineBreaks], blocks: Sequence[Block[LineBreaks]] = ()
    ) -> None:
        """Take the breaks of all lines, and those behind them that are in blocks already."""
        super().__init__(lines, _MEASURES)
        self._blocks += blocks

    @staticmethod
    def block(lines: list[LineBreaks]) -> Block[LineBreaks]:
        """Make a block of up to `usual_block` lines; no list of breaks is changed by the index."""
        n_lines = len(lines)
        one_row = _ONE_ROW_EACH.setdefault(n_lines, [()] * n_lines)
        if lines == one_row:
            return Block(one_row, _MEASURES, [n_lines])
        return Block(lines, _MEASURES, [n_lines + sum(map(len, lines))])

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

    def replace(
        self,
        first: int,
        last: int,
        lines: Sequence[LineBreaks],
        blocks: Sequence[Block[LineBreaks]] = (),
        behind: Sequence[LineBreaks] = (),
    ) -> None:
        """Replace the lines from `first` up to and with `last` by at least one.

        Args:
            first: The first line that goes.
            last: The last one.
            lines: What takes their place.
            blocks: More that does, in blocks.
            behind: What follows these.
        """
        place = self.nth(first)
        if first == last and len(lines) == 1 and not blocks:
            block = self._blocks[place.block]
            # Blocks of lines of one row each have one list in common.
            block.items = block.items.copy()
            block.items[place.slot] = lines[0]
            block.forget(ROWS)
            self._sums[ROWS] = None
        else:
            self.splice(place, self.nth(last), lines, blocks, behind)
