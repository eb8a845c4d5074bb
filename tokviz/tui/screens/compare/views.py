"""The views of the Compare screen and their tabs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.widget import Widget

from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.widgets.view_switcher import border_tabs, neighbour

TITLES = {"tokens": "Tokens", "scripts": "Scripts", "difference": "Difference",
          "report": "Report"}  # fmt: skip


class Views(Controller):
    """Show one view at a time: tokens, scripts, the difference or the report."""

    def __init__(
        self,
        screen: TokvizScreen,
        frame: Widget,
        views: Mapping[str, Widget],
        shown: Callable[[], object],
    ) -> None:
        """Take the widget with the tabs in its border, the views, and a callback for a change."""
        super().__init__(screen)
        self._frame, self._views, self._shown = frame, views, shown
        self.front = ""

    @action("Next view", "f2", section="Views", footer="view")
    def next_view(self) -> None:
        """Show the view of the next tab."""
        self.show_view(neighbour(list(TITLES), self.front))

    @action("Tokens of the text", section="Views", id="show_tokens", call="show_view('tokens')",
            help="Your text in every tokenizer.")  # fmt: skip
    @action("Figures by script", section="Views", id="show_scripts", call="show_view('scripts')",
            help="Tokens of each script of your text in every tokenizer.",
            words="language fairness")  # fmt: skip
    @action("Difference of two tokenizers", section="Views", id="show_difference",
            help="Whether two tokenizers have the same ids, their parts and vocabularies.",
            call="show_view('difference')", words="diff same shared tokens")  # fmt: skip
    @action("Compression report", section="Views", id="show_report", call="show_view('report')",
            help="Token counts for texts of many kinds and languages, including yours.",
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
        """Draw the tabs that fit."""
        tabs = (
            (title, f"show_view('{name}')", name == self.front) for name, title in TITLES.items()
        )
        self._frame.border_title = border_tabs(tabs, self._frame.outer_size.width)
