"""Draw a stretch of text once for every way to split it, one below the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tokviz.jobs.split_result import Piece
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.splits.layout import Stretch

MARK = "▏"
"""Where a piece begins in every row."""
LONE_MARK = "▌"
"""Where a piece begins that does not begin in every row."""
GAP_MARK = "×"
"""Where a stretch begins that the regex does not match."""
JOINT = "‿"
"""Where a piece goes on while one of another row begins."""
DIFFERENCE = "▲"
"""Below a boundary that the two named patterns do not share."""

MOST_LABEL_COLUMNS = 9


@dataclass(frozen=True, slots=True)
class Look:
    """The styles of the gloss, derived from the palette for tokens."""

    base: Style
    label: Style
    tints: tuple[Style, Style]
    glyphs: tuple[Style, Style]
    """For glyphs that stand for other characters, on each tint."""
    mark: Style
    lone_mark: Style
    gap: Style
    pending: Style
    difference: Style
    hover: Style
    pin: Style

    @classmethod
    def from_palette(cls, palette: TokenPalette) -> Look:
        """Choose two hues and the accents."""
        first, second = (0, 1) if palette.mono else (0, 2)
        accent = Style(color=palette.pin.bgcolor, bold=True)
        return cls(
            base=palette.base,
            label=palette.pending,
            tints=(palette.hues[first], palette.hues[second]),
            glyphs=(palette.dim[first], palette.dim[second]),
            mark=Style(color=palette.pending.color, dim=palette.mono),
            lone_mark=accent,
            gap=palette.gap,
            pending=palette.pending,
            difference=palette.base + accent,
            hover=palette.hover,
            pin=palette.pin,
        )


@dataclass(frozen=True, slots=True)
class Spans:
    """The tokens that are marked on every screen part: their characters, empty for none."""

    hover: range = range(0)
    pin: range = range(0)

    def style(self, char: int, look: Look) -> Style | None:
        """Return what to lay over a character."""
        if char in self.hover:
            return look.hover
        return look.pin if char in self.pin else None

    def within(self, start: int, end: int) -> Spans:
        """Give the parts between two characters, counted from the first of them."""
        return Spans(_clipped(self.hover, start, end), _clipped(self.pin, start, end))


def _clipped(span: range, start: int, end: int) -> range:
    first, last = max(span.start, start), min(span.stop, end)
    return range(first - start, last - start) if first < last else range(0)


@dataclass(frozen=True, slots=True)
class GlossRow:
    """One row of the gloss: the pieces that touch a block of text, counted from its start."""

    label: str
    pieces: tuple[Piece, ...]

    def piece_of(self, char: int) -> int | None:
        """Find the piece a character is in; None if that is not known."""
        index = bisect_right(self.pieces, char, key=lambda piece: piece.start) - 1
        if index < 0 or self.pieces[index].end <= char:
            return None
        return index


def begins(rows: Sequence[GlossRow], n_chars: int) -> tuple[set[int], set[int], set[int]]:
    """Compare where pieces begin in a block.

    A row that does not know about a character has no say about it.

    Returns:
        The characters at which a piece begins in any row, those in every row, and those in one of
        the first two rows but not in the other.
    """
    starts = [{piece.start for piece in row.pieces if 0 <= piece.start < n_chars} for row in rows]
    anywhere: set[int] = set().union(*starts)
    lacking = [
        {char for char in anywhere - found if row.piece_of(char) is not None}
        for row, found in zip(rows, starts, strict=True)
    ]
    differing: set[int] = set()
    if len(rows) > 1:
        differing = (starts[0] & lacking[1]) | (starts[1] & lacking[0])
    return anywhere, anywhere.difference(*lacking), differing


def label_columns(labels: Sequence[str]) -> int:
    """Return how many columns the labels take, with a blank behind them."""
    return min(MOST_LABEL_COLUMNS, max(map(len, labels), default=0) + 1)


def row_strip(
    row: GlossRow,
    stretch: Stretch,
    shared: Collection[int],
    label_width: int,
    spans: Spans,
    look: Look,
) -> Strip:
    """Draw one row of a stretch.

    Args:
        row: The row.
        stretch: The characters, laid out.
        shared: The characters at which a piece begins in every row.
        label_width: Columns of the label.
        spans: Tokens to point out.
        look: The styles.
    """
    label = fit(row.label, label_width - 1).ljust(label_width)
    segments = [Segment(label, look.label)]
    for cell in stretch.cells:
        index = row.piece_of(cell.char)
        if cell.glyph:
            segments.append(_glyph(cell.glyph, index, row, cell.char, spans, look))
        else:
            segments.append(_mark(index, row, cell.char, shared, look))
    return Strip(Segment.simplify(segments))


def _ground(index: int | None, row: GlossRow, look: Look) -> Style:
    if index is None:
        return look.pending
    return look.gap if row.pieces[index].gap else look.tints[index % 2]


def _glyph(
    glyph: str, index: int | None, row: GlossRow, char: int, spans: Spans, look: Look
) -> Segment:
    style = _ground(index, row, look)
    if glyph in _STAND_INS and index is not None and not row.pieces[index].gap:
        style += look.glyphs[index % 2]
    overlay = spans.style(char, look)
    return Segment(glyph, style if overlay is None else style + overlay)


_STAND_INS = frozenset("·→⏎␍")


def _mark(
    index: int | None, row: GlossRow, char: int, shared: Collection[int], look: Look
) -> Segment:
    """Draw the room before a character: a boundary of this row, or one of another row."""
    ground = _ground(index, row, look)
    if index is None:
        return Segment(" ", ground)
    piece = row.pieces[index]
    if piece.start != char:
        return Segment(JOINT, ground if piece.gap else ground + look.glyphs[index % 2])
    if piece.gap:
        return Segment(GAP_MARK, ground)
    if char in shared:
        return Segment(MARK, ground + look.mark)
    return Segment(LONE_MARK, ground + look.lone_mark)


def difference_strip(
    stretch: Stretch, differing: Collection[int], label_width: int, look: Look
) -> Strip:
    """Draw the row below a stretch: it points at the boundaries that the patterns do not share."""
    columns = {cell.column for cell in stretch.cells if not cell.glyph and cell.char in differing}
    if not columns:
        return Strip([])
    text = "".join(DIFFERENCE if column in columns else " " for column in range(max(columns) + 1))
    return Strip([Segment(" " * label_width, look.base), Segment(text, look.difference)])
