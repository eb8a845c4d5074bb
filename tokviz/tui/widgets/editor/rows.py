"""Index of the rows of all lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, NamedTuple, TypeAlias

from tokviz.live.prefix_sums import ITEMS, Block, BlockList
from tokviz.tui.widgets.editor.long_line import LongLine

LineBreaks: TypeAlias = tuple[int, ...] | LongLine
"""The row breaks of a line, which has `len(breaks) + 1` rows."""

ROWS: Final = 0


class Line(NamedTuple):
    """A laid out line."""

    text: str
    """Its characters; empty for a long line, which is read from the document."""
    breaks: LineBreaks

    @property
    def n_chars(self) -> int:
        """The number of characters."""
        return self.breaks.n_chars if isinstance(self.breaks, LongLine) else len(self.text)


def _n_rows(line: Line) -> int:
    return len(line.breaks) + 1


_MEASURES: Final[tuple[Callable[[Line], int]]] = (_n_rows,)


class _Estimated(Block[Line]):
    """Lines that are not laid out yet: their number, and an estimate of their rows."""

    __slots__ = ()

    def __init__(self, n_lines: int, n_rows: int) -> None:
        super().__init__(range(n_lines), _MEASURES, [n_rows])  # type: ignore[arg-type]


class RowIndex(BlockList[Line]):
    """All lines, at least one, with their rows.

    Lines are laid out block by block when one of the block is needed. Until then only the number
    of its lines is known.
    """

    __slots__ = ("_lay_out", "on_laid_out")

    usual_block: ClassVar[int] = 512

    def __init__(
        self, estimated: Iterable[tuple[int, int]], lay_out: Callable[[int, int], list[Line]]
    ) -> None:
        """Create an index of lines that are not laid out yet.

        Args:
            estimated: The number of lines and the estimated number of rows of each block.
            lay_out: Lays out the lines from one number up to another.
        """
        super().__init__((), _MEASURES)
        self._blocks = self.estimated(estimated)
        self._lay_out = lay_out
        self.on_laid_out: Callable[[int, int], None] = lambda row, change: None
        """Called when a block has more or fewer rows than estimated: first row, how many more."""

    @staticmethod
    def estimated(sizes: Iterable[tuple[int, int]]) -> list[Block[Line]]:
        """Return blocks with numbers of lines and estimated numbers of rows."""
        return [_Estimated(n_lines, n_rows) for n_lines, n_rows in sizes]

    def lay_out_block(self, number: int) -> Block[Line]:
        """Lay out a block unless it is, and return it."""
        block = self._blocks[number]
        if isinstance(block, _Estimated):
            first, about = self._block_sums(ITEMS)[number], block.total(ROWS)
            block = Block(self._lay_out(first, first + len(block.items)), _MEASURES)
            self._blocks[number] = block
            if change := block.total(ROWS) - about:
                row = self._block_sums(ROWS)[number]
                self._sums[ROWS] = None
                self.on_laid_out(row, change)
        return block

    def lay_out_all(self) -> None:
        """Lay out all lines."""
        for number in range(len(self._blocks)):
            self.lay_out_block(number)

    @property
    def n_rows(self) -> int:
        """The number of rows of all lines; an estimate until all lines are laid out."""
        return self.total(ROWS)

    @property
    def n_lines(self) -> int:
        """The number of lines."""
        return self.total(ITEMS)

    def line(self, number: int) -> Line:
        """Return a line."""
        # Called several times for every drawn row, so no `Place` is created.
        before = self._block_sums(ITEMS)
        block = bisect_right(before, number, 0, len(self._blocks)) - 1
        return self.lay_out_block(block).items[number - before[block]]

    def top(self, number: int) -> int:
        """Return the first row of a line."""
        place = self.nth(number)
        self.lay_out_block(place.block)
        return self.start(place, ROWS)

    def line_at(self, row: int) -> tuple[int, int]:
        """Return the line at a row, and the row's number in the line."""
        while True:
            above = self._block_sums(ROWS)
            at = min(row, above[-1] - 1)
            number = bisect_right(above, at) - 1
            block = self._blocks[number]
            if not isinstance(block, _Estimated):
                break
            self.lay_out_block(number)
        tops = block.sums(ROWS)
        slot = bisect_right(tops, at - above[number]) - 1
        return self._block_sums(ITEMS)[number] + slot, at - above[number] - tops[slot]

    def grow(self, number: int, row: int, change: int) -> None:
        """Update the number of rows of a long line, which was estimated.

        Args:
            number: The line.
            row: The row from which it changed, counted from the line's first.
            change: How many more rows.
        """
        place = self.nth(number)
        if change:
            self._blocks[place.block].forget(ROWS)
            self._sums[ROWS] = None
        self.on_laid_out(self.start(place, ROWS) + row, change)

    def prepare(self, first: int, last: int) -> None:
        """Lay out the blocks that `replace` needs, before the lines change."""
        self.line(first)
        self.line(last)
        # The block may be joined with the next one.
        following = self.nth(last).block + 1
        if following < len(self._blocks):
            self.lay_out_block(following)

    def replace(
        self,
        first: int,
        last: int,
        lines: Sequence[Line],
        blocks: Sequence[Block[Line]] = (),
        after: Sequence[Line] = (),
    ) -> None:
        """Replace the lines from `first` to `last`, included, after `prepare`.

        Args:
            first: The first replaced line.
            last: The last one.
            lines: The new lines, at least one.
            blocks: Blocks of lines after these.
            after: More lines after the blocks.
        """
        place = self.nth(first)
        if first == last and len(lines) == 1 and not blocks:
            block = self._blocks[place.block]
            old, block.items[place.slot] = block.items[place.slot], lines[0]
            # A long line was changed in place, so its old number of rows is unknown.
            if isinstance(old.breaks, LongLine) or _n_rows(old) != _n_rows(lines[0]):
                block.forget(ROWS)
                self._sums[ROWS] = None
        else:
            self.splice(place, self.nth(last), lines, blocks, after)
