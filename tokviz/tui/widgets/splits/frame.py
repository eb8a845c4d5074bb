"""Layout of the visible part of the gloss, independent of the length of the document.

The document is laid out in blocks: a *block* is a line or a part of `BLOCK_CHARS` characters of a
long line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from textual.strip import Strip

from tokviz.live.document import LiveDocument
from tokviz.tui.widgets.splits.gloss import (
    GlossPreToken,
    GlossRow,
    GlossStyles,
    Spans,
    TextRow,
    begins,
    difference_strip,
    label_columns,
    row_strip,
    text_rows,
)
from tokviz.tui.widgets.splits.rows import Row

BLOCK_CHARS = 1024


@dataclass(frozen=True, eq=False)
class Layout:
    """A laid out block, with character numbers counted from its start."""

    rows: tuple[GlossRow, ...]
    text_rows: tuple[TextRow, ...]
    shared: frozenset[int]
    """Characters at which a pre-token starts in every row."""
    differing: frozenset[int]
    """Characters at which rows differ."""


@lru_cache(maxsize=128)
def lay_out(text: str, rows: tuple[GlossRow, ...], width: int) -> Layout:
    """Lay out a block in `width` columns; equal blocks return the same object."""
    anywhere, shared, differing = begins(rows, len(text))
    parts = text_rows(text, anywhere, shared, width)
    return Layout(rows, tuple(parts), frozenset(shared), frozenset(differing))


@lru_cache(maxsize=128)
def text_row_strips(
    layout: Layout,
    index: int,
    label_width: int,
    spans: Spans,
    styles: GlossStyles,
    labelled: bool = True,
) -> tuple[Strip, ...]:
    """Draw a text row of a block: its gloss rows, and the differences below them."""
    text_row = layout.text_rows[index]
    below = difference_strip(text_row, layout.differing, label_width, styles)
    shared = layout.shared
    rows = (
        row_strip(row, text_row, shared, label_width, spans, styles, labelled=labelled)
        for row in layout.rows
    )
    return (*rows, below)


@dataclass(frozen=True, slots=True)
class GlossBlock:
    """A line or a part of a long line, at its place in the document."""

    start: int
    end: int
    layout: Layout

    def index_of(self, offset: int) -> int:
        """Return the text row that contains a character, the last one for the end of the block."""
        parts = self.layout.text_rows
        place = bisect_right(parts, offset - self.start, key=lambda part: part.start)
        return max(0, place - 1)


@dataclass(frozen=True, slots=True)
class Located:
    """A text row of a block."""

    block: GlossBlock
    index: int

    @property
    def text_row(self) -> TextRow:
        """The text row, with character numbers counted from the start of the block."""
        return self.block.layout.text_rows[self.index]

    @property
    def start(self) -> int:
        """The offset of the first character in the document."""
        return self.block.start + self.text_row.start

    @property
    def end(self) -> int:
        """The offset after the last character."""
        return self.block.start + self.text_row.end

    def pre_token_at(self, row: int, column: int) -> tuple[int, int] | None:
        """Return the characters of the pre-token drawn in a row at a column of the text."""
        char = self.text_row.char_at(column)
        if char is None:
            return None
        gloss = self.block.layout.rows[row]
        index = gloss.pre_token_of(char)
        start, end = (char, char + 1) if index is None else gloss.pre_tokens[index][:2]
        return self.block.start + start, self.block.start + end


@dataclass(frozen=True, slots=True)
class FrameLine:
    """A line of the view: gloss row `row` of a text row, or the differences below the last one."""

    strip: Strip
    place: Located
    row: int


class Gloss:
    """The gloss of a document for given rows and width, laid out on demand."""

    def __init__(
        self,
        live: LiveDocument,
        rows: Sequence[Row],
        width: int,
        starts_within: Callable[[str], Iterable[int]] | None = None,
    ) -> None:
        """Create a gloss.

        Args:
            live: The document.
            rows: The rows.
            width: The columns, including the labels.
            starts_within: Returns the characters of a pre-token, other than its first, at which
                tokens start; None if these are not shown.
        """
        self._live = live
        self._rows = rows
        self._starts_within = starts_within
        self.label_width = label_columns([row.title for row in rows], width)
        self._text_width = max(1, width - self.label_width)
        self._blocks: dict[int, GlossBlock] = {}

    @property
    def lines_per_text_row(self) -> int:
        """The lines that a text row takes in the view."""
        return len(self._rows) + 1

    def block_at(self, offset: int) -> GlossBlock:
        """Return the block that contains a character."""
        start, end = self._bounds(offset)
        block = self._blocks.get(start)
        if block is None:
            rows = tuple(self._row(row, start, end) for row in self._rows)
            layout = lay_out(self._live.text_in(start, end), rows, self._text_width)
            block = self._blocks[start] = GlossBlock(start, end, layout)
        return block

    def _bounds(self, offset: int) -> tuple[int, int]:
        live = self._live
        line, column = live.location(offset)
        line_start = live.line_start(line)
        line_end = live.line_start(line + 1) if line + 1 < live.n_lines else live.n_chars
        start = line_start + column // BLOCK_CHARS * BLOCK_CHARS
        if start == line_end and line_start < line_end:
            # The end of the text is after a full block.
            start -= BLOCK_CHARS
        return start, min(line_end, start + BLOCK_CHARS)

    def _row(self, row: Row, start: int, end: int) -> GlossRow:
        pre_tokens = [GlossPreToken(*pre_token) for pre_token in row.pre_tokens_in(start, end)]
        within = self._starts_within
        tokens = frozenset(
            one.start + char - start
            for one in pre_tokens
            if within is not None and 1 < one.end - one.start <= BLOCK_CHARS
            for char in within(self._live.text_in(one.start, one.end))
            if start <= one.start + char < end
        )
        return GlossRow(
            row.title,
            tuple(one._replace(start=one.start - start, end=one.end - start) for one in pre_tokens),
            tokens,
        )

    def text_row_at(self, offset: int) -> Located:
        """Return the text row that contains a character."""
        block = self.block_at(offset)
        return Located(block, block.index_of(offset))

    def from_text_row(self, offset: int) -> Iterator[Located]:
        """Yield text rows, starting with the one that contains a character."""
        block = self.block_at(offset)
        first = block.index_of(offset)
        while True:
            for index in range(first, len(block.layout.text_rows)):
                yield Located(block, index)
            if block.end >= self._live.n_chars:
                return
            block = self.block_at(block.end)
            first = 0

    def step(self, offset: int, n_rows: int) -> int:
        """Return the start of the text row a number of rows below or above; stop at the ends."""
        if n_rows > 0:
            walk = islice(self.from_text_row(offset), n_rows + 1)
            return [place.start for place in walk][-1]
        start = self.text_row_at(offset).start
        for _ in range(-n_rows):
            if start == 0:
                break
            start = self.text_row_at(start - 1).start
        return start


def frame(
    gloss: Gloss, anchor: int, height: int, spans: Spans, styles: GlossStyles
) -> list[FrameLine]:
    """Draw the lines of a view whose first text row contains the character `anchor`.

    The first text row of the view and of every block has labels.
    """
    lines: list[FrameLine] = []
    for place in gloss.from_text_row(anchor):
        if len(lines) >= height:
            break
        block = place.block
        marked = spans.within(block.start, block.end)
        labelled = not (lines and place.index)
        strips = text_row_strips(
            block.layout, place.index, gloss.label_width, marked, styles, labelled
        )
        lines += [FrameLine(strip, place, row) for row, strip in enumerate(strips)]
    return lines[:height]
