"""Which parts of the screen there is room for, and the tabs that lead to the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from textual.widget import Widget

from tokviz.tui.actions import Kind, action, action_each
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.sizes import set_classes
from tokviz.tui.widgets.view_switcher import border_tabs, neighbour

VIEWS = (
    Kind("texts", "Texts", "The corpus and your text as tokens, before and after the merge."),
    Kind("candidates", "Candidates", "The ten most frequent pairs, of which one is merged."),
    Kind("merges", "Merges", "All merges in their order, or those that fit a search."),
    Kind("curves", "Curves", "Compression and counts over all merges."),
    Kind("diff", "Diff", "Where two trainings or vocabularies part."),
)
"""Every view, in the order of the tabs."""
_IDS = tuple(kind.id for kind in VIEWS)
_TITLES = {kind.id: kind.title for kind in VIEWS}
_FIRST_AT_FRONT = ("texts", "merges", "candidates", "curves", "diff")
_GROUPS_IN_TWO_COLUMNS = (("texts", "candidates"), ("merges", "curves", "diff"))
_GROUPS_OF_LADDER = (("candidates",), ("texts", "merges", "curves", "diff"))
_GROUPS_WITH_ROOM = (("texts",), ("candidates",), ("merges", "diff"), ("curves",))


class View(NamedTuple):
    """What shows a view.

    Attributes:
        frame: The widget in whose border the tabs stand while it is at the front.
        focus: What has the keyboard in it.
        title: Its tab, where that is another one.
    """

    frame: Widget
    focus: Widget
    title: str = ""


class Views(Controller):
    """Shows as much as fits, and knows what is behind what."""

    def __init__(self, screen: TokvizScreen, views: Mapping[str, View]) -> None:
        """Take the parts by their ids."""
        super().__init__(screen)
        self._views = dict(views)
        self._recent: Sequence[str] = _FIRST_AT_FRONT
        self._groups: Sequence[Sequence[str]] = (_IDS,)

    @property
    def front(self) -> str:
        """The view that was brought to the front last."""
        return self._recent[0]

    def fit(self) -> None:
        """Choose which views share a place, by how much room there is."""
        if self.screen.has_class("-narrow"):
            self._groups = (_IDS,)
        elif self.screen.has_class("-ladder"):
            self._groups = _GROUPS_OF_LADDER
        elif self.screen.has_class("-low"):
            self._groups = _GROUPS_IN_TWO_COLUMNS
        else:
            self._groups = _GROUPS_WITH_ROOM
        self._draw_tabs()

    def replace(self, name: str, view: View) -> None:
        """Put another view in the place of one."""
        self._views[name] = view
        self._draw_tabs()

    def _draw_tabs(self) -> None:
        """Show what is at the front, and what else there is."""
        fronts = [min(group, key=self._recent.index) for group in self._groups]
        # All at once: each time all widgets are styled anew.
        names = (name for group in self._groups for name in group)
        set_classes(self.screen, {f"-{name}": name in fronts for name in names})
        width = self.screen.app.size.width if self.screen.has_class("-narrow") else 0
        for group in self._groups:
            for name in group:
                tabs = (
                    (
                        self._views[other].title or _TITLES[other],
                        f"show_view('{other}')",
                        other == name,
                    )
                    for other in group
                )
                self._views[name].frame.border_title = border_tabs(tabs, width)

    @action("Next view", "f2", section="Views", footer="view")
    def next_view(self) -> None:
        """Show what stands behind the next tab."""
        self.show_view(neighbour(_IDS, self.front))

    @action("Previous view", "shift+f2", section="Views")
    def previous_view(self) -> None:
        """Show what stands behind the tab before."""
        self.show_view(neighbour(_IDS, self.front, -1))

    @action_each(VIEWS, "{} view", call="show_view", section="Views")
    def show_view(self, name: str, *, focus: bool = True) -> None:
        """Bring a view to the front."""
        self._recent = (name, *(other for other in self._recent if other != name))
        self._draw_tabs()
        if focus:
            self.screen.call_after_refresh(lambda: self._views[name].focus.focus())
