"""The views of the Replay screen and their tabs, by the room in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.widget import Widget

from tokviz.tui.actions import Kind, action, action_each
from tokviz.tui.screens.base import Controller
from tokviz.tui.sizes import set_classes
from tokviz.tui.widgets.view_switcher import border_tabs, neighbour

VIEWS = (
    Kind("texts", "Texts", "The corpus and your text as tokens, before and after the merge."),
    Kind("candidates", "Candidates", "The ten most frequent pairs, of which one is merged."),
    Kind("merges", "Merges", "All merges in order, or the matches of a search."),
    Kind("curves", "Curves", "Compression and counts over all merges."),
    Kind("diff", "Diff", "The first difference of two trainings or vocabularies."),
)
"""Every view, in the order of the tabs."""
_IDS = tuple(kind.id for kind in VIEWS)
_TITLES = {kind.id: kind.title for kind in VIEWS}
_FIRST_AT_FRONT = ("texts", "merges", "candidates", "curves", "diff")
_GROUPS_IN_TWO_COLUMNS = (("texts", "candidates"), ("merges", "curves", "diff"))
_GROUPS_OF_LADDER = (("candidates",), ("texts", "merges", "curves", "diff"))
_GROUPS_WITH_ROOM = (("texts",), ("candidates",), ("merges", "diff"), ("curves",))


class View(NamedTuple):
    """The widgets of a view.

    Attributes:
        frame: The widget with the tabs in its border.
        focus: The widget that gets the focus.
        title: The label of its tab, if it differs from the usual one.
    """

    frame: Widget
    focus: Widget
    title: str = ""


class Views(Controller):
    """Show as many views as fit, and switch between the others."""

    _views: dict[str, View]

    def set_up(self) -> None:
        """Create the other fields."""
        self._recent: Sequence[str] = _FIRST_AT_FRONT
        self._groups: Sequence[Sequence[str]] = (_IDS,)

    @property
    def front(self) -> str:
        """The view that was shown last."""
        return self._recent[0]

    def fit(self) -> None:
        """Group the views that share a place, by the room in the terminal."""
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
        """Replace a view."""
        self._views[name] = view
        self._draw_tabs()

    def _draw_tabs(self) -> None:
        """Show the front view of every group, and all tabs."""
        fronts = [min(group, key=self._recent.index) for group in self._groups]
        # Set all classes at once, because each change restyles all widgets.
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
        """Show the view of the next tab."""
        self.show_view(neighbour(_IDS, self.front))

    @action("Previous view", "shift+f2", section="Views")
    def previous_view(self) -> None:
        """Show the view of the previous tab."""
        self.show_view(neighbour(_IDS, self.front, -1))

    @action_each(VIEWS, "{} view", call="show_view", section="Views")
    def show_view(self, name: str, *, focus: bool = True) -> None:
        """Show a view."""
        self._recent = (name, *(other for other in self._recent if other != name))
        self._draw_tabs()
        if focus:
            self.screen.call_after_refresh(lambda: self._views[name].focus.focus())
