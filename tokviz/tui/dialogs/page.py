"""What dialogs share that show a page to read."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from tokviz.tui.dialogs.base import Dialog


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
