"""A list of rows that draws only what is visible, for dialogs: a field above keeps the focus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

RowT = TypeVar("RowT")

Cell = tuple[str, str]
"""A stretch of a row: text that is safe for the terminal, and one of `RowList.ROLES` or ""."""


class RowList(ScrollView, Generic[RowT], can_focus=False):
    """Rows of any kind, one of them highlighted.

    The cost of a frame is that of the visible rows, so 100,000 rows are as quick as ten.
    """

    DEFAULT_CSS = """
    RowList {
        height: 1fr;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        background: transparent;
        & > .row-list--hover { background: $block-hover-background; }
        & > .row-list--highlighted {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
        }
        & > .row-list--strong { text-style: bold; }
        & > .row-list--muted { color: $text-muted; }
        & > .row-list--accent { color: $text-accent; }
        &:nocolor > .row-list--highlighted { text-style: reverse; }
    }
    """

    ROLES: ClassVar[tuple[str, ...]] = ("strong", "muted", "accent")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "row-list--hover",
        "row-list--highlighted",
        *(f"row-list--{role}" for role in ROLES),
    }

    highlighted: reactive[int | None] = reactive(None)
    """Index of the highlighted row."""
    hovered: reactive[int | None] = reactive(None)
    """Index of the row under the mouse."""

    class Clicked(Message):
        """The user clicked a row."""

        def __init__(self, index: int, again: bool) -> None:
            """Take the row's index, and whether it was the highlighted one already."""
            super().__init__()
            self.index = index
            self.again = again

    class Highlighted(Message):
        """Another row is highlighted, or none."""

    def __init__(self, paint: Callable[[RowT, int], Sequence[Cell]], *, id: str | None = None):
        """Take the function that draws a row: from the row and the width in cells, its cells."""
        super().__init__(id=id)
        self._paint = paint
        self.rows: Sequence[RowT] = ()

    def show(self, rows: Sequence[RowT], highlighted: int | None) -> None:
        """Show other rows, highlight one, and bring it into view."""
        self.rows = rows
        self.hovered = None
        self.virtual_size = Size(0, len(rows))
        self.set_reactive(RowList.highlighted, None)
        self.highlighted = highlighted if rows else None
        if highlighted is None:
            self.scroll_to(y=0, animate=False, force=True)
        self.refresh()

    @property
    def row(self) -> RowT | None:
        """The highlighted row."""
        return None if self.highlighted is None else self.rows[self.highlighted]

    def move(self, step: int) -> None:
        """Move the highlight by a number of rows, stopping at the ends."""
        if not self.rows:
            return
        if self.highlighted is None:
            self.highlighted = 0 if step > 0 else len(self.rows) - 1
        else:
            self.highlighted = min(max(self.highlighted + step, 0), len(self.rows) - 1)

    @property
    def page(self) -> int:
        """How many rows a page key moves."""
        return max(1, self.scrollable_content_region.height - 1)

    def watch_highlighted(self) -> None:
        """Bring the row into view and tell."""
        self._reveal()
        self.refresh()
        self.post_message(self.Highlighted())

    def on_resize(self) -> None:
        """Keep the highlighted row in view."""
        self._reveal()

    def _reveal(self) -> None:
        """Scroll as little as needed to show the highlighted row.

        `force` because a list that has just got its rows has no scroll bar yet.
        """
        height = self.scrollable_content_region.height
        if self.highlighted is None or not height:
            return
        first = round(self.scroll_offset.y)
        if not first <= self.highlighted < first + height:
            above = self.highlighted < first
            y = self.highlighted if above else self.highlighted - height + 1
            self.scroll_to(y=y, animate=False, force=True)

    def watch_hovered(self) -> None:
        """Draw the row under the mouse."""
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one visible row."""
        width = self.scrollable_content_region.width
        index = y + round(self.scroll_offset.y)
        if index >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        style = self.rich_style + self._row_style(index)
        plain = index == self.highlighted and self.app.no_color
        segments = [
            Segment(text, style if plain else style + self._role_style(role))
            for text, role in self._paint(self.rows[index], width)
        ]
        return Strip(segments).adjust_cell_length(width, style)

    def _row_style(self, index: int) -> Style:
        if index == self.highlighted:
            return self.get_component_rich_style("row-list--highlighted", partial=True)
        if index == self.hovered:
            return self.get_component_rich_style("row-list--hover", partial=True)
        return Style.null()

    def _role_style(self, role: str) -> Style:
        if not role:
            return Style.null()
        return self.get_component_rich_style(f"row-list--{role}", partial=True)

    def _index_at(self, event: events.MouseEvent) -> int | None:
        offset = event.get_content_offset(self)
        if offset is None:
            return None
        index = offset.y + round(self.scroll_offset.y)
        return index if index < len(self.rows) else None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Mark the row under the mouse."""
        self.hovered = self._index_at(event)

    def on_leave(self) -> None:
        """Take the mark away."""
        self.hovered = None

    def on_click(self, event: events.Click) -> None:
        """Highlight the row and tell the dialog."""
        index = self._index_at(event)
        if index is not None:
            again = index == self.highlighted
            self.highlighted = index
            self.post_message(self.Clicked(index, again))
