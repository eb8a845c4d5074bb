"""A scrolling list of rows that can grow and shrink without a new layout of the screen."""

from __future__ import annotations

from collections.abc import Iterable

from rich.style import Style
from textual import events
from textual.geometry import Offset, Region, Size
from textual.scroll_view import ScrollView
from textual.widget import Widget

from tokviz.tui.textual_private.changed_rows import ChangedRows


class QuietScroll(ScrollView, can_focus=True):
    """Base of the panels that draw rows with `render_line`.

    `ScrollView.virtual_size` asks for a layout of the whole screen whenever it changes. The panels
    change their number of rows while the user types, so here only the scrollbar is told. The
    scrollbar is always there, so that the width never changes either.
    """

    DEFAULT_CSS = """
    QuietScroll {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    """

    _ground: Style | None = None
    row_at_hand = 0
    """The row that was shown last, because the user is at it."""

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where the user is on the screen."""
        region = self.content_region
        row = min(self.row_at_hand - self.top_row, region.height - 1)
        return region.offset + Offset(0, max(row, 0))

    @property
    def row_width(self) -> int:
        """Columns of a row: the content without the scrollbar."""
        return self.scrollable_content_region.width

    @property
    def top_row(self) -> int:
        """The first row in view."""
        return self.scroll_offset.y

    def place_at(self, event: events.MouseEvent) -> Offset | None:
        """Give the column and the row under the mouse, None beside the rows."""
        offset = event.get_content_offset(self)
        if offset is None or offset.x >= self.row_width:
            return None
        row = self.top_row + offset.y
        return Offset(offset.x, row) if row < self.virtual_size.height else None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Notice what the pointer is over."""
        self.point_at(self.place_at(event))

    def on_leave(self) -> None:
        """Notice that the pointer is gone."""
        self.point_at(None)

    def point_at(self, place: Offset | None) -> None:
        """Mark what is at a column and a row, or nothing; by default there is nothing to mark."""

    def visible_rows(self) -> range:
        """The rows in view, without those beyond the last one."""
        top = self.top_row
        return range(top, min(top + self.size.height, self.virtual_size.height))

    def set_row_count(self, n_rows: int) -> None:
        """Change the number of rows; the view stays where it is if it can."""
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
    def ground(self) -> Style:
        """What rows are drawn on; to ask Textual takes as long as to draw one."""
        if self._ground is None:
            self._ground = self.rich_style
        return self._ground

    def restyle(self) -> None:
        """Draw everything again in other styles."""
        self._ground = None
        self.refresh()

    def notify_style_update(self) -> None:
        """Draw everything again when the theme changed."""
        super().notify_style_update()
        self.restyle()

    def refresh_rows(self, rows: Iterable[int | None]) -> None:
        """Draw rows again that are in view."""
        wanted = [row for row in rows if row is not None]
        if not wanted:
            return
        top, height, width = self.top_row, self.size.height, self.row_width
        regions = [Region(0, row - top, width, 1) for row in wanted if 0 <= row - top < height]
        if regions:
            self.refresh(*regions)

    def show_row(self, row: int) -> None:
        """Scroll as little as possible to a row nearby, and to the middle of the view otherwise."""
        self.row_at_hand = row
        height = self.size.height
        top = self.top_row
        if not height or top <= row < top + height:
            return
        if row in (top - 1, top + height):
            target = row if row < top else row - height + 1
        else:
            target = row - height // 2
        self.scroll_to(y=max(0, target), animate=False)


class DiffedScroll(ChangedRows, QuietScroll):
    """A list that sends only the rows that changed to the terminal."""
