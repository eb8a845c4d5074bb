"""Draws rows of a document, and keeps what it drew."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip

from tokviz.glyphs import HIDDEN, Glyphs
from tokviz.live.document import LiveDocument
from tokviz.live.spans import TokenSpan
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
    from tokviz.tokenizer import Tokenizer

_STRIPS_KEPT = 512
_READ_AT_ONCE = 1024
"""Characters: several rows, and hardly more than are seen."""


class RowPainter:
    """Draws rows with their tokens; rows that look the same are the same strip."""

    def __init__(
        self,
        live: LiveDocument,
        palette: TokenPalette,
        glyphs: Glyphs,
        looks: Callable[[int, int, Marks], list[int]] | None = None,
    ) -> None:
        """Take the tokens, their look and that of characters.

        Args:
            live: The document.
            palette: How tokens look.
            glyphs: How characters are drawn.
            looks: Gives the looks of so many characters from an offset on, as `row_looks` does; by
                default those of the document's own tokens.
        """
        self._live = live
        self._looks = looks or self._live_looks
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
        """How characters are drawn."""

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with another palette."""
        self._palette = palette
        self._restyle()

    def set_ground(self, ground: Style) -> None:
        """Draw over another style; it shows where the palette has no colours."""
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
            first_cell: Its first cell that is visible.
            width: How many cells are visible.
            marks: What is drawn over the tokens.
        """
        if row >= wrapped.height:
            return self._blank(width)
        part = wrapped.row_part(row, first_cell, width)
        start = self._live.line_start(part.line) + part.start
        line_feed = self._has_line_feed(wrapped, part)
        n_chars = len(part.text) + line_feed
        looks = self._looks(start, n_chars, marks)
        if not line_feed and marks.cursor == start + n_chars == self._live.n_chars:
            # The cursor stands behind the text.
            looks += row_looks(start + n_chars, 1, (), (), marks)
        first_cell -= part.cell
        key: object = (part.text, tuple(looks), first_cell, width, id(self.glyphs))
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = paint(
                part.text, part.cells, looks, self.glyphs, self._styles, width, first_cell
            )
        return strip

    def _live_looks(self, start: int, n_chars: int, marks: Marks) -> list[int]:
        end = start + n_chars
        if marks is not self._read_for or not self._read.start <= start <= end <= self._read.stop:
            # The rows of a frame, which all have its marks, are asked for in one go.
            self._read_for, self._read = marks, range(start, max(end, start + _READ_AT_ONCE))
            self._spans = self._live.tokens_in(start, self._read.stop)
            self._starts = [span.start for span in self._spans]
            self._ends = [span.end for span in self._spans]
        touching = slice(bisect_right(self._ends, start), bisect_left(self._starts, end))
        return row_looks(start, n_chars, self._spans[touching], self._special_ids(), marks)

    @property
    def n_chars(self) -> int:
        """The characters of the document."""
        return self._live.n_chars

    def hint(self, text: str, width: int, marks: Marks) -> Strip:
        """Draw what an empty document says, with the cursor on its first character."""
        looks = [PENDING] * len(text)
        looks[0] |= CURSOR if marks.focused else BLURRED_CURSOR
        return paint(text, lay_out(text, HIDDEN), looks, HIDDEN, self._styles, width)

    def offset_at(self, wrapped: ExactWrappedDocument, cell: int, row: int) -> int | None:
        """Return the offset of the character at a cell of a row, None beside the text."""
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
        """Tell whether a line feed stands behind a row's characters."""
        return part.line + 1 < self._live.n_lines and part.end == len(wrapped.line(part.line))

    def _special_ids(self) -> frozenset[int]:
        tokenizer = self._live.tokenizer
        if tokenizer is not self._tokenizer:
            self._tokenizer = tokenizer
            ids = tokenizer.special_tokens.values() if tokenizer else ()
            self._specials = frozenset(ids)
        return self._specials
