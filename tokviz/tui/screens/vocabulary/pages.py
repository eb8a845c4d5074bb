"""The side of the Vocabulary screen: its pages, which one is shown, and their tabs."""

from __future__ import annotations

from typing import NamedTuple

from textual.containers import Container

from tokviz.tui.widgets.rows_view import LinkRows
from tokviz.tui.widgets.turns import border_tabs


class PageKind(NamedTuple):
    """A page: its name, its tab, and the action that shows it."""

    id: str
    title: str
    action: str


PAGES: tuple[PageKind, ...] = (
    PageKind("overview", "Overview", "show_overview"),
    PageKind("token", "Token", "show_page"),
    PageKind("check", "Check", "show_check"),
    PageKind("syntax", "Search help", "show_syntax"),
)
"""Every page, in the order of the tabs."""


class SidePages(Container):
    """Shows one page at a time, in one list of rows."""

    def __init__(self) -> None:
        """Begin with the overview."""
        super().__init__(id="side")
        self.shown = PAGES[0].id
        self.rows = LinkRows(id="page")
        self._draw_tabs()

    def compose(self) -> list[LinkRows]:
        """Yield the rows."""
        return [self.rows]

    def choose(self, page_id: str) -> None:
        """Take another page to show; `show` then gives its rows."""
        self.shown = page_id
        self._draw_tabs()

    def step(self, by: int) -> str:
        """Give the page so many tabs further on, in a circle."""
        ids = [page.id for page in PAGES]
        return ids[(ids.index(self.shown) + by) % len(ids)]

    def _draw_tabs(self) -> None:
        self.border_title = border_tabs(
            (page.title, page.action, page.id == self.shown) for page in PAGES
        )


class TokenBeside(Container):
    """The page of the marked token, for terminals so large that it can stand beside another."""

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__(id="beside")
        self.rows = LinkRows(id="beside-page")
        self.border_title = " Token "

    def compose(self) -> list[LinkRows]:
        """Yield the rows."""
        return [self.rows]
