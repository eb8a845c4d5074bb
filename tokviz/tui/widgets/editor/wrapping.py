"""Wrapped document: maps lines and columns to rows and cells of the screen, and back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import expm1
from typing import ClassVar, Final, NamedTuple, TypeAlias

from textual.geometry import Offset
from textual.widgets.text_area import Location, WrappedDocument

from tokviz.live.prefix_sums import ITEMS, Block, BlockList
from tokviz.text.glyphs import Glyphs
from tokviz.tui.widgets.editor.cells import TAB_WIDTH, Cells, breaks, lay_out
from tokviz.tui.widgets.editor.document import ExactDocument, LineChange
from tokviz.tui.widgets.editor.long_line import (
    FlatLongLine,
    KnownColumns,
    LongLine,
    Sliceable,
    WrappedLongLine,
)

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


_BLOCK_SIZE = 1 << 15
"""Characters of lines that are laid out together: more than a large terminal can show."""

_LONG_WRAPPED = 2 * WrappedLongLine.PART_SIZE
_LONG_FLAT = 2 * FlatLongLine.PART_SIZE


class RowPart(NamedTuple):
    """The characters of a row, or some of them."""

    line: int
    start: int
    """Column of the first character."""
    cell: int
    """Cell of the first character; not 0 if a long row was cut at the left."""
    text: str
    cells: Cells
    """The layout of `text` from cell 0."""

    @property
    def end(self) -> int:
        """Column after the last character."""
        return self.start + len(self.text)


def _known_columns(
    line: LineBreaks, first: int, last: int | None, at: int | None = None
) -> list[KnownColumns]:
    """Return columns of a line that are now part of another one, if the line is a long one."""
    if not isinstance(line, LongLine):
        return []
    return [
        KnownColumns(
            first if at is None else at, line, first, line.starts[-1] if last is None else last
        )
    ]


class ExactWrappedDocument(WrappedDocument):
    """Wraps an `ExactDocument`; width 0 means no wrapping.

    The document notifies it of every change, so `wrap_range`, which the text area calls after an
    edit, does nothing. With `on_laid_out`, lines are laid out when they are needed; before that,
    their number of rows is estimated.
    """

    document: ExactDocument

    def __init__(
        self,
        document: ExactDocument,
        width: int,
        glyphs: Glyphs,
        on_laid_out: Callable[[int, int], None] | None = None,
    ) -> None:
        """Wrap a document.

        Args:
            document: The document.
            width: The cells of a row, 0 for no wrapping.
            glyphs: The glyphs of characters.
            on_laid_out: Called when lines have more or fewer rows than estimated: their first row,
                how many more. Without it all lines are laid out at once.
        """
        self.glyphs = glyphs
        self._on_laid_out = on_laid_out
        document.follower = self
        super().__init__(document, width, TAB_WIDTH)

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Wrap all lines."""
        self.width = width
        """The cells of a row, 0 for no wrapping."""
        self.widest = 0
        """The cells of the widest row laid out so far; edits do not make it smaller."""
        self._rows = RowIndex(self._guessed(0, self.document.line_count), self._laid_out)
        self._lay_out_more()
        if self._on_laid_out:
            self._rows.lay_out_block(0)
            self._rows.on_laid_out = self._on_laid_out

    def _lay_out_more(self) -> None:
        if self._on_laid_out is None:
            self._rows.lay_out_all()

    def _guessed(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Estimate the rows of lines, by blocks: the number of lines, the number of rows."""
        for n_lines, n_cells in self.document.live.line_blocks(first, last, _BLOCK_SIZE):
            # The average if line lengths are distributed exponentially.
            filled = self.width * n_lines / max(n_cells, 1)
            yield n_lines, round(-n_lines / expm1(-filled)) if filled else n_lines

    def _laid_out(self, first: int, last: int) -> list[Line]:
        """Lay out the lines first to last."""
        live = self.document.live
        if live.line_end(last - 1) - live.line_start(first) > 2 * _BLOCK_SIZE:  # one is a long one
            return [self._line(number, ()) for number in range(first, last)]
        return self._lines(live.lines(first, last))

    def _lines(self, texts: list[str]) -> list[Line]:
        if not self.width:
            short = (text for text in texts if len(text) <= self._long_from)
            self.widest = max(self.widest, *(lay_out(text, self.glyphs).width for text in short), 0)
        found = self._broken(texts)
        return [
            self._noted(Line("" if isinstance(breaks, LongLine) else text, breaks))
            for text, breaks in zip(texts, found, strict=True)
        ]

    def _line(self, number: int, known: Iterable[KnownColumns]) -> Line:
        """Lay out a line, of which some columns are known if it is a long one."""
        text = self.document.line(number)
        if len(text) <= self._long_from:
            return self._lines([text[:]])[0]
        return self._noted(Line("", self._long_line(text, known)))

    def _noted(self, line: Line) -> Line:
        if isinstance(line.breaks, FlatLongLine):
            self.widest = max(self.widest, line.breaks.extent)
        return line

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Do nothing, because `after_change` has followed the change."""

    def reload(self) -> None:
        """Wrap another text."""
        self.wrap(self.width)

    def before_change(self, first: int, last: int) -> None:
        """Lay out the lines that a replacement needs, before it changes them."""
        self._rows.prepare(first, last)

    def after_change(self, change: LineChange) -> None:
        """Wrap the changed lines again; of a long line only the changed parts."""
        first = change.first
        old, text = self._rows.line(first).breaks, self.document.line(first)
        if (
            isinstance(old, LongLine)
            and first == change.last
            and change.n_lines == 1
            and len(text) > self._long_from // 2
        ):
            old.replace(text, change.column, change.n_removed, len(change.inserted))
            self._rows.replace(first, first, [self._noted(Line("", old))])
        else:
            self._wrap_lines(change)

    def _wrap_lines(self, change: LineChange) -> None:
        """Wrap the changed lines, except for unchanged columns of long ones."""
        first, column, inserted = change.first, change.column, change.inserted
        last = first + change.n_lines - 1
        end = column + len(inserted) if first == last else len(inserted) - inserted.rfind("\n") - 1
        # A combining mark may belong to the character before, so adjacent parts are laid out too.
        head = _known_columns(self._rows.line(first).breaks, 0, column - 1)
        tail = _known_columns(self._rows.line(change.last).breaks, change.last_column, None, at=end)
        if first == last:
            self._rows.replace(first, change.last, [self._line(first, [*head, *tail])])
            return
        top, bottom = self._line(first, head), self._line(last, tail)
        if len(inserted) > _BLOCK_SIZE and last - first > 1:
            middle = RowIndex.estimated(self._guessed(first + 1, last))
            self._rows.replace(first, change.last, [top], middle, [bottom])
            self._lay_out_more()
        else:
            between = self._lines(inserted.split("\n")[1:-1]) if last - first > 1 else []
            self._rows.replace(first, change.last, [top, *between, bottom])

    @property
    def _long_from(self) -> int:
        return _LONG_WRAPPED if self.width else _LONG_FLAT

    def _broken(self, lines: list[str]) -> list[LineBreaks]:
        width, glyphs, long_from = self.width, self.glyphs, self._long_from
        if not width:
            return [self._long_line(line) if len(line) > long_from else () for line in lines]
        return [
            self._long_line(line) if len(line) > long_from else breaks(line, width, glyphs)
            for line in lines
        ]

    def _long_line(self, line: Sliceable, known: Iterable[KnownColumns] = ()) -> LongLine:
        guesses = self._on_laid_out is not None
        kind = WrappedLongLine if self.width else FlatLongLine
        return kind(line, self.width, self.glyphs, known, guesses=guesses)

    # -- sizes

    def line_length(self, number: int) -> int:
        """Return the number of characters of a line."""
        return self._rows.line(number).n_chars

    @property
    def height(self) -> int:
        """The number of rows."""
        return self._rows.n_rows

    @property
    def wrapped(self) -> bool:
        """Whether any line takes more than one row."""
        return self._rows.n_rows != self._rows.n_lines

    # -- rows

    @property
    def layout(self) -> object:
        """An object that is replaced when all lines are wrapped again."""
        return self._rows

    def line_at(self, row: int) -> tuple[int, int]:
        """Return the line of a row, and the row's number in the line."""
        while True:
            line, section = self._rows.line_at(row)
            found = self._rows.line(line).breaks
            if not isinstance(found, WrappedLongLine):
                return line, section
            if not self._lay_out_part(line, found, found.part_at(section)):
                return line, section

    def _lay_out_part(self, line: int, found: LongLine, part: int) -> bool:
        """Lay out a part of a long line; return False if it was laid out already."""
        if not found.is_guess(part):
            return False
        change = found.lay_out_part(part, self.document.line(line))
        if isinstance(found, FlatLongLine) and change:
            self.widest = max(self.widest, found.extent)
            self._rows.grow(line, 0, 0)
        elif change:
            self._rows.grow(line, found.extents[part], change)
        return True

    def _lay_out_around(self, line: int, found: LongLine, column: int) -> int:
        """Lay out the part that contains a column, and return its number."""
        while self._lay_out_part(line, found, part := found.part_of(column)):
            pass
        return part

    def row_part(self, row: int, first_cell: int = 0, n_cells: int = 0) -> RowPart:
        """Return the characters of a row, from 0 to height - 1; see `section_part`."""
        return self.section_part(*self.line_at(row), first_cell, n_cells)

    def section_part(self, line: int, section: int, first_cell: int, n_cells: int) -> RowPart:
        """Return the characters of a row of a line.

        Args:
            line: The line.
            section: The number of the row in the line.
            first_cell: Characters of an unwrapped long line before this cell may be left out.
            n_cells: Characters after this many cells may be left out too.
        """
        part = self._part(line, section, first_cell, first_cell + n_cells)
        if isinstance(self._rows.line(line).breaks, FlatLongLine):
            return _cropped(part, first_cell, n_cells)
        return part

    def _part(self, line: int, section: int, first_cell: int, last_cell: int) -> RowPart:
        found = self._rows.line(line).breaks
        if isinstance(found, FlatLongLine):
            return self._flat_part(line, found, first_cell, last_cell)
        start, end = self._bounds(line, section)
        text = self._text(line)[start:end]
        return RowPart(line, start, 0, text, lay_out(text, self.glyphs))

    def _flat_part(
        self, line: int, found: FlatLongLine, first_cell: int, last_cell: int
    ) -> RowPart:
        """Return the characters of an unwrapped long line between two cells."""
        first, last = found.part_at(max(0, first_cell)), found.part_at(max(0, last_cell))
        while any([self._lay_out_part(line, found, part) for part in range(first, last + 1)]):
            first, last = found.part_at(max(0, first_cell)), found.part_at(max(0, last_cell))
        begin = found.starts[first]
        text = self._text(line)[begin : found.starts[last + 1]]
        glyphs: list[str] = []
        starts: list[int] = [0]
        for part in range(first, last + 1):
            one = text[found.starts[part] - begin : found.starts[part + 1] - begin]
            cells = lay_out(one, self.glyphs)
            glyphs += cells.glyphs
            starts += [starts[-1] + cell for cell in cells.starts[1:]]
        return RowPart(line, begin, found.extents[first], text, Cells(glyphs, starts))

    def _text(self, line: int) -> Sliceable:
        """Return a line's text."""
        text, found = self._rows.line(line)
        return self.document.line(line) if isinstance(found, LongLine) else text

    def _bounds(self, line: int, section: int) -> tuple[int, int]:
        """Return the first column of a row of a line, and the one after its last."""
        found = self._rows.line(line).breaks
        if isinstance(found, WrappedLongLine):
            return found.row_bounds(self._section(line, section))
        length = self.line_length(line)
        if isinstance(found, LongLine):
            return 0, length
        start = found[section - 1] if section else 0
        return start, found[section] if section < len(found) else length

    def _section(self, line: int, section: int) -> int:
        """Lay out a row of a line, counted from the end if negative, and return its number."""
        found = self._rows.line(line).breaks
        while True:
            n_sections = len(found) + 1
            number = min(section + n_sections if section < 0 else section, n_sections - 1)
            if not isinstance(found, WrappedLongLine):
                return number
            if not self._lay_out_part(line, found, found.part_at(number)):
                return number

    def _section_of(self, line: int, column: int) -> int:
        """Return the row of a line that a column is in."""
        found = self._rows.line(line).breaks
        if isinstance(found, WrappedLongLine):
            self._lay_out_around(line, found, column)
            return found.row_of(column)
        return 0 if isinstance(found, LongLine) else bisect_right(found, column)

    def row_bounds(self, location: Location) -> tuple[int, int, bool]:
        """Return the bounds of a location's row in columns, and whether it ends the line."""
        line, column = location
        section = self._section_of(line, column)
        start, end = self._bounds(line, section)
        return start, end, section == len(self._rows.line(line).breaks)

    # -- between locations and cells

    def visitable(self, location: Location) -> Location:
        """Move a location from a mark inside a letter's cell to the letter."""
        line, column = self._clamped(location)
        part = self._part_at(line, column)
        return line, part.start + part.cells.visitable(column - part.start)

    def after(self, location: Location) -> Location:
        """Return the next location on the line that is drawn in another cell."""
        line, column = self._clamped(location)
        part = self._part_at(line, column)
        glyphs, index = part.cells.glyphs, column - part.start + 1
        while index < len(glyphs) and not glyphs[index]:
            index += 1
        return line, part.start + index

    def location_to_offset(self, location: Location) -> Offset:
        """Return the cell that a location is drawn at."""
        line, column = self._clamped(location)
        part = self._part_at(line, column)
        index = part.cells.visitable(column - part.start)
        row = self._rows.top(line) + self._section_of(line, column)
        return Offset(part.cell + part.cells.starts[index], row)

    def offset_to_location(self, offset: Offset) -> Location:
        """Return the location drawn at a cell, or the nearest one of its row."""
        row = max(0, min(offset.y, self.height - 1))
        line, section = self.line_at(row)
        return line, self.get_target_document_column(line, offset.x, section)

    def get_target_document_column(self, line_index: int, x_offset: int, y_offset: int) -> int:
        """Return the column drawn at a cell of a line's row; negative rows count from the end."""
        section = self._section(line_index, y_offset)
        n_sections = len(self._rows.line(line_index).breaks) + 1
        part = self._part(line_index, section, x_offset, x_offset)
        index = part.cells.index_at(x_offset - part.cell)
        if index == len(part.text) and section < n_sections - 1:
            # The location after the last character is in the next row.
            index = part.cells.visitable(max(0, index - 1))
        return part.start + index

    def _part_at(self, line: int, column: int) -> RowPart:
        found = self._rows.line(line).breaks
        if isinstance(found, FlatLongLine):
            number = self._lay_out_around(line, found, column)
            cell = found.extents[number]
            return self._part(line, 0, cell, cell)
        return self._part(line, self._section_of(line, column), 0, 0)

    def _clamped(self, location: Location) -> Location:
        line = max(0, min(location[0], self._rows.n_lines - 1))
        return line, max(0, min(location[1], self.line_length(line)))


def _cropped(part: RowPart, first_cell: int, n_cells: int) -> RowPart:
    """Leave out the characters before a cell and after a number of cells."""
    first = part.cells.index_at(first_cell - part.cell)
    last = part.cells.index_at(first_cell + n_cells - part.cell) + 1
    glyphs, starts = part.cells
    # A letter's marks stay with it.
    while last < len(glyphs) and not glyphs[last]:
        last += 1
    cell = starts[first]
    return RowPart(
        part.line,
        part.start + first,
        part.cell + cell,
        part.text[first:last],
        Cells(glyphs[first:last], [start - cell for start in starts[first : last + 1]]),
    )
