"""The guide, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from tokviz.guide import PAGES, page, sections, title
from tokviz.tui.dialogs.base import Dialog, Hint
from tokviz.tui.dialogs.pick import Option, PickDialog


class GuideDialog(Dialog[None]):
    """Shows a page of the guide; the arrows turn pages, and a search finds a heading or a word."""

    DEFAULT_CSS = """
    GuideDialog #dialog { width: 100; }
    GuideDialog VerticalScroll { height: 1fr; }
    GuideDialog Markdown { background: transparent; padding: 0; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "cancel", show=False),
        Binding("right,n", "turn(1)", show=False),
        Binding("left,p", "turn(-1)", show=False),
        Binding("slash,ctrl+f", "search", show=False),
        Binding("space", "scroll_page(1)", show=False),
        Binding("b", "scroll_page(-1)", show=False),
    ]

    def __init__(self, name: str) -> None:
        """Take the page to begin with."""
        super().__init__()
        self._name = name
        self.dialog_title = "Guide"

    def compose_body(self) -> ComposeResult:
        """Yield the page."""
        with VerticalScroll():
            yield Markdown(page(self._name), open_links=False)

    def on_mount(self) -> None:
        """Let the keys scroll."""
        self.query_one(VerticalScroll).focus()

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        return [
            ("Esc", "close", "cancel"),
            ("←", "page before", "turn(-1)"),
            ("→", "next page", "turn(1)"),
            ("/", "search", "search"),
            ("↑↓ Space", "scroll", "scroll_page(1)"),
        ]

    def wanted_height(self) -> int:
        """Take what the screen has."""
        return 1000

    def action_turn(self, step: int) -> None:
        """Show the next page or the one before; the first follows the last."""
        self._show(PAGES[(PAGES.index(self._name) + step) % len(PAGES)])

    def action_scroll_page(self, step: int) -> None:
        """Scroll by pages."""
        view = self.query_one(VerticalScroll)
        view.scroll_relative(y=step * max(1, view.size.height - 1), animate=False)

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
                self._show(part.page, part.title)

        self.app.push_screen(PickDialog("Search the guide", options), chosen)

    @on(Markdown.LinkClicked)
    def _follow(self, event: Markdown.LinkClicked) -> None:
        name = event.href.removesuffix(".md")
        if name in PAGES:
            self._show(name)

    def _show(self, name: str, heading: str = "") -> None:
        self._name = name
        self.run_worker(self._update(name, heading), exclusive=True, exit_on_error=False)

    async def _update(self, name: str, heading: str) -> None:
        markdown = self.query_one(Markdown)
        await markdown.update(page(name))
        view = self.query_one(VerticalScroll)
        view.scroll_home(animate=False)
        for block in markdown.children:
            if heading and heading in str(getattr(block, "_content", "")):
                self.call_after_refresh(view.scroll_to_widget, block, top=True, animate=False)
                return
