"""The wrapped document: between lines and columns, and rows and cells on the screen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from textual.document._document import Location
from textual.document._wrapped_document import WrappedDocument
from textual.geometry import Offset

from tokviz.glyphs import Glyphs
from tokviz.live.sums import Block
from tokviz.tui.widgets.editor.breaks import breaks, is_plain, width_bound
from tokviz.tui.widgets.editor.cells import TAB_WIDTH, Cells, lay_out
from tokviz.tui.widgets.editor.document import ExactDocument, LineChange
from tokviz.tui.widgets.editor.long_line import (
    FlatLongLine,
    LongLine,
    Stretch,
    WrappedLongLine,
)
from tokviz.tui.widgets.editor.rows import LineBreaks, RowIndex

_LONG_WRAPPED = 2 * WrappedLongLine.PART_SIZE
_LONG_FLAT = 2 * FlatLongLine.PART_SIZE


class RowPart(NamedTuple):
    """The characters of a line that stand in a row, or those of them that matter."""

    line: int
    start: int
    """Column of the first character."""
    cell: int
    """Cell of the first character; not 0 where a long row was cut at the left."""
    text: str
    cells: Cells
    """The layout of `text` from cell 0."""

    @property
    def end(self) -> int:
        """Column behind the last character."""
        return self.start + len(self.text)


class _Prepared(NamedTuple):
    """The lines of a text that is about to be inserted."""

    width: int
    glyphs: Glyphs
    inserted: str
    first: LineBreaks
    blocks: list[Block[LineBreaks]]
    """The lines between the first and the last."""
    last: LineBreaks
    widest: int


def _stretch(
    line: LineBreaks, first: int, last: int | None, at: int | None = None
) -> list[Stretch]:
    """Give what is known of a line's columns, which stand at a column of another one."""
    if not isinstance(line, LongLine):
        return []
    return [
        Stretch(first if at is None else at, line, first, line.starts[-1] if last is None else last)
    ]


def _inner(line: LineBreaks, column: int, *, ends: bool) -> list[Stretch]:
    """Give what stays of an inserted line among other text; `ends` if nothing follows it."""
    if not isinstance(line, LongLine):
        return []
    first, last = line.starts[1], line.starts[-1 if ends else -2]
    return _stretch(line, first, last, at=column + first)


