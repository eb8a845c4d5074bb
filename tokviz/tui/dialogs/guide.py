"""The guide, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from tokviz.guide import PAGES, anchor, link, page, place, sections, title, with_links
from tokviz.tui.dialogs.base import Hint
from tokviz.tui.dialogs.page import PageDialog
from tokviz.tui.dialogs.pick import Option, PickDialog


class GuideDialog(PageDialog):
    """Shows a page of the guide; the arrows turn pages, and a search finds a heading or a word."""

    DEFAULT_CSS = """
    GuideDialog #dialog { width: 100; }
    GuideDialog VerticalScroll { height: 1fr; }
    GuideDialog Markdown { background: transparent; padding: 0; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,n", "turn(1)", show=False),
        Binding("left,p", "turn(-1)", show=False),
        Binding("slash,ctrl+f", "search", show=False),
    ]

    def __init__(self, name: str, heading: str = "") -> None:
        """Take the page to begin with, and the heading to begin at."""
        self._page = Markdown(with_links(page(name)), open_links=False)
        self._view = VerticalScroll(self._page)
        super().__init__(self._view)
        self._shown = name
        self._heading = heading
        self.dialog_title = "Guide"

    def on_mount(self) -> None:
        """Let the keys scroll."""
        self._view.focus()
        if self._heading:
            self._show(self._shown, anchor(self._heading))

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        return [
            ("Esc", "close", "cancel"),
            ("←", "page before", "turn(-1)"),
            ("→", "next page", "turn(1)"),
            ("/", "search", "search"),
            ("↑↓ Space", "scroll", "page(1)"),
        ]

    def wanted_height(self) -> int:
        """Take what the screen has."""
        return 1000

    def action_turn(self, step: int) -> None:
        """Show the next page or the one before; the first follows the last."""
        self._show(PAGES[(PAGES.index(self._shown) + step) % len(PAGES)])

    def action_search(self) -> None:
        """List what the guide has to say; what is typed may stand anywhere in it."""
        found = [*sections()]
        options = [
            Option(str(place), part.title, title(part.page), " ".join(part.text.split()))
            for place, part in enumerate(found)
        ]

        def chosen(answer: str | None) -> None:
            if answer is not None:
                part = found[int(answer)]
                self._show(part.page, anchor(part.title))

        self.app.push_screen(PickDialog("Search the guide", options), chosen)

    @on(Markdown.LinkClicked)
    def _follow(self, event: Markdown.LinkClicked) -> None:
        found = link(place(self._shown), event.href)
        if found is None:
            self.app.open_url(event.href)
        else:
            self._show(*found)

    def _show(self, name: str, heading: str = "") -> None:
        self._shown = name
        self.run_worker(self._update(name, heading), exclusive=True, exit_on_error=False)

    async def _update(self, name: str, heading: str) -> None:
        await self._page.update(with_links(page(name)))
        self._view.scroll_home(animate=False)
        if heading:
            self.call_after_refresh(self._page.goto_anchor, heading)
