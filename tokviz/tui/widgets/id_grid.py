"""The ids of the document's tokens, as a grid of numbers or as a list with their text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.strip import Strip

from tokviz.text.glyphs import token_label
from tokviz.tui.actions import action, bindings_of, declared_in
from tokviz.tui.messages import TokenHovered, TokenPicked
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.token_view import TokenView

if TYPE_CHECKING:
    from tokviz.live.document import LiveDocument, TokenSpan
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


_STRIPS_KEPT = 512
_MOST_CHARS = 8192
"""The most characters that drawing a few rows may encode."""
_EMPTY = " Token ids appear here as you type."


class IdGrid(TokenView):
    """The ids of a live document. Hovering and picking a token mark it in the text too."""

    PREFIX = "id-grid"
    COMPONENT_CLASSES: ClassVar[set[str]] = {"id-grid--dim"}
    DEFAULT_CSS = """
    IdGrid > .id-grid--dim {
        color: $text-muted;
    }
    """

    def __init__(self, live: LiveDocument, palette: TokenPalette) -> None:
        """Show the tokens of `live` as a grid of ids."""
        super().__init__()
        self.live = live
        self._palette = palette
        self.as_list = False
        """Whether each row shows one token with its text."""
        self._shape = GridShape(0, 1, 1)
        self._grid_styles: GridStyles | None = None
        self._id_width = 1
        self._strips: LRUCache[GridRow, Strip] = LRUCache(_STRIPS_KEPT)
        self._shaped_for: tuple[int, object] = (0, None)

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with another palette."""
        self._palette = palette
        self.restyle()

    def restyle(self) -> None:
        """Forget the drawn rows, and redraw."""
        self._forget_strips()
        super().restyle()

    def sync(self) -> None:
        """Show the document's tokens as they are now."""
        if not self.size:
            return
        self.live.ensure(0, 1)
        self._reshape()
        self.set_row_count(self._n_rows())
        self.refresh()

    def set_marks(self, hover: int | None, pin: int | None, *, scroll: bool = False) -> None:
        """Mark the token under the mouse and the pinned one; `scroll` scrolls to the latter."""
        self._hover, self.pinned = hover, pin
        self.refresh()
        if scroll and pin is not None and self.size:
            self.show_row(pin // self._shape.per_row)

    def render_line(self, y: int) -> Strip:
        """Draw a row of the view."""
        if self._shaped_for[0] != self.row_width:
            self._reshape()
        row = self.top_row + y
        styles = self._current_styles()
        contents = self._rows(range(row, row + 1)) if row < self._n_rows() else []
        if not contents:
            words = "" if row or self.live.n_chars else fit(_EMPTY, self.row_width)
            return Strip([Segment(words, styles.base + styles.dim)]).adjust_cell_length(
                self.size.width, styles.base
            )
        content = contents[0]
        strip = self._strips.get(content)
        if strip is None:
            strip = self._strips[content] = self._strip(content, styles)
        return strip

    def _strip(self, row: GridRow, styles: GridStyles) -> Strip:
        width = self.row_width
        if not self.as_list:
            return grid_strip(row, self._shape, width, styles)
        tokenizer = self.live.tokenizer
        label = ""
        if row.tokens and tokenizer is not None:
            label = token_label(tokenizer.token_bytes(row.tokens[0][0]))
        return list_strip(row, self._shape, width, styles, self._id_width, label)

    def _reshape(self) -> None:
        """Fit the cells to the width and the document."""
        made_for = (self.row_width, self.live.tokenizer)
        shape = self._new_shape()
        if shape != self._shape or made_for != self._shaped_for:
            self._shape, self._shaped_for = shape, made_for
            self._forget_strips()

    def _new_shape(self) -> GridShape:
        tokenizer = self.live.tokenizer
        n_vocab = tokenizer.n_vocab if tokenizer is not None else 1
        self._id_width = len(str(max(n_vocab - 1, 0)))
        if self.as_list:
            return list_shape(self.row_width, self.live.n_tokens)
        return grid_shape(self.row_width, n_vocab, self.live.n_tokens)

    def _n_rows(self) -> int:
        rows = -(-self.live.n_tokens // self._shape.per_row)
        return rows or int(self.live.n_pending_chars > 0)

    def _rows(self, rows: range) -> list[GridRow]:
        """Read the content of some rows from the document."""
        if not rows:
            return []
        per_row = self._shape.per_row
        first = rows.start * per_row
        tokens, gaps = self._read(first, rows.stop * per_row)
        return [
            self._row(first + at, tuple(tokens[at : at + per_row]), gaps)
            for at in range(0, max(len(tokens), 1), per_row)
        ]

    def _row(self, first: int, tokens: tuple[tuple[int, int], ...], gaps: Iterable[int]) -> GridRow:
        # A gap before a row is drawn after the last token of the row above, if there is one.
        places = range(-1 if first == 0 else 0, len(tokens))
        return GridRow(
            first,
            tokens,
            frozenset(index - first for index in gaps if index - first in places),
            _place(self._hover, first, len(tokens)),
            _place(self.pinned, first, len(tokens)),
        )

    def _read(self, first: int, last: int) -> tuple[list[tuple[int, int]], list[int]]:
        """Read tokens, and the indexes that are followed by text that is not tokenized yet.

        Reading the tokens of a part of the text may encode it, which moves the indexes; then they
        are read again. There may be megabytes of such text between two known tokens, so only the
        start of the part is read, which contains the tokens to show.
        """
        live = self.live
        spans: list[TokenSpan] = []
        n_tokens = -1
        while n_tokens != live.n_tokens and not live.complete:
            n_tokens = live.n_tokens
            if not n_tokens:
                return [], [-1]
            start = live.token(first).start if first < n_tokens else live.n_chars
            end = live.token(min(last, n_tokens) - 1).end
            spans = live.tokens_in(start - 1, min(end + 1, start + _MOST_CHARS))
        before = first - 1
        gaps = []
        for span in spans:
            if span.index < 0:
                gaps.append(before)
            else:
                before = span.index
        return live.tokens_slice(first, last), gaps

    def _current_styles(self) -> GridStyles:
        if self._grid_styles is None:
            tokenizer = self.live.tokenizer
            specials = tokenizer.special_tokens.values() if tokenizer is not None else ()
            base = self.role_styles.base + self._palette.base
            dim = base + self.role_styles["dim"]
            self._grid_styles = GridStyles(self._palette, base, dim, frozenset(specials))
        return self._grid_styles

    def _forget_strips(self) -> None:
        self._grid_styles = None
        self._strips.clear()

    # -- positions and marks

    @property
    def n_tokens(self) -> int:
        """The number of known tokens."""
        return self.live.n_tokens

    def row_of(self, index: int) -> int:
        """Return the row of a token."""
        return index // self._shape.per_row

    def row_tokens(self, number: int) -> range:
        """Return the tokens of a row."""
        first = number * self._shape.per_row
        return range(first, min(first + self._shape.per_row, self.n_tokens))

    def token_at(self, x: int, number: int) -> int | None:
        """Return the token drawn at a column of a row."""
        return self._shape.index_at(x, number, self.n_tokens)

    def hover(self, index: int | None) -> None:
        """Highlight the token under the mouse, and notify the screen."""
        self.set_marks(index, self.pinned)
        self.post_message(TokenHovered(index))

    def pin(self, index: int) -> None:
        """Mark a token at once, and notify the screen."""
        self.set_marks(self._hover, index, scroll=True)
        self.post_message(TokenPicked(index))

    def action_move_rows(self, step: int) -> None:
        """Pick a token some rows below; at the ends, the first or the last one."""
        self.action_move(step * self._shape.per_row)

    def action_pick(self) -> None:
        """Pick the marked token again, so that the editor goes there."""
        index = self.pinned if self.pinned is not None else self._hover
        self.move_to(self.first_in_view() if index is None else index)

    @action("Ids only, or with their text", "l", section="In the IDs panel", footer="Grid / list")
    def action_toggle_list(self) -> None:
        """Change between a grid of ids and a list with the text of every token."""
        self.as_list = not self.as_list
        self.on_resize()

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(declared_in(locals()))]


def _place(index: int | None, first: int, n_tokens: int) -> int | None:
    """Return the place of a token in a row, None if it is in another row."""
    return None if index is None or not 0 <= index - first < n_tokens else index - first
