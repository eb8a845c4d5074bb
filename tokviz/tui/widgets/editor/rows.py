"""The rows of all lines: which line is at a row, and at which row a line begins.

The lines are kept in blocks of some hundred with running sums, so that a change costs about the
square root of the number of lines, and a look-up less.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, TypeAlias

from tokviz.tui.widgets.editor.long_line import LongLine

LineBreaks: TypeAlias = tuple[int, ...] | LongLine
"""The row breaks of a line; it has one row more than their `len`."""

_USUAL_BLOCK: Final = 512
_LARGEST_BLOCK: Final = 1_024


class _Block:
    """Consecutive lines, and the running sum of their rows."""

    __slots__ = ("_tops", "lines")

    def __init__(self, lines: list[LineBreaks]) -> None:
        self.lines = lines
        self._tops: list[int] | None = None

    @property
    def tops(self) -> list[int]:
        """The rows above each line of the block, and behind the last one all its rows."""
        if self._tops is None:
            self._tops = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        return self._tops

    def change(self, slot: int, line: LineBreaks) -> None:
        self.lines[slot] = line
        self._tops = None


class RowIndex:
    """The row breaks of every line, in order; there is at least one line."""

    def __init__(self, lines: Sequence[LineBreaks]) -> None:
        """Take the breaks of all lines."""
        self._blocks = _in_blocks(lines)
        self._sums: tuple[list[int], list[int]] | None = None

    @property
    def n_rows(self) -> int:
        """The rows of all lines."""
        return self._block_sums()[1][-1]

    @property
    def n_lines(self) -> int:
        """The number of lines."""
        return self._block_sums()[0][-1]

    def line(self, number: int) -> LineBreaks:
        """Return the breaks of a line."""
        block, slot = self._place(number)
        return self._blocks[block].lines[slot]

    def top(self, number: int) -> int:
        """Return the first row of a line."""
        block, slot = self._place(number)
        return self._block_sums()[1][block] + self._blocks[block].tops[slot]

    def line_at(self, row: int) -> tuple[int, int]:
        """Return the line at a row (0 to n_rows - 1), and the row counted from the line's first."""
        before, above = self._block_sums()
        block = bisect_right(above, row) - 1
        tops = self._blocks[block].tops
        slot = bisect_right(tops, row - above[block]) - 1
        return before[block] + slot, row - above[block] - tops[slot]

    def replace(self, first: int, last: int, lines: Sequence[LineBreaks]) -> None:
        """Replace the lines from `first` up to and with `last` by at least one."""
        (head, slot), (tail, last_slot) = self._place(first), self._place(last)
        if first == last and len(lines) == 1:
            self._blocks[head].change(slot, lines[0])
        else:
            kept_before = self._blocks[head].lines[:slot]
            kept_after = self._blocks[tail].lines[last_slot + 1 :]
            if len(kept_before) + len(lines) + len(kept_after) < _USUAL_BLOCK // 4:
                # Blocks must not dwindle: take the next one in.
                tail += 1
                kept_after += self._blocks[tail].lines if tail < len(self._blocks) else []
            self._blocks[head : tail + 1] = _in_blocks([*kept_before, *lines, *kept_after])
        self._sums = None

    def _place(self, number: int) -> tuple[int, int]:
        """Find a line: the number of its block and its number in the block."""
        before = self._block_sums()[0]
        block = bisect_right(before, number, 0, len(self._blocks)) - 1
        return block, number - before[block]

    def _block_sums(self) -> tuple[list[int], list[int]]:
        """Return the running sums over the blocks of their lines and of their rows."""
        if self._sums is None:
            blocks = self._blocks
            self._sums = (
                list(accumulate((len(block.lines) for block in blocks), initial=0)),
                list(accumulate((block.tops[-1] for block in blocks), initial=0)),
            )
        return self._sums


def _in_blocks(lines: Sequence[LineBreaks]) -> list[_Block]:
    if len(lines) <= _LARGEST_BLOCK:
        return [_Block(list(lines))]
    starts = range(0, len(lines), _USUAL_BLOCK)
    return [_Block(list(lines[start : start + _USUAL_BLOCK])) for start in starts]
