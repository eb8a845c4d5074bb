"""Draw a text once for every way to split it, one row below the other.

All rows share their columns: where a pre-token (or a token) starts in any row, every row has a
column for the mark. So the same text is at the same columns in each row, and a boundary that only
some rows have is easy to see.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tokviz.text.glyphs import SHOWN, display
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.fit import fit_name

MARK = "▏"
"""Start of a pre-token in every row."""
LONE_MARK = "▌"
"""Start of a pre-token in only some rows."""
GAP_MARK = "×"
"""Start of text that the regex does not match."""
JOINT = "‿"
"""Start of a pre-token in another row."""
DIFFERENCE = "▲"
"""Mark below a boundary that the rows do not share."""
TOKEN_MARK = "╎"
"""Start of a token within a pre-token."""

_LEGENDS = (
    ("{} every row cuts", "{} only some rows cut", "{} no cut", "{} not matched", "{} rows differ"),
    ("{} all cut", "{} some cut", "{} no cut", "{} no match", "{} differ"),
)
LEGEND_LINES = 2

LABEL_COLUMNS = 9
"""Columns for labels in a narrow view; in a wide one they may take a sixth."""


class GlossPreToken(NamedTuple):
    """A pre-token or a token of a row.

    Attributes:
        start: Its first character.
        end: The character after it.
        gap: Whether it is text that a regex does not match.
        hue: Its hue, -1 for two alternating ones.
        inner: The bytes of each token, if tokens that divide a character are shown as one.
    """

    start: int
    end: int
    gap: bool = False
    hue: int = -1
    inner: tuple[int, ...] = ()


class Cell(NamedTuple):
    """A character's glyph at a column, or (empty glyph) the space for a mark before it."""

    column: int
    char: int
    """Its number in the text that was laid out."""
    glyph: str


@dataclass(frozen=True, slots=True)
class TextRow:
    """The characters of a row of the view.

    Attributes:
        start: Number of the first character.
        end: Number after the last one.
        cells: The content of the row, from left to right.
    """

    start: int
    end: int
    cells: tuple[Cell, ...]

    def char_at(self, column: int) -> int | None:
        """Return the character whose glyph or mark is at a column, None if there is none."""
        for cell in reversed(self.cells):
            if cell.column <= column:
                return cell.char if column < cell.column + max(1, cell_len(cell.glyph)) else None
        return None


def text_rows(
    text: str, marks: Collection[int], breaks: Collection[int], width: int
) -> list[TextRow]:
    """Lay out a text in rows.

    A full row ends before the last break if it is then at least half full.

    Args:
        text: A line or a part of one.
        marks: The characters at which a pre-token starts in any row.
        breaks: The characters at which a pre-token starts in every row.
        width: Columns of a row.

    Returns:
        The rows; an empty text has one.
    """
    glyphs = display(text, SHOWN)
    sizes = [cell_len(glyph) + (index in marks) for index, glyph in enumerate(glyphs)]
    rows = [
        TextRow(first, last, _cells(glyphs, marks, first, last))
        for first, last in _wrap(sizes, breaks, width)
    ]
    return rows or [TextRow(0, 0, ())]


def _wrap(sizes: Sequence[int], breaks: Collection[int], width: int) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    first = column = 0
    good_end = 0
    for index, size in enumerate(sizes):
        while column + size > width and index > first:
            last = good_end if good_end > first else index
            rows.append((first, last))
            first = last
            column = sum(sizes[first:index])
        if index in breaks and column >= width // 2:
            good_end = index
        column += size
    if sizes:
        rows.append((first, len(sizes)))
    return rows


def _cells(
    glyphs: Sequence[str], marks: Collection[int], first: int, last: int
) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    column = 0
    for index in range(first, last):
        if index in marks:
            cells.append(Cell(column, index, ""))
            column += 1
        cells.append(Cell(column, index, glyphs[index]))
        column += cell_len(glyphs[index])
    return tuple(cells)


class GlossStyles:
    """The styles of the gloss, derived from the palette for tokens.

    Attributes:
        base: Outside the text.
        label: The name of a row, and the legend.
        hues: Pre-tokens and tokens.
        glyphs: Glyphs that represent other characters, on each hue.
        split: Characters that several tokens divide, on each hue.
        turns: The two alternating hues of pre-tokens.
        pending: Text whose pre-tokens are not known.
        gap: Text that the regex does not match.
        mark: Drawn over a boundary of every row.
        lone_mark: Drawn over any other boundary.
        difference: The marks below boundaries that the rows do not share.
        hover: Drawn over the token under the mouse.
        pin: Drawn over the token at the cursor.
    """

    def __init__(self, palette: TokenPalette) -> None:
        """Derive the styles."""
        self.turns = (0, 1) if palette.mono else (0, 2)
        self.base = palette.base
        self.label = self.pending = palette.pending
        on = tuple(zip(palette.hues, palette.dim, palette.split, strict=True))
        self.hues = palette.hues
        self.glyphs = tuple(hue + dim for hue, dim, _ in on)
        self.split = tuple(hue + split for hue, _, split in on)
        self.gap = palette.gap
        self.mark = Style(color=palette.pending.color, dim=palette.mono)
        self.lone_mark = Style(color=palette.pin.bgcolor, bold=True)
        self.difference = palette.base + self.lone_mark
        self.hover = palette.hover
        self.pin = palette.pin


@dataclass(frozen=True, slots=True)
class Spans:
    """The characters of the token under the mouse and of the pinned token; empty for none."""

    hover: range = range(0)
    pin: range = range(0)

    def style(self, char: int, styles: GlossStyles) -> Style | None:
        """Return the style drawn over a character, None for none."""
        if char in self.hover:
            return styles.hover
        return styles.pin if char in self.pin else None

    def within(self, start: int, end: int) -> Spans:
        """Return the parts between two characters, counted from the first of them."""
        return Spans(_clipped(self.hover, start, end), _clipped(self.pin, start, end))