class ExactWrappedDocument(WrappedDocument):
    """Wraps an `ExactDocument`; width 0 is no wrapping.

    It follows the document by itself: `wrap_range`, which the text area calls after an edit, has
    nothing left to do.
    """

    document: ExactDocument

    def __init__(self, document: ExactDocument, width: int, glyphs: Glyphs) -> None:
        """Wrap a document.

        Args:
            document: The document; its `on_change` is taken.
            width: The cells of a row, 0 for no wrapping.
            glyphs: How characters are drawn.
        """
        self.glyphs = glyphs
        self._prepared: _Prepared | None = None
        document.on_change = self._follow
        super().__init__(document, width, TAB_WIDTH)

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Wrap all lines."""
        self._width = width
        self._widest: int | None = None
        lines = self.document.lines
        self._rows = RowIndex((), list(self._blocks(lines, 0, len(lines))))

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Do nothing: the change was followed when the document told of it."""

    def _follow(self, change: LineChange) -> None:
        """Wrap the changed lines anew; of a long line only the changed parts."""
        prepared, self._prepared = self._prepared, None
        if prepared and prepared[:3] != (self._width, self.glyphs, change.inserted):
            prepared = None
        first, n_lines = change.first, change.n_lines
        old, line = self._rows.line(first), self.document.lines[first]
        if (
            isinstance(old, LongLine)
            and first == change.last
            and n_lines == 1
            and prepared is None
            and len(line) > self._long_from // 2
        ):
            old.replace(line, change.column, change.n_removed, len(change.inserted))
            self._rows.replace(first, first, [old])
        else:
            self._follow_anew(change, prepared)
        if prepared is None:
            self._widen(first, n_lines)
        elif self._widest is not None:
            self._widest = max(self._widest, prepared.widest)
            self._widen(first, 1)
            self._widen(first + n_lines - 1, 1)

    def _follow_anew(self, change: LineChange, prepared: _Prepared | None) -> None:
        """Wrap the changed lines but for what is known of long ones, or prepared."""
        first, column, inserted = change.first, change.column, change.inserted
        last = first + change.n_lines - 1
        lines = self.document.lines
        end = column + len(inserted) if first == last else len(inserted) - inserted.rfind("\n") - 1
        # A mark may follow that belongs to the character before: parts beside the edit are new.
        head = _stretch(self._rows.line(first), 0, column - 1)
        tail = _stretch(self._rows.line(change.last), change.last_column, None, at=end)
        if first == last:
            inner = _inner(prepared.first, column, ends=False) if prepared else []
            self._rows.replace(
                first, change.last, [self._broken_line(lines[first], [*head, *inner, *tail])]
            )
            return
        inner = _inner(prepared.first, column, ends=True) if prepared else []
        top = self._broken_line(lines[first], [*head, *inner])
        inner = _inner(prepared.last, 0, ends=False) if prepared else []
        bottom = self._broken_line(lines[last], [*inner, *tail])
        if prepared and prepared.blocks:
            self._rows.replace(first, change.last, [top], prepared.blocks, [bottom])
        else:
            middle = self._broken(lines[first + 1 : last])
            self._rows.replace(first, change.last, [top, *middle, bottom])

    def prepare_edit(self, inserted: str) -> None:
        """Break the lines of a text that is about to be inserted. For any thread."""
        width, glyphs = self._width, self.glyphs
        lines = self.document.prepare_edit(inserted)
        first, last = self._broken(lines[:1])[0], self._broken(lines[-1:])[0]
        blocks = list(self._blocks(lines, 1, len(lines) - 1))
        widest = 0 if width else max(width_bound(line, glyphs) for line in lines)
        self._prepared = _Prepared(width, glyphs, inserted, first, blocks, last, widest)

    def _blocks(self, lines: list[str], first: int, last: int) -> Iterator[Block[LineBreaks]]:
        """Break the lines from `first` to `last`, block by block."""
        size = RowIndex.usual_block
        for start in range(first, last, size):
            yield RowIndex.block(self._broken(lines[start : min(start + size, last)]))

    @property
    def _long_from(self) -> int:
        return _LONG_WRAPPED if self._width else _LONG_FLAT

    def _broken(self, lines: list[str]) -> list[LineBreaks]:
        width, glyphs, long_from = self._width, self.glyphs, self._long_from
        if not width:
            return [self._long_line(line) if len(line) > long_from else () for line in lines]
        together = "".join(lines)
        longest = len(together) if len(together) <= width else max(map(len, lines))
        if longest <= width and is_plain(together):
            return [()] * len(lines)
        # What a test takes is most of what most lines take.
        is_narrow = is_plain if "\t" in together else str.isascii
        return [
            ()
            if len(line) <= width and is_narrow(line)
            else breaks(line, width, glyphs)
            if len(line) <= long_from
            else self._long_line(line)
            for line in lines
        ]

    def _broken_line(self, line: str, known: Iterable[Stretch]) -> LineBreaks:
        """Break a line of which stretches are known if it is a long one."""
        return (
            self._long_line(line, known) if len(line) > self._long_from else self._broken([line])[0]
        )

    def _long_line(self, line: str, known: Iterable[Stretch] = ()) -> LongLine:
        if self._width:
            return WrappedLongLine(line, self._width, self.glyphs, known)
        return FlatLongLine(line, self.glyphs, known)

    # -- sizes

    @property
    def width(self) -> int:
        """The cells of a row, 0 for no wrapping."""
        return self._width

    @property
    def height(self) -> int:
        """The number of rows."""
        return self._rows.n_rows

    @property
    def wrapped(self) -> bool:
        """Whether any line takes more than one row."""
        return self._rows.n_rows != self._rows.n_lines

    @property
    def widest(self) -> int:
        """Cells that no row exceeds; worked out when asked for, and not made smaller by edits."""
        if self._widest is None:
            self._widest = 0
            self._widen(0, self._rows.n_lines)
        return self._widest

    def _widen(self, first: int, n_lines: int) -> None:
        if self._widest is None:
            return
        for number, line in enumerate(islice(self.document.lines, first, first + n_lines), first):
            known = self._rows.line(number)
            if isinstance(known, FlatLongLine):
                self._widest = max(self._widest, known.extent)
            else:
                self._widest = max(self._widest, width_bound(line, self.glyphs))

    # -- rows

    def row_part(self, row: int, first_cell: int = 0, n_cells: int = 0) -> RowPart:
        """Return the characters of a row.

        Args:
            row: A row, 0 to height - 1.
            first_cell: Of a long line that is not wrapped, characters before this cell and
            n_cells: behind this many cells may be left out.
        """
        line, section = self._rows.line_at(row)
        part = self._part(line, section, first_cell, first_cell + n_cells)
        if isinstance(self._rows.line(line), FlatLongLine):
            return _cropped(part, first_cell, n_cells)
        return part

    def _part(self, line: int, section: int, first_cell: int, last_cell: int) -> RowPart:
        found, text = self._rows.line(line), self.document.lines[line]
        if isinstance(found, FlatLongLine):
            return self._flat_part(line, text, found, first_cell, last_cell)
        start, end = self._bounds(line, section)
        text = text[start:end]
        return RowPart(line, start, 0, text, lay_out(text, self.glyphs))

    def _flat_part(
        self, line: int, text: str, found: FlatLongLine, first_cell: int, last_cell: int
    ) -> RowPart:
        """Lay out the parts of a long line between two cells, side by side."""
        first, last = found.part_at(max(0, first_cell)), found.part_at(max(0, last_cell))
        glyphs: list[str] = []
        starts: list[int] = [0]
        for part in range(first, last + 1):
            cells = lay_out(text[found.starts[part] : found.starts[part + 1]], self.glyphs)
            glyphs += cells.glyphs
            starts += [starts[-1] + cell for cell in cells.starts[1:]]
        start = found.starts[first]
        text = text[start : found.starts[last + 1]]
        return RowPart(line, start, found.extents[first], text, Cells(glyphs, starts))

    def _bounds(self, line: int, section: int) -> tuple[int, int]:
        """Return the first column of a row of a line and the one behind its last."""
        found = self._rows.line(line)
        if isinstance(found, WrappedLongLine):
            return found.row_bounds(section)
        length = len(self.document.lines[line])
        if isinstance(found, LongLine):
            return 0, length
        start = found[section - 1] if section else 0
        return start, found[section] if section < len(found) else length

    def _section_of(self, line: int, column: int) -> int:
        """Return the row of a line that a column is in."""
        found = self._rows.line(line)
        if isinstance(found, WrappedLongLine):
            return found.row_of(column)
        return 0 if isinstance(found, LongLine) else bisect_right(found, column)

    def row_bounds(self, location: Location) -> tuple[int, int, bool]:
        """Return the columns a location's row begins and ends at, and whether it ends the line."""
        line, column = location
        section = self._section_of(line, column)
        start, end = self._bounds(line, section)
        return start, end, section == len(self._rows.line(line))

    # -- between locations and cells

    def visitable(self, location: Location) -> Location:
        """Move a location from a mark inside a letter's cell to the letter."""
        line, column = self._clamped(location)
        part = self._part_at(line, column)
        return line, part.start + part.cells.visitable(column - part.start)

    def after(self, location: Location) -> Location:
        """Return the next location on the line whose cell is another one."""
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
        line, section = self._rows.line_at(row)
        return line, self.get_target_document_column(line, offset.x, section)

    def get_target_document_column(self, line_index: int, x_offset: int, y_offset: int) -> int:
        """Return the column drawn at a cell of a line's row; negative rows count from the end."""
        n_sections = len(self._rows.line(line_index)) + 1
        section = y_offset + n_sections if y_offset < 0 else y_offset
        part = self._part(line_index, section, x_offset, x_offset)
        index = part.cells.index_at(x_offset - part.cell)
        if index == len(part.text) and section < n_sections - 1:
            # Behind the last character is already the next row.
            index = part.cells.visitable(max(0, index - 1))
        return part.start + index

    def _part_at(self, line: int, column: int) -> RowPart:
        found = self._rows.line(line)
        if isinstance(found, FlatLongLine):
            cell = found.extents[found.part_of(column)]
            return self._part(line, 0, cell, cell)
        return self._part(line, self._section_of(line, column), 0, 0)

    def _clamped(self, location: Location) -> Location:
        line = max(0, min(location[0], self._rows.n_lines - 1))
        return line, max(0, min(location[1], len(self.document.lines[line])))

    # -- what else Textual may ask

    def get_sections(self, line_index: int) -> list[str]:
        """Return the rows of a line."""
        line = self.document.lines[line_index]
        bounds = [self._bounds(line_index, s) for s in range(len(self._rows.line(line_index)) + 1)]
        return [line[start:end] for start, end in bounds]

    def get_offsets(self, line_index: int) -> list[int]:
        """Return the columns that a line is broken at."""
        n_breaks = len(self._rows.line(line_index))
        return [self._bounds(line_index, section)[0] for section in range(1, n_breaks + 1)]

    def get_tab_widths(self, line_index: int) -> list[int]:
        """Return nothing: tabs are part of the layout of a row."""
        return []


def _cropped(part: RowPart, first_cell: int, n_cells: int) -> RowPart:
    """Leave out the characters before a cell and behind a number of cells."""
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
