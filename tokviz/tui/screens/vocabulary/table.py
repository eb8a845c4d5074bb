"""The list of tokens: hundreds of thousands of rows, of which only those in view are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from tokviz.tui.palette import TokenPalette
from tokviz.tui.screens.vocabulary.columns import (
    Column,
    TokenRow,
    fit_columns,
    head_text,
    token_row,
)
from tokviz.tui.widgets.quiet_scroll import QuietScroll

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.vocabulary.index import VocabularyIndex
    from tokviz.vocabulary.search import Order

_HEAD_ROWS = 1
_STRIPS_KEPT = 512


class _Key(NamedTuple):
    """What the look of a row depends on, beside the width and the theme."""

    row: TokenRow
    highlighted: bool
    hovered: bool


class TokenTable(QuietScroll, can_focus=False):
    """A list of tokens under a head that stays in view. The field above it keeps the keyboard."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"token-table--{name}"
        for name in ("head", "sorted", "id", "label", "dim", "warning", "highlighted", "hover")
    }
    DEFAULT_CSS = """
    TokenTable {
        background: transparent;
        & > .token-table--head { color: $text-muted; }
        & > .token-table--sorted { color: $text-accent; text-style: bold; }
        & > .token-table--id { color: $foreground; }
        & > .token-table--label { background: $panel; }
        & > .token-table--dim { color: $text-muted; }
        & > .token-table--warning { color: $text-warning; }
        & > .token-table--hover { background: $block-hover-background; }
        & > .token-table--highlighted {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: bold;
        }
        &:nocolor > .token-table--highlighted { text-style: reverse; }
    }
    """

    class Highlighted(Message):
        """Another token is highlighted, or none."""

    class Opened(Message):
        """The user clicked a token."""

    class SortAsked(Message):
        """The user clicked the head of a column."""

        def __init__(self, order: Order) -> None:
            """Take what to sort by."""
            super().__init__()
            self.order = order

    def __init__(self, palette: TokenPalette, *, id: str | None = None) -> None:
        """Begin with an empty list."""
        super().__init__(id=id)
        self._palette = palette
        self._index: VocabularyIndex | None = None
        self._rows: npt.NDArray[np.int64] | None = None
        self._uses: Mapping[int, int] = {}
        self._order: Order = "id"
        self._descending = False
        self._highlighted: int | None = None
        self._hovered: int | None = None
        self._columns: list[Column] = []
        self._columns_for: tuple[int, VocabularyIndex | None] = (0, None)
        self._strips: LRUCache[_Key, Strip] = LRUCache(_STRIPS_KEPT)

    # -- what it shows

    def show(
        self,
        index: VocabularyIndex | None,
        rows: npt.NDArray[np.int64] | None,
        *,
        order: Order = "id",
        descending: bool = False,
        uses: Mapping[int, int] | None = None,
        keep: bool = False,
    ) -> None:
        """Show other tokens, the first one highlighted.

        Args:
            index: The vocabulary, None while there is none.
            rows: The tokens in order, as rows of the index.
            order: What they are sorted by.
            descending: Whether the greatest comes first.
            uses: How often the text at hand holds each token, by id.
            keep: Whether the highlighted token stays highlighted if it is still there.
        """
        token_id = self.token_id if keep and index is self._index else None
        self._index, self._rows, self._uses = index, rows, uses or {}
        self._order, self._descending = order, descending
        self._hovered = None
        self._strips.clear()
        self.set_row_count(len(self) + _HEAD_ROWS if len(self) else 0)
        self._highlighted = self._place_of(token_id)
        if self._highlighted is None and len(self):
            self._highlighted = 0
            self.scroll_to(y=0, animate=False, force=True)
        self._reveal()
        self.refresh()
        self.post_message(self.Highlighted())

    def show_uses(self, uses: Mapping[int, int]) -> None:
        """Show how often the text at hand holds each token, by id."""
        if uses != self._uses:
            self._uses = uses
            self._strips.clear()
            self.refresh()

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        self._palette = palette
        self._strips.clear()
        self.refresh()

    def __len__(self) -> int:
        """Count the tokens."""
        return 0 if self._rows is None else len(self._rows)

    def __bool__(self) -> bool:
        """Be there even when empty."""
        return True

    @property
    def row(self) -> int | None:
        """The highlighted token's row in the index, None if there is no token."""
        if self._highlighted is None or self._rows is None:
            return None
        return int(self._rows[self._highlighted])

    @property
    def token_id(self) -> int | None:
        """The highlighted token's id, None if there is no token."""
        row = self.row
        return None if row is None or self._index is None else int(self._index.ids[row])

    def _place_of(self, token_id: int | None) -> int | None:
        if token_id is None or self._index is None or self._rows is None:
            return None
        row = self._index.row_of(token_id)
        if row is None:
            return None
        import numpy as np

        places = np.flatnonzero(self._rows == row)
        return int(places[0]) if len(places) else None

    def highlight_id(self, token_id: int) -> bool:
        """Highlight a token, given by id; say whether it is in the list."""
        place = self._place_of(token_id)
        if place is not None:
            self._move_to(place)
        return place is not None

    def move(self, step: int) -> None:
        """Move the highlight by some rows, stopping at the ends."""
        if len(self):
            self._move_to((self._highlighted or 0) + step)

    def move_to_edge(self, end: bool) -> None:
        """Move the highlight to the first or the last row."""
        if len(self):
            self._move_to(len(self) - 1 if end else 0)

    @property
    def page(self) -> int:
        """How many rows a page key moves."""
        return max(1, self.size.height - _HEAD_ROWS - 1)

    def _move_to(self, place: int) -> None:
        place = min(max(place, 0), len(self) - 1)
        if place == self._highlighted:
            return
        before, self._highlighted = self._highlighted, place
        self._reveal()
        for changed in (before, place):
            self._refresh_place(changed)
        self.post_message(self.Highlighted())

    def _reveal(self) -> None:
        """Scroll as little as needed to show the highlighted row below the head."""
        height = self.size.height - _HEAD_ROWS
        if self._highlighted is None or height <= 0:
            return
        top = self.top_row
        if self._highlighted < top:
            self.scroll_to(y=self._highlighted, animate=False, force=True)
        elif self._highlighted >= top + height:
            self.scroll_to(y=self._highlighted - height + 1, animate=False, force=True)

    def _refresh_place(self, place: int | None) -> None:
        if place is not None:
            y = place - self.top_row + _HEAD_ROWS
            if _HEAD_ROWS <= y < self.size.height:
                self.refresh(Region(0, y, self.size.width, 1))

    # -- drawing

    def render_line(self, y: int) -> Strip:
        """Draw the head, or one row of the view."""
        columns = self._fitted_columns()
        if y < _HEAD_ROWS:
            return self._head(columns)
        place = self.top_row + y - _HEAD_ROWS
        if self._index is None or self._rows is None or place >= len(self._rows):
            return Strip.blank(self.row_width, self.rich_style)
        row = int(self._rows[place])
        uses = self._uses.get(int(self._index.ids[row]), 0)
        key = _Key(
            token_row(self._index, row, uses),
            place == self._highlighted,
            place == self._hovered,
        )
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._strip(key, columns)
        return strip

    def _fitted_columns(self) -> list[Column]:
        fitted_for = (self.row_width, self._index)
        if fitted_for != self._columns_for:
            self._columns_for = fitted_for
            self._strips.clear()
            index = self._index
            digits = rank_digits = 1
            if index is not None and len(index):
                digits = len(str(int(index.ids[-1])))
                ranked = index.ranks >= 0
                same = bool((index.ranks[ranked] == index.ids[ranked]).all())
                rank_digits = 0 if same else len(str(int(index.ranks.max())))
            self._columns = fit_columns(self.row_width, digits, rank_digits)
        return self._columns

    def _head(self, columns: list[Column]) -> Strip:
        head = self.rich_style + self._part("head")
        marked = head + self._part("sorted")
        segments: list[Segment] = [Segment(" ", head)]
        for column in columns:
            text = head_text(column, self._order, self._descending)
            segments.append(Segment(text, marked if column.order == self._order else head))
            segments.append(Segment("  ", head))
        return Strip(segments).adjust_cell_length(self.row_width, head)

    def _strip(self, key: _Key, columns: list[Column]) -> Strip:
        base = self.rich_style
        if key.hovered:
            base += self._part("hover")
        plain = key.highlighted and self.app.no_color
        if key.highlighted:
            base += self._part("highlighted")
        segments: list[Segment] = [Segment(" ", base)]
        for column in columns:
            text = key.row.cell(column)
            style = base if plain else base + self._cell_style(key, column)
            segments.append(Segment(text, style))
            missing = column.width - cell_len(text)
            segments.append(Segment(" " * (missing + 2), base))
        return Strip(segments).adjust_cell_length(self.row_width, base)

    def _cell_style(self, key: _Key, column: Column) -> Style:
        row = key.row
        if column.name == "token":
            style = Style.null() if key.highlighted or key.hovered else self._part("label")
            return style + self._palette.special if row.special else style
        if column.name == "kind" and (row.unreachable or row.partial):
            return self._part("warning")
        if column.name == "id" or key.highlighted:
            return Style.null()
        return self._part("dim")

    def _part(self, name: str) -> Style:
        return self.get_component_rich_style(f"token-table--{name}", partial=True)

    def notify_style_update(self) -> None:
        """Draw everything again when the theme changed."""
        super().notify_style_update()
        self._strips.clear()
        self.refresh()

    def on_resize(self) -> None:
        """Keep the highlighted row in view."""
        self.set_row_count(len(self) + _HEAD_ROWS if len(self) else 0)
        self._reveal()

    # -- mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Mark the row under the mouse."""
        self._hover(self._place_at(event))

    def on_leave(self) -> None:
        """Take the mark away."""
        self._hover(None)

    def _hover(self, place: int | None) -> None:
        if place != self._hovered:
            before, self._hovered = self._hovered, place
            self._refresh_place(before)
            self._refresh_place(place)

    def on_click(self, event: events.Click) -> None:
        """Sort by a column, or show a token."""
        offset = event.get_content_offset(self)
        if offset is not None and offset.y < _HEAD_ROWS:
            for column in self._fitted_columns():
                if column.start <= offset.x < column.start + column.width + 1 and column.order:
                    self.post_message(self.SortAsked(column.order))
            return
        place = self._place_at(event)
        if place is not None:
            self._move_to(place)
            self.post_message(self.Opened())

    def _place_at(self, event: events.MouseEvent) -> int | None:
        offset = event.get_content_offset(self)
        if offset is None or offset.y < _HEAD_ROWS:
            return None
        place = self.top_row + offset.y - _HEAD_ROWS
        return place if place < len(self) else None
