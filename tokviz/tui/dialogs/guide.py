"""The guide, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from tokviz.guide import (
    LINK,
    PAGES,
    anchor,
    page,
    page_path,
    resolve_link,
    sections,
    title,
    with_links,
)
from tokviz.tui.dialogs.base import Hint
from tokviz.tui.dialogs.page import PageDialog
from tokviz.tui.dialogs.pick import Option, PickDialog


class GuideDialog(PageDialog):
    """Shows a page of the guide; the arrows turn pages, and a search finds a heading or a word."""

    DEFAULT_CSS = """
    GuideDialog #dialog { width: 100; }
    GuideDialog VerticalScroll { height: 1fr; }
    GuideDialog Markdown { background: transparent; padding: 0; }
    GuideDialog MarkdownFence > Label { width: 1fr; }
    GuideDialog MarkdownBlock { link-style: underline; }
    GuideDialog MarkdownH2 { text-style: bold; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,n", "turn(1)", show=False),
        Binding("left,p", "turn(-1)", show=False),
        Binding("slash,ctrl+f", "search", show=False),
        Binding("l", "links", show=False),
        Binding("backspace", "back", show=False),
    ]

    rows_wanted = 1000
    """The height of the screen."""

    def __init__(self, name: str, heading: str = "") -> None:
        """Create the dialog with an initial page and heading."""
        self._page = Markdown(with_links(page(name)), open_links=False)
        self._view = VerticalScroll(self._page)
        super().__init__(self._view)
        self._shown = name
        self._heading = heading
        self._left: list[tuple[str, float]] = []
        """The pages that were left, and how far down each of them was."""
        self._wanted: tuple[str, str, float] | None = None
        """The page being opened, with a heading and a row, until it is shown."""
        self.dialog_title = "Guide"

    def on_mount(self) -> None:
        """Focus the page, so that keys scroll it."""
        self._view.focus()
        if self._heading:
            self._go(self._shown, anchor(self._heading))

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        return [
            ("Esc", "close", "cancel"),
            ("←", "previous", "turn(-1)"),
            ("→", "next", "turn(1)"),
            ("/", "search", "search"),
            ("L", "links", "links"),
            ("Backspace", "back", "back"),
            ("↑↓ Space", "scroll", "page(1)"),
        ]

    def action_turn(self, step: int) -> None:
        """Show the next page or the one before; the first follows the last."""
        self._show(PAGES[(PAGES.index(self._shown) + step) % len(PAGES)])

    def action_search(self) -> None:
        """Search the full text of the guide."""
        found = [*sections()]
        options = [
            Option(str(place), part.title, title(part.page), part.text)
            for place, part in enumerate(found)
        ]

        def chosen(answer: str | None) -> None:
            if answer is not None:
                part = found[int(answer)]
                self._show(part.page, anchor(part.title))

        self.app.push_screen(PickDialog("Search the guide", options), chosen)

    def action_links(self) -> None:
        """List the links of the page."""
        found = LINK.findall(with_links(page(self._shown)))
        if options := [Option(href, words.strip("`")) for words, href in found]:
            self.app.push_screen(PickDialog("What this page leads to", options), self._follow)

    def action_back(self) -> None:
        """Go back to the previous page and position."""
        if self._left:
            name, y = self._left.pop()
            self._go(name, y=y)

    @on(Markdown.LinkClicked)
    def _clicked(self, event: Markdown.LinkClicked) -> None:
        self._follow(event.href)

    def _follow(self, href: str | None) -> None:
        if href is None:
            return
        if found := resolve_link(page_path(self._shown), href):
            self._show(*found)
        else:
            self.app.open_url(href)

    def _show(self, name: str, heading: str = "") -> None:
        self._left.append((self._shown, self._view.scroll_y))
        self._go(name, heading)

    def _go(self, name: str, heading: str = "", y: float = 0) -> None:
        self._shown = name
        is_turning, self._wanted = self._wanted is not None, (name, heading, y)
        if not is_turning:
            self.run_worker(self._turn(), exit_on_error=False)

    async def _turn(self) -> None:
        """Show the last requested page, after the current one is completely drawn.

        If drawing were canceled, Textual would wait forever for the removal of the previous page.
        """
        done = None
        try:
            while (wanted := self._wanted) is not done and wanted is not None:
                await self._update(*wanted)
                done = wanted
        finally:
            self._wanted = None

    async def _update(self, name: str, heading: str, y: float) -> None:
        await self._page.update(with_links(page(name)))
        self._view.scroll_to(y=y, animate=False)
        if heading:
            self.call_after_refresh(self._page.goto_anchor, heading)