def _clipped(span: range, start: int, end: int) -> range:
    first, last = max(span.start, start), min(span.stop, end)
    return range(first - start, last - start) if first < last else range(0)


@dataclass(frozen=True, slots=True)
class GlossRow:
    """A row of the gloss: the pre-tokens that overlap a block, counted from its start."""

    label: str
    pre_tokens: tuple[GlossPreToken, ...]
    tokens: frozenset[int] = frozenset()
    """Characters at which a token starts within a pre-token, if tokens are shown."""

    def pre_token_of(self, char: int) -> int | None:
        """Return the index of the pre-token that contains a character; None if it is not known."""
        index = bisect_right(self.pre_tokens, char, key=lambda pre_token: pre_token.start) - 1
        if index < 0 or self.pre_tokens[index].end <= char:
            return None
        return index


def begins(rows: Sequence[GlossRow], n_chars: int) -> tuple[set[int], set[int], set[int]]:
    """Compare the starts of pre-tokens in a block.

    At a character whose pre-token a row does not know, that row is ignored.

    Returns:
        The characters at which a pre-token starts in any row, those in every row, and those at
        which rows differ.
    """
    starts = [
        {
            pre_token.start: pre_token.inner
            for pre_token in row.pre_tokens
            if 0 <= pre_token.start < n_chars
        }
        for row in rows
    ]
    anywhere: set[int] = set().union(*starts)
    lacking = [
        {char for char in anywhere.difference(found) if row.pre_token_of(char) is not None}
        for row, found in zip(rows, starts, strict=True)
    ]
    divided = {char for found in starts for char, inner in found.items() if inner}
    otherwise = {
        char for char in divided if len({found[char] for found in starts if char in found}) > 1
    }
    shared, within = anywhere.difference(*lacking), (row.tokens for row in rows)
    return anywhere.union(*within), shared, otherwise.union(*lacking)


def legend(width: int, *, tokens: bool) -> str:
    """Explain the marks, in the longest form that fits in `LEGEND_LINES` lines of a width."""
    marks = MARK, LONE_MARK, JOINT, GAP_MARK, DIFFERENCE
    text = ""
    for words in _LEGENDS:
        parts = [part.format(mark) for part, mark in zip(words, marks, strict=True)]
        lines = [""]
        for part in [*parts, f"{TOKEN_MARK} token"] if tokens else parts:
            longer = f"{lines[-1]}  {part}".lstrip()
            if cell_len(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(part)
        text = "\n".join(filter(None, lines))
        if len(lines) <= LEGEND_LINES:
            break
    return text


def label_columns(labels: Sequence[str], width: int = 0) -> int:
    """Return the columns of the labels, with a space after them."""
    return min(max(LABEL_COLUMNS, width // 6), max(map(len, labels), default=0) + 1)


def row_strip(
    row: GlossRow,
    text_row: TextRow,
    shared: Collection[int],
    label_width: int,
    spans: Spans,
    styles: GlossStyles,
    *,
    labelled: bool = True,
) -> Strip:
    """Draw a gloss row of a text row.

    Args:
        row: The row.
        text_row: The characters, laid out.
        shared: The characters at which a pre-token starts in every row.
        label_width: Columns of the label.
        spans: The marked tokens.
        styles: The styles.
        labelled: Whether the row has its label.
    """
    label = fit_name(row.label if labelled else "", label_width - 1).ljust(label_width)
    segments = [Segment(label, styles.label)]
    segments += [_drawn(cell, row, shared, spans, styles) for cell in text_row.cells]
    return Strip(Segment.simplify(segments))


_STAND_INS = frozenset("·→⏎␍")


def _drawn(
    cell: Cell, row: GlossRow, shared: Collection[int], spans: Spans, styles: GlossStyles
) -> Segment:
    """Draw a glyph, or the column before a character: a boundary of this or another row."""
    index = row.pre_token_of(cell.char)
    pre_token = None if index is None else row.pre_tokens[index]
    if index is None or pre_token is None:
        ground = faint = styles.pending
    elif pre_token.gap:
        ground = faint = styles.gap
    else:
        hue = pre_token.hue if pre_token.hue >= 0 else styles.turns[index % 2]
        ground, faint = (styles.split if pre_token.inner else styles.hues)[hue], styles.glyphs[hue]
    if cell.glyph:
        style = faint if cell.glyph in _STAND_INS else ground
        overlay = spans.style(cell.char, styles)
        return Segment(cell.glyph, style if overlay is None else style + overlay)
    if pre_token is None:
        return Segment(" ", ground)
    if pre_token.start != cell.char:
        return Segment(TOKEN_MARK if cell.char in row.tokens else JOINT, faint)
    if pre_token.gap:
        return Segment(GAP_MARK, ground)
    if cell.char in shared:
        return Segment(MARK, ground + styles.mark)
    return Segment(LONE_MARK, ground + styles.lone_mark)


def difference_strip(
    text_row: TextRow, differing: Collection[int], label_width: int, styles: GlossStyles
) -> Strip:
    """Draw the row below a text row, which marks the boundaries that the rows do not share."""
    columns = {cell.column for cell in text_row.cells if not cell.glyph and cell.char in differing}
    if not columns:
        return Strip([])
    text = "".join(DIFFERENCE if column in columns else " " for column in range(max(columns) + 1))
    return Strip([Segment(" " * label_width, styles.base), Segment(text, styles.difference)])
