"""What dialogs share that show a page to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from tokviz.tui.dialogs.base import Dialog
from tokviz.tui.palette import palette_of
from tokviz.tui.widgets.flow import Row
from tokviz.tui.widgets.rows_view import RowsView


class PageDialog(Dialog[None]):
    """Scrolls its page by the keys of a pager; a subclass makes the `page`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("pageup,b", "page(-1)", show=False),
        Binding("home,g", "edge(-1)", show=False),
        Binding("end,G", "edge(1)", show=False),
    ]
    page: Widget

    def action_scroll(self, step: int) -> None:
        """Scroll by rows."""
        self.page.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        """Scroll by pages."""
        self.action_scroll(step * max(1, self.page.size.height - 1))

    def action_edge(self, side: int) -> None:
        """Scroll to the beginning or the end."""
        self.page.scroll_to(y=0 if side < 0 else self.page.max_scroll_y, animate=False)


class RowsDialog(PageDialog):
    """Shows rows of words that are found out in a thread, as high as they need."""

    DEFAULT_CSS = "RowsDialog #rows { height: 1fr; background: transparent; }"

    def __init__(self, make: Callable[[int], Sequence[Row]], least: int) -> None:
        """Take what makes the rows for a width, and the height to begin with."""
        super().__init__()
        self._make, self._least = make, least
        self.page = self.view = RowsView(id="rows")

    def compose_body(self) -> ComposeResult:
        """Yield the rows."""
        yield self.view
        yield Static(classes="error")

    def on_mount(self) -> None:
        """Show what is known at first."""
        self.view.set_palette(palette_of(self.app))
        self.view.show(self._make)

    def wanted_height(self) -> int:
        """Take the rows there are, and those of the hints."""
        return max(self._least, len(self.view.rows) + 1)

    def show_rows(self, *, from_top: bool = False) -> None:
        """Show what is known now."""
        self.view.show(self._make, from_top=from_top)
        self.fit_height(self.app.size)
        self.call_after_refresh(self.view.lay_out)

    def on_resize(self, event: events.Resize) -> None:
        """Take the room there is, once the rows are made for it."""
        super().on_resize(event)
        self.call_after_refresh(partial(self.fit_height, event.size))
