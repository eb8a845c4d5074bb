"""Cached drawing of a document's rows.

A row is drawn in two pure steps. `row_looks` returns the look of each character, a number: the hue
of its token, and bits for special tokens and marks. `paint` draws the text with these looks. Equal
input gives an equal strip, so the editor caches strips by the result of the first step.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip

from tokviz.live.changes import Change
from tokviz.live.document import BEGINS_INSIDE, LiveDocument, TokenSpan
from tokviz.text.glyphs import HIDDEN, NEWLINE, Glyphs
from tokviz.tui.palette import N_HUES, LookTable, TokenPalette
from tokviz.tui.widgets.editor.cells import Cells, lay_out
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument, RowPart

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer


# A look is a hue, PENDING or NO_TOKEN, and any of the bits.
PENDING: Final = N_HUES
NO_TOKEN: Final = N_HUES + 1
HUE_MASK: Final = 7
STAND_IN: Final = 8
"""A glyph that represents another character."""
SPLIT: Final = 16
"""A token border inside a cell or a wide character."""
SPECIAL: Final = 32
SELECTED: Final = 64
HOVERED: Final = 128
PINNED: Final = 256
CURSOR: Final = 512
BLURRED_CURSOR: Final = 1024
UNSTABLE: Final = 2048
"""A token at the end of the text that the next character may change."""


class Marks(NamedTuple):
    """Marks drawn over the tokens, as offsets of the document: the first, and after the last."""

    selection: tuple[int, int] = (0, 0)
    hover: tuple[int, int] = (0, 0)
    pin: tuple[int, int] = (0, 0)
    cursor: int = -1
    """The offset of the cell at the cursor, or -1."""
    focused: bool = True
    unstable: tuple[int, int] = (0, 0)
    """The unstable tokens at the end of the text, which the next character may change."""

    def spans(self) -> list[tuple[int, int]]:
        """List the characters that have marks."""
        places = (self.selection, self.hover, self.pin, self.unstable)
        return [(self.cursor, self.cursor + 1), *(place for place in places if any(place))]


def row_looks(
    start: int,
    n_chars: int,
    spans: Iterable[TokenSpan],
    specials: Container[int],
    marks: Marks,
) -> list[int]:
    """Return the look of each character of a row.

    Args:
        start: Offset of the row's first character in the document.
        n_chars: The number of characters, including a drawn line feed or a cursor after the text.
        spans: The tokens that overlap them, in order.
        specials: The ids of special tokens.
        marks: The marks drawn over them.
    """
    looks = [NO_TOKEN] * n_chars
    for span in spans:
        _set_hue(looks, span, start, specials)
    for (lo, hi), bit in (
        (marks.selection, SELECTED),
        (marks.hover, HOVERED),
        (marks.pin, PINNED),
        (marks.unstable, UNSTABLE),
    ):
        for index in range(max(lo - start, 0), min(hi - start, n_chars)):
            looks[index] |= bit
    if 0 <= marks.cursor - start < n_chars:
        looks[marks.cursor - start] |= CURSOR if marks.focused else BLURRED_CURSOR
    return looks


def _set_hue(looks: list[int], span: TokenSpan, start: int, specials: Container[int]) -> None:
    """Set the hue of a token's characters; a shared character keeps the first token's hue."""
    look = span.hue if span.hue >= 0 else PENDING
    if span.id in specials:
        look |= SPECIAL
    first = span.start - start
    own = first + 1 if span.split & BEGINS_INSIDE else first
    lo, hi = max(own, 0), min(span.end - start, len(looks))
    if lo < hi:
        looks[lo:hi] = [look] * (hi - lo)
    if span.split & BEGINS_INSIDE and 0 <= first < len(looks):
        looks[first] |= SPLIT


class LookStyles(LookTable):
    """Styles of looks in a palette."""

    def style_of(self, look: int) -> Style:
        """Compose the style of a look."""
        palette, hue = self.palette, look & HUE_MASK
        style = self.base
        if hue == PENDING:
            style += palette.pending
        elif hue != NO_TOKEN:
            style += palette.hues[hue]
            if look & STAND_IN:
                style += palette.dim[hue]
            if look & SPLIT:
                style += palette.split[hue]
        if look & SPECIAL:
            style += palette.special
        if look & UNSTABLE:
            # Without color an underline may be the style of a token, but no token is dim.
            style += Style(underline=True, dim=palette.mono or None)
        if look & HOVERED:
            style += palette.hover
        if look & PINNED:
            style += palette.pin
        if look & SELECTED:
            tint = palette.selected[hue] if hue < N_HUES else palette.selected_base
            style = self._over(style, tint)
        if look & CURSOR:
            style = self._over(style, palette.cursor)
        if look & BLURRED_CURSOR:
            style += palette.blurred_cursor
        return style

    def _over(self, style: Style, overlay: Style) -> Style:
        """Combine styles; without color, an overlay on reversed text is not reversed."""
        if self.palette.mono and style.reverse:
            return style + overlay + Style(reverse=False)
        return style + overlay


def paint(
    text: str,
    cells: Cells,
    looks: Sequence[int],
    glyphs: Glyphs,
    styles: LookStyles,
    width: int,
    first_cell: int = 0,
) -> Strip:
    """Draw a row.

    Args:
        text: The characters of the row, without a line feed.
        cells: Their layout.
        looks: Their looks, and one more for a line feed or a cursor after the text.
        glyphs: How characters are drawn.
        styles: The styles of looks.
        width: The cells of the strip.
        first_cell: The cell of the layout at which the strip starts.
    """
    n_cells = cells.width
    drawn = list(cells.glyphs)
    row = [
        look if glyph[:1] == char else look | STAND_IN
        for look, glyph, char in zip(looks, drawn, text, strict=False)
    ]
    _put_marks_on_letters(row, drawn)
    if len(looks) > len(text):
        has_token = looks[-1] & HUE_MASK != NO_TOKEN
        drawn.append(NEWLINE if has_token and glyphs.style.blanks else " ")
        row.append(looks[-1] | STAND_IN)
        n_cells += 1
    strip = Strip(_segments(row, drawn, styles), n_cells)
    if first_cell or n_cells > width:
        strip = strip.crop(first_cell, first_cell + width)
    return strip.adjust_cell_length(width, styles.base)


def _put_marks_on_letters(row: list[int], drawn: Sequence[str]) -> None:
    """Combine the look of a letter with those of the combining marks drawn in its cell."""
    base = 0
    for index, glyph in enumerate(drawn):
        if glyph:
            base = index
            continue
        mark, letter = row[index] & ~STAND_IN, row[base]
        if mark & HUE_MASK != letter & HUE_MASK:
            letter |= SPLIT
        row[base] = letter | mark & ~(HUE_MASK | SPECIAL)


def _segments(row: Sequence[int], drawn: Sequence[str], styles: LookStyles) -> list[Segment]:
    """Return segments of neighbors with the same look."""
    segments = []
    start = 0
    for index in range(1, len(row) + 1):
        if index == len(row) or (row[index] != row[start] and drawn[index]):
            segments.append(Segment("".join(drawn[start:index]), styles[row[start]]))
            start = index
    return segments


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
