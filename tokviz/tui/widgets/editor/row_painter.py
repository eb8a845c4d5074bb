"""Cached drawing of a document's rows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip

from tokviz.live.changes import Change
from tokviz.live.document import LiveDocument
from tokviz.live.spans import TokenSpan
from tokviz.text.glyphs import HIDDEN, Glyphs
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.editor.cells import lay_out
from tokviz.tui.widgets.editor.painting import (
    BLURRED_CURSOR,
    CURSOR,
    PENDING,
    LookStyles,
    Marks,
    paint,
    row_looks,
)
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument, RowPart

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

_STRIPS_KEPT = 512
_NOTHING = Change(0, 0, 0)
_READ_AT_ONCE = 256
"""Characters of the few rows that a key changes."""


class _Drawn(NamedTuple):
    """A drawn row, and its characters: the first, and the index after the last."""

    strip: Strip
    start: int
    end: int

    def overlaps(self, spans: list[tuple[int, int]]) -> bool:
        """Return whether any of some ranges contains a character of the row."""
        for lo, hi in spans:  # noqa: SIM110  # called for every row at every key
            if lo < self.end and hi > self.start:
                return True
        return False


_Rows = dict[tuple[int, int], _Drawn]
"""Rows by their line, and their number in the line."""


class _Frame(NamedTuple):
    """The state from which a frame was drawn."""

    around: tuple[object, ...]
    marks: Marks
    stage: int
    n_lines: int
    n_chars: int


class _KeptRows:
    """The rows of the last frame. Unchanged rows are not drawn again."""

    def __init__(self, live: LiveDocument) -> None:
        self._live = live
        self._frame: _Frame | None = None
        self._kept: _Rows = {}
        self._drawn: _Rows = {}

    def get(self, place: tuple[int, int]) -> _Drawn | None:
        """Return a row that was drawn in this frame, or unchanged in the previous one."""
        row = self._drawn.get(place)
        if row is None and (row := self._kept.get(place)) is not None:
            self._drawn[place] = row
        return row

    def add(self, place: tuple[int, int], row: _Drawn) -> None:
        """Add a row that was drawn in this frame."""
        self._drawn[place] = row

    def begin(self, around: tuple[object, ...], marks: Marks) -> None:
        """Start a frame, unless it is the current one.

        Args:
            around: Values that all rows depend on.
            marks: The marks drawn over the tokens.
        """
        live, before = self._live, self._frame
        if before is not None and before[:3] == (around, marks, live.stage):
            return
        self._frame = _Frame(around, marks, live.stage, live.n_lines, live.n_chars)
        drawn, self._drawn, self._kept = self._drawn, {}, {}
        if before is None or around != before.around:
            return
        change = live.token_changes.since(before.stage)
        if change is not None and change != _NOTHING:
            self._kept = self._followed(drawn, change, before, self._frame)
        elif change is not None:
            touched = marks.spans() + before.marks.spans()
            self._kept = {at: row for at, row in drawn.items() if not row.overlaps(touched)}

    def _followed(self, drawn: _Rows, change: Change, before: _Frame, now: _Frame) -> _Rows:
        """Return the rows of unchanged lines without marks, at their new places."""
        live = self._live
        first, _ = live.location(live.char_offset(change.start) - 1)
        last, _ = live.location(live.char_offset(change.new_end) + 1)
        more_lines, more_chars = now.n_lines - before.n_lines, now.n_chars - before.n_chars
        kept: _Rows = {}
        old_marks, new_marks = before.marks.spans(), now.marks.spans()
        for (line, section), row in drawn.items():
            if row.overlaps(old_marks) or first <= line <= last - more_lines:
                continue
            if line > first:
                line += more_lines
                row = row._replace(start=row.start + more_chars, end=row.end + more_chars)
            if not row.overlaps(new_marks):
                kept[line, section] = row
        return kept


class RowPainter:
    """Draws rows with their tokens; rows that look the same are the same strip object."""

    def __init__(
        self,
        live: LiveDocument,
        palette: TokenPalette,
        glyphs: Glyphs,
        looks: Callable[[int, int, Marks], list[int]] | None = None,
    ) -> None:
        """Create a painter.

        Args:
            live: The document.
            palette: The styles of tokens.
            glyphs: The glyphs of characters.
            looks: Returns the looks of a number of characters from an offset on, like `row_looks`;
                by default those of the document's own tokens.
        """
        self._live = live
        self._looks = looks or self._live_looks
        self._kept = None if looks else _KeptRows(live)
        self._palette = palette
        self._ground = Style.null()
        self._styles = LookStyles(palette, self._ground)
        self._strips: LRUCache[object, Strip] = LRUCache(_STRIPS_KEPT)
        self._tokenizer: Tokenizer | None = None
        self._specials: frozenset[int] = frozenset()
        self._read_for: Marks | None = None
        self._read = range(0)
        self._spans: list[TokenSpan] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.glyphs = glyphs
        """The glyphs of characters."""

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with another palette."""
        self._palette = palette
        self._restyle()

    def set_ground(self, ground: Style) -> None:
        """Draw over another base style, which is visible if the palette has no colors."""
        if ground != self._ground:
            self._ground = ground
            self._restyle()

    def _restyle(self) -> None:
        self._styles = LookStyles(self._palette, self._ground)
        self._strips.clear()

    def strip(
        self, wrapped: ExactWrappedDocument, row: int, first_cell: int, width: int, marks: Marks
    ) -> Strip:
        """Draw a row.

        Args:
            wrapped: The document.
            row: The row, counted from the first of the document.
            first_cell: Its first visible cell.
            width: The number of visible cells.
            marks: The marks drawn over the tokens.
        """
        if row >= wrapped.height:
            return self._blank(width)
        place = wrapped.line_at(row)
        if self._kept is None:
            return self._draw(wrapped, place, first_cell, width, marks).strip
        self._kept.begin((wrapped.layout, first_cell, width, self.glyphs, self._styles), marks)
        drawn = self._kept.get(place)
        if drawn is None:
            drawn = self._draw(wrapped, place, first_cell, width, marks)
            self._kept.add(place, drawn)
        return drawn.strip

    def _draw(
        self,
        wrapped: ExactWrappedDocument,
        place: tuple[int, int],
        first_cell: int,
        width: int,
        marks: Marks,
    ) -> _Drawn:
        part = wrapped.section_part(*place, first_cell, width)
        start = self._live.line_start(part.line) + part.start
        line_feed = self._has_line_feed(wrapped, part)
        n_chars = len(part.text) + line_feed
        looks = self._looks(start, n_chars, marks)
        if not line_feed and marks.cursor == start + n_chars == self._live.n_chars:
            # The cursor is after the text.
            looks += row_looks(start + n_chars, 1, (), (), marks)
        first_cell -= part.cell
        key: object = (part.text, tuple(looks), first_cell, width, id(self.glyphs))
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = paint(
                part.text, part.cells, looks, self.glyphs, self._styles, width, first_cell
            )
        return _Drawn(strip, start, start + len(part.text) + 1)

    def _live_looks(self, start: int, n_chars: int, marks: Marks) -> list[int]:
        end = start + n_chars
        if marks is not self._read_for or not self._read.start <= start <= end <= self._read.stop:
            # The tokens of all rows of a frame, which have the same marks, are read at once.
            self._read_for, self._read = marks, range(start, max(end, start + _READ_AT_ONCE))
            self._spans = self._live.tokens_in(start, self._read.stop)
            self._starts = [span.start for span in self._spans]
            self._ends = [span.end for span in self._spans]
        touching = slice(bisect_right(self._ends, start), bisect_left(self._starts, end))
        return row_looks(start, n_chars, self._spans[touching], self._special_ids(), marks)

    def hint(self, text: str, width: int, marks: Marks) -> Strip:
        """Draw the placeholder of an empty document, with the cursor on its first character."""
        looks = [PENDING] * len(text)
        looks[0] |= CURSOR if marks.focused else BLURRED_CURSOR
        return paint(text, lay_out(text, HIDDEN), looks, HIDDEN, self._styles, width)

    def offset_at(self, wrapped: ExactWrappedDocument, cell: int, row: int) -> int | None:
        """Return the offset of the character at a cell of a row, None if there is none."""
        part = wrapped.row_part(row, cell, 1)
        index = part.cells.index_at(cell - part.cell)
        n_chars = len(part.text) + self._has_line_feed(wrapped, part)
        if index >= n_chars or cell - part.cell > part.cells.width:
            return None
        return self._live.line_start(part.line) + part.start + index

    def _blank(self, width: int) -> Strip:
        strip = self._strips.get(width)
        if strip is None:
            strip = self._strips[width] = Strip.blank(width, self._styles.base)
        return strip

    def _has_line_feed(self, wrapped: ExactWrappedDocument, part: RowPart) -> bool:
        """Return whether a line feed follows a row's characters."""
        return part.line + 1 < self._live.n_lines and part.end == wrapped.line_length(part.line)

    def _special_ids(self) -> frozenset[int]:
        tokenizer = self._live.tokenizer
        if tokenizer is not self._tokenizer:
            self._tokenizer = tokenizer
            ids = tokenizer.special_tokens.values() if tokenizer else ()
            self._specials = frozenset(ids)
        return self._specials
