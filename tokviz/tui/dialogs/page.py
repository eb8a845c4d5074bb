"""Base class of dialogs with text: rows, and keys that scroll them."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from tokviz.tui.dialogs.base import Dialog
from tokviz.tui.widgets.rows_view import RowsView


class PageDialog(Dialog[None]):
    """A dialog with text, which scrolls with the usual keys of pagers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,enter", "cancel", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("pageup,b", "page(-1)", show=False),
        Binding("home,g", "edge(-1)", show=False),
        Binding("end,G", "edge(1)", show=False),
    ]

    DEFAULT_CSS = """
    PageDialog RowsView { height: 1fr; background: transparent; }
    """

    def __init__(self, scrolled: Widget | None = None) -> None:
        """Create an empty page.

        Args:
            scrolled: The scrolling widget, if it is not rows of text.
        """
        super().__init__()
        self.view = RowsView()
        """The rows of text."""
        self._scrolled = scrolled or self.view

    def compose_body(self) -> ComposeResult:
        """Yield the page."""
        yield self._scrolled
        yield Static(classes="error")

    def action_scroll(self, step: int) -> None:
        """Scroll by rows."""
        self._scrolled.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        """Scroll by pages."""
        self.action_scroll(step * max(1, self._scrolled.size.height - 1))

    def action_edge(self, side: int) -> None:
        """Scroll to the start or the end."""
        end = self._scrolled.max_scroll_y
        self._scrolled.scroll_to(y=0 if side < 0 else end, animate=False)
