"""A scrolling list of rows whose number can change without a new layout of the screen."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.geometry import Offset, Size
from textual.scroll_view import ScrollView
from textual.widget import Widget

from tokviz.tui.textual_private.changed_rows import ChangedRows
from tokviz.tui.widgets.spans import RoleStyles


class LineScrollView(ChangedRows, ScrollView, can_focus=True):
    """Base of the widgets that draw rows with `render_line`.

    Only the rows that changed are sent to the terminal.

    `ScrollView` lays out the whole screen whenever its `virtual_size` changes. These widgets change
    their number of rows while the user types, so `set_row_count` updates the scrollbar only. The
    scrollbar is always visible, so that the width never changes either.
    """

    DEFAULT_CSS = """
    LineScrollView {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    """

    PREFIX: ClassVar[str] = ""
    """Prefix of the component classes of roles."""

    _role_styles: RoleStyles | None = None
    current_row = 0
    """The row with the cursor or the chosen item."""

    @property
    def cursor_screen_offset(self) -> Offset:
        """The position of the current row on the screen."""
        region = self.content_region
        row = min(self.current_row - self.top_row, region.height - 1)
        return region.offset + Offset(0, max(row, 0))

    @property
    def row_width(self) -> int:
        """The columns of a row, without the scrollbar."""
        return self.scrollable_content_region.width

    @property
    def top_row(self) -> int:
        """The first row in view."""
        return self.scroll_offset.y

    def place_at(self, event: events.MouseEvent) -> Offset | None:
        """Return the column and the row under the mouse, None if there is no row."""
        offset = event.get_content_offset(self)
        if offset is None or offset.x >= self.row_width:
            return None
        row = self.top_row + offset.y
        return Offset(offset.x, row) if row < self.virtual_size.height else None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Mark the item under the mouse."""
        self.hover_at(self.place_at(event))

    def on_leave(self) -> None:
        """Remove the mark."""
        self.hover_at(None)

    def hover_at(self, place: Offset | None) -> None:
        """Mark the item at a column and a row; None removes the mark. The default does nothing."""

    def set_row_count(self, n_rows: int) -> None:
        """Change the number of rows; keep the scroll position if possible."""
        size = Size(self.row_width, n_rows)
        if size == self.virtual_size:
            return
        self.set_reactive(Widget.virtual_size, size)
        if not self.is_attached or not self.size:
            return
        self.vertical_scrollbar.window_virtual_size = n_rows
        if self.scroll_y > self.max_scroll_y:
            self.scroll_to(y=self.max_scroll_y, animate=False)

    @property
    def role_styles(self) -> RoleStyles:
        """The styles of roles, computed again after `restyle`."""
        if self._role_styles is None:
            self._role_styles = RoleStyles(self, self.PREFIX)
        return self._role_styles

    def restyle(self) -> None:
        """Forget the styles, and redraw."""
        self._role_styles = None
        self.refresh()

    def notify_style_update(self) -> None:
        """Redraw with the styles of a new theme."""
        super().notify_style_update()
        self.restyle()

    def show_row(self, row: int) -> None:
        """Scroll to a row: by one if it is next to the view, else to the middle of the view."""
        self.current_row = row
        height = self.size.height
        top = self.top_row
        if not height or top <= row < top + height:
            return
        if row in (top - 1, top + height):
            target = row if row < top else row - height + 1
        else:
            target = row - height // 2
        self.scroll_to(y=max(0, target), animate=False)
