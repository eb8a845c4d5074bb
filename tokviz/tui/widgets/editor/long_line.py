"""Lines too long to be laid out as a whole at every key.

A long line is divided into parts of some thousand characters, and each part is laid out separately:
with soft wrap the last row of a part may end early, without it parts are side by side. So an edit
takes the same time anywhere in a line of any length. If there are many parts, each is laid out when
it comes into view; before that, its size is estimated.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from operator import attrgetter
from typing import ClassVar, Final, NamedTuple, Protocol

from tokviz.text.glyphs import Glyphs
from tokviz.tui.widgets.editor.cells import breaks, is_plain, lay_out, safe_cut

_MOST_AT_ONCE: Final[int] = 4
"""The most parts that are all laid out at once."""

_COARSE: Final[int] = 64
"""How many parts are one until it comes into view, if there are many."""

_SEARCH_SHARE: Final = 8
"""A part ends at a space in this fraction of it, counted from its end, if there is one."""


class Sliceable(Protocol):
    """The text of a line, or an object that reads slices of it."""

    def __len__(self) -> int:
        """Count the characters."""

    def __getitem__(self, columns: slice, /) -> str:
        """Read a slice."""


class LinePart(NamedTuple):
    """Consecutive characters of a long line."""

    n_chars: int
    extent: int
    """Rows with soft wrap, cells without."""
    breaks: tuple[int, ...]
    """The first character of every row but the first, counted in the part."""
    is_guess: bool = False
    """Whether the extent is estimated and the breaks are unknown."""


_N_CHARS: Final[Callable[[LinePart], int]] = attrgetter("n_chars")
_EXTENT: Final[Callable[[LinePart], int]] = attrgetter("extent")


class LongLine:
    """A long line in parts, with the sums of their sizes."""

    PART_SIZE: ClassVar[int]
    """About how many characters a part has."""
    __slots__ = ("_glyphs", "_guesses", "_parts", "_width", "extents", "starts")

    def __init__(
        self,
        text: Sliceable,
        width: int,
        glyphs: Glyphs,
        known: Iterable[KnownColumns] = (),
        *,
        guesses: bool = False,
    ) -> None:
        """Divide a line into parts.

        Args:
            text: The whole line.
            width: The cells of a row, 0 for no wrapping.
            glyphs: The glyphs of characters.
            known: Columns of the line that need not be laid out again, ascending.
            guesses: Whether the sizes of many parts are estimated at first.
        """
        self._width, self._glyphs, self._guesses = width, glyphs, guesses
        self._parts: list[LinePart] = []
        self.starts: list[int]
        """The first column of each part, and the one after the last."""
        self.extents: list[int]
        """The first row or cell of each part, and the one after the last."""
        begin = 0
        for at, line, first_column, last_column in known:
            first = bisect_left(line.starts, first_column)
            last = bisect_right(line.starts, last_column) - 1
            if first < last:
                shift = at - first_column
                start = line.starts[first] + shift
                self._parts += self._cut(text, begin, start) if begin < start else ()
                self._parts += line._parts[first:last]
                begin = line.starts[last] + shift
        if begin < len(text) or not self._parts:
            self._parts += self._cut(text, begin, len(text))
        self._sum()

    @abstractmethod
    def _measure(self, text: str) -> LinePart:
        """Lay out the text of a part."""

    def __len__(self) -> int:
        """Count the row breaks, as `len` of a short line's breaks does."""
        return 0

    @property
    def n_chars(self) -> int:
        """The characters of the whole line."""
        return self.starts[-1]

    @property
    def extent(self) -> int:
        """The rows or cells of the whole line."""
        return self.extents[-1]

    def part_of(self, column: int) -> int:
        """Return the number of the part that holds a column."""
        return min(bisect_right(self.starts, column), len(self._parts)) - 1

    def part_at(self, extent: int) -> int:
        """Return the number of the part that holds a row or cell."""
        return min(bisect_right(self.extents, extent), len(self._parts)) - 1

    def is_guess(self, number: int) -> bool:
        """Return whether the size of a part is estimated."""
        return self._parts[number].is_guess

    def lay_out_part(self, number: int, text: Sliceable) -> int:
        """Lay out an estimated part of the line, or divide it if it is too large for that.

        Returns:
            How many more rows or cells it takes than estimated.
        """
        part = self._parts[number]
        start, end = self.starts[number : number + 2]
        if part.n_chars > 2 * self.PART_SIZE:
            found = [*self._guessed(text, start, end, self.PART_SIZE, part)]
        else:
            found = [self._measure(text[start:end])]
        self._parts[number : number + 1] = found
        change = sum(map(_EXTENT, found)) - part.extent
        if change or len(found) > 1:
            self._sum()
        return change

    def replace(self, text: Sliceable, start: int, n_removed: int, n_inserted: int) -> None:
        """Follow an edit.

        Args:
            text: The whole line after it.
            start: The column where it happened.
            n_removed: Characters removed there.
            n_inserted: Characters inserted there.
        """
        first, last = self.part_of(start), self.part_of(start + n_removed)
        n_chars = self.starts[last + 1] - self.starts[first] + n_inserted - n_removed
        if n_chars < self.PART_SIZE // 4:
            # Parts must not get too small: join it with a neighbor.
            if last + 1 < len(self._parts):
                last += 1
            else:
                first = max(0, first - 1)
        begin = self.starts[first]
        end = self.starts[last + 1] + n_inserted - n_removed
        self._parts[first : last + 1] = self._cut(text, begin, end)
        self._sum()

    def _cut(self, line: Sliceable, begin: int, end: int) -> Iterator[LinePart]:
        size = self.PART_SIZE
        if self._guesses and end - begin > _MOST_AT_ONCE * size:
            cut = self._safe_cut(line, begin + size)
            first = self._measure(line[begin:cut])
            yield first
            is_coarse = end - begin > 2 * _COARSE * size
            yield from self._guessed(line, cut, end, _COARSE * size if is_coarse else size, first)
            return
        text, begin, end = line[begin:end], 0, end - begin
        while end - begin > size + size // 2:
            cut = safe_cut(text, begin + size, size // _SEARCH_SHARE)
            yield self._measure(text[begin:cut])
            begin = cut
        yield self._measure(text[begin:])

    def _guessed(
        self, line: Sliceable, begin: int, end: int, step: int, like: LinePart
    ) -> Iterator[LinePart]:
        """Yield parts of about `step` characters, with sizes estimated from another part."""
        while begin < end:
            is_last = end - begin <= step + self.PART_SIZE // 2
            cut = end if is_last else self._safe_cut(line, begin + step)
            extent = max(round((cut - begin) * like.extent / like.n_chars), 1)
            yield LinePart(cut - begin, extent, (), is_guess=True)
            begin = cut

    def _safe_cut(self, line: Sliceable, wanted: int) -> int:
        """Return where to cut; see `safe_cut`. Only the characters needed for it are read."""
        back = self.PART_SIZE // _SEARCH_SHARE
        return wanted - back + safe_cut(line[wanted - back : wanted + 1], back, back)

    def _sum(self) -> None:
        self.starts = list(accumulate(map(_N_CHARS, self._parts), initial=0))
        self.extents = list(accumulate(map(_EXTENT, self._parts), initial=0))


class KnownColumns(NamedTuple):
    """Columns of a laid out line that are now part of another one."""

    at: int
    """Their first column in the new line."""
    line: LongLine
    first: int
    last: int
    """The first column in the old line, and the one after the last."""


class WrappedLongLine(LongLine):
    """A long line with soft wrap. Its extent is counted in rows."""

    PART_SIZE = 4_096
    __slots__ = ()

    def _measure(self, text: str) -> LinePart:
        found = breaks(text, self._width, self._glyphs)
        return LinePart(len(text), len(found) + 1, found)

    def __len__(self) -> int:
        """Count the row breaks."""
        return self.extent - 1

    def row_of(self, column: int) -> int:
        """Return the row of a column of a laid out part."""
        part = self.part_of(column)
        return self.extents[part] + bisect_right(
            self._parts[part].breaks, column - self.starts[part]
        )

    def row_bounds(self, row: int) -> tuple[int, int]:
        """Return the first column of a row of a laid out part, and the one after its last."""
        part = self.part_at(row)
        begin, found = self.starts[part], self._parts[part].breaks
        place = row - self.extents[part]
        start = begin + found[place - 1] if place else begin
        end = begin + found[place] if place < len(found) else self.starts[part + 1]
        return start, end


class FlatLongLine(LongLine):
    """A long line in one row. Its extent is counted in cells."""

    PART_SIZE = 2_048
    __slots__ = ()

    def _measure(self, text: str) -> LinePart:
        width = len(text) if is_plain(text) else lay_out(text, self._glyphs).width
        return LinePart(len(text), width, ())
