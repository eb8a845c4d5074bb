"""Layout and drawing of the rows of the id grid. Pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tokviz.tui.widgets.fit import fit

if TYPE_CHECKING:
    from tokviz.tui.palette import TokenPalette

PENDING = "…"
_MIN_INDEX_DIGITS = 3
_MIN_CELLS_BESIDE_GUTTER = 3


class GridShape(NamedTuple):
    """The layout of a row, in columns.

    A row is `gutter` columns for the index of its first token (its last column is a gap; 0 columns
    if it does not fit), then `per_row` cells of `cell` columns, the last one of each a gap.
    """

    gutter: int
    cell: int
    per_row: int

    def index_at(self, x: int, row: int, n_tokens: int) -> int | None:
        """Return the token drawn at a column of a row, None if there is none."""
        place = (x - self.gutter) // self.cell
        if not 0 <= place < self.per_row:
            return None
        index = row * self.per_row + place
        return index if index < n_tokens else None


def grid_shape(width: int, n_vocab: int, n_tokens: int) -> GridShape:
    """Choose the cells so that every id fits and the columns are used evenly."""
    smallest = len(str(max(n_vocab - 1, 0))) + 1
    gutter = _index_width(n_tokens)
    if (width - gutter) // smallest < _MIN_CELLS_BESIDE_GUTTER:
        gutter = 0
    per_row = _round_number(max(1, (width - gutter) // smallest))
    roomy = (width - gutter) // per_row
    return GridShape(gutter, max(1, min(roomy, smallest + 2)), per_row)


def list_shape(width: int, n_tokens: int) -> GridShape:
    """Return the layout of a list: a token per row with its index, its id and its text."""
    gutter = min(_index_width(n_tokens), width // 3)
    return GridShape(gutter, max(1, width - gutter), 1)


def _index_width(n_tokens: int) -> int:
    return max(_MIN_INDEX_DIGITS, len(str(max(n_tokens - 1, 0)))) + 1


def _round_number(per_row: int) -> int:
    """Leave out one cell of a row if that makes the indexes of the rows rounder."""
    return per_row - 1 if per_row in (6, 11, 17, 21) else per_row


class GridRow(NamedTuple):
    """The content of a row. Equal rows are drawn the same."""

    first: int
    """The index of the first token."""
    tokens: tuple[tuple[int, int], ...]
    """The id and the hue of every token."""
    pending_after: frozenset[int] = frozenset()
    """Places followed by text that is not tokenized yet; -1 is before the first token."""
    hover: int | None = None
    """The place under the mouse."""
    pin: int | None = None
    """The place of the pinned token."""


class GridStyles(NamedTuple):
    """The styles of a row, and the special ids."""

    palette: TokenPalette
    base: Style
    dim: Style
    specials: frozenset[int] = frozenset()

    def token(self, row: GridRow, place: int) -> Style:
        """Return the style of one cell."""
        token_id, hue = row.tokens[place]
        style = self.base + self.palette.hues[hue % len(self.palette.hues)]
        if token_id in self.specials:
            style += self.palette.special
        if place == row.pin:
            style += self.palette.pin
        if place == row.hover:
            style += self.palette.hover
        return style


def grid_strip(row: GridRow, shape: GridShape, width: int, styles: GridStyles) -> Strip:
    """Draw a row of ids, each right-aligned in its cell."""
    segments = _gutter(row, shape, styles)
    for place, (token_id, _) in enumerate(row.tokens):
        segments.append(Segment(f"{token_id:>{shape.cell - 1}}", styles.token(row, place)))
        segments.append(_gap(row, place, styles))
    return Strip(segments).adjust_cell_length(width, styles.base)


def list_strip(
    row: GridRow, shape: GridShape, width: int, styles: GridStyles, id_width: int, label: str
) -> Strip:
    """Draw a row of the list: index, id and text of one token."""
    segments = _gutter(row, shape, styles)
    if row.tokens:
        style = styles.token(row, 0)
        segments.append(Segment(f"{row.tokens[0][0]:>{id_width}}", styles.dim))
        segments.append(Segment(" ", styles.base))
        room = width - shape.gutter - id_width - 2
        segments.append(Segment(fit(label, max(1, room)), style))
        segments.append(_gap(row, 0, styles))
    return Strip(segments).adjust_cell_length(width, styles.base)


def _gutter(row: GridRow, shape: GridShape, styles: GridStyles) -> list[Segment]:
    """Draw the index of the row's first token if it fits."""
    gap = _gap(row, -1, styles)
    if not shape.gutter:
        return [gap] if -1 in row.pending_after and not row.tokens else []
    index = f"{row.first:>{shape.gutter - 1}}" if row.tokens else " " * (shape.gutter - 1)
    return [Segment(index, styles.dim), gap]


def _gap(row: GridRow, place: int, styles: GridStyles) -> Segment:
    if place in row.pending_after:
        return Segment(PENDING, styles.base + styles.palette.pending)
    return Segment(" ", styles.base)
