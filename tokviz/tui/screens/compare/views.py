"""The views of the Compare screen, which take turns, and the tabs that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.widget import Widget

from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.widgets.view_switcher import border_tabs, neighbour

TITLES = {"tokens": "Tokens", "scripts": "Scripts", "vocabularies": "Vocabularies",
          "report": "Report"}  # fmt: skip


class Views(Controller):
    """Shows the tokens of the text, its scripts, or what the vocabularies share."""

    def __init__(
        self,
        screen: TokvizScreen,
        frame: Widget,
        views: Mapping[str, Widget],
        shown: Callable[[], object],
    ) -> None:
        """Take the widget in whose border the tabs stand, the views, and what hears of a change."""
        super().__init__(screen)
        self._frame, self._views, self._shown = frame, views, shown
        self.front = ""

    @action("Next view", "f2", section="Views", footer="view")
    def next_view(self) -> None:
        """Show what stands behind the next tab."""
        self.show_view(neighbour(list(TITLES), self.front))

    @action("Tokens of the text", section="Views", id="show_tokens", call="show_view('tokens')",
            help="Your text in every tokenizer.")  # fmt: skip
    @action("Figures by script", section="Views", id="show_scripts", call="show_view('scripts')",
            help="What each script of your text takes in every tokenizer.",
            words="language fairness")  # fmt: skip
    @action("Vocabulary difference", section="Views", id="show_vocabularies",
            help="What two vocabularies share, and what only one of them has.",
            call="show_view('vocabularies')", words="compare diff shared tokens ids")  # fmt: skip
    @action("Compression report", section="Views", id="show_report", call="show_view('report')",
            help="What texts of many kinds and languages take in every tokenizer, and yours.",
            words="eval compare benchmark fairness languages bytes per token")  # fmt: skip
    def show_view(self, name: str) -> None:
        """Bring a view to the front."""
        self.front = name
        for other, view in self._views.items():
            view.display = other == name
        self.draw_tabs()
        self._shown()
        if self.screen.is_mounted:
            self._views[name].focus()

    def draw_tabs(self) -> None:
        """Show the tabs that there is room for."""
        tabs = (
            (title, f"show_view('{name}')", name == self.front) for name, title in TITLES.items()
        )
        self._frame.border_title = border_tabs(tabs, self._frame.outer_size.width)
