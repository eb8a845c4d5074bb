"""Which parts of the screen there is room for, and the tabs that lead to the others."""

from __future__ import annotations

from typing import NamedTuple

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from tokviz.tui.screens.replay.base import ReplayBase
from tokviz.tui.widgets.turns import border_tabs

NARROW_COLUMNS = 110
"""A narrower terminal shows one view at a time."""
BROAD_COLUMNS = 160
"""A terminal of this width has the candidates beside the card."""
LOW_LINES = 34
"""A terminal of fewer lines shows one view at a time in each of its two columns."""
SHORT_LINES = 16
"""A terminal of fewer lines goes without frames and without the key bar."""


class View(NamedTuple):
    """A part of the screen that can be behind a tab.

    Attributes:
        id: Its name.
        title: Its tab.
        widget: The id of the widget with its frame.
        focus: The id of the widget that has the keyboard in it.
    """

    id: str
    title: str
    widget: str
    focus: str


TEXTS = View("texts", "Texts", "#texts", "#own-tokens")
CANDIDATES = View("candidates", "Candidates", "#candidates", "#candidates")
MERGES = View("merges", "Merges", "#merges-panel", "#merges")
CURVES = View("curves", "Curves", "#curves", "#scrubber")
DIFF = View("diff", "Diff", "#diff", "#diff")
VIEWS = (TEXTS, CANDIDATES, MERGES, CURVES, DIFF)


class Views(ReplayBase):
    """Shows as much as fits, and knows what is behind what."""

    _recent: tuple[str, ...] = ("texts", "merges", "candidates", "curves", "diff")
    """The views, the one that was brought to the front last at first."""
    _tabs: tuple[tuple[View, ...], ...] = (VIEWS,)

    def fit_views(self, size: Size) -> None:
        """Choose what is shown at a size of the terminal."""
        width, height = size
        narrow, low = width < NARROW_COLUMNS, height < LOW_LINES
        self.set_class(narrow, "-narrow")
        self.set_class(not narrow and low, "-low")
        self.set_class(width >= BROAD_COLUMNS and not low, "-broad")
        self.set_class(height < SHORT_LINES, "-short")
        if narrow:
            self._tabs = (VIEWS,)
        elif low:
            self._tabs = ((TEXTS, CANDIDATES), (MERGES, CURVES, DIFF))
        else:
            self._tabs = ((TEXTS,), (CANDIDATES,), (MERGES, DIFF), (CURVES,))
        self.draw_tabs()

    def draw_tabs(self) -> None:
        """Show what is at the front, and what else there is."""
        for view in VIEWS:
            self.set_class(self._is_shown(view.id), f"-{view.id}")
            self.query_one(view.widget).border_title = self._title(view)
        self.query_one("#lineage").border_title = self._title(CANDIDATES)

    @property
    def _candidates_title(self) -> str:
        has_counts = self.replay is None or self.replay.has_counts
        return CANDIDATES.title if has_counts else "Made of"

    def _is_shown(self, view: str) -> bool:
        """Tell whether a view is the newest of those that share its place."""
        group = next(group for group in self._tabs if any(view == other.id for other in group))
        ids = [other.id for other in group]
        return view == next(recent for recent in self._recent if recent in ids)

    def _title(self, shown: View) -> Content:
        group = next(group for group in self._tabs if shown in group)
        return border_tabs(
            (
                self._candidates_title if view is CANDIDATES else view.title,
                f"show_{view.id}",
                view is shown,
            )
            for view in group
        )

    def show_view(self, view: str, *, focus: bool = True) -> None:
        """Bring a view to the front."""
        self._recent = (view, *(other for other in self._recent if other != view))
        self.draw_tabs()
        if focus:
            self.call_after_refresh(self._focus_view, view)

    def _focus_view(self, view: str) -> None:
        target = next(other.focus for other in VIEWS if other.id == view)
        if view == CANDIDATES.id and self.replay is not None and not self.replay.has_counts:
            target = "#lineage"
        self.query_one(target, Widget).focus()

    def _step_view(self, by: int) -> None:
        ids = [view.id for view in VIEWS]
        self.show_view(ids[(ids.index(self._recent[0]) + by) % len(ids)])

    def action_next_view(self) -> None:
        """Go to the next view."""
        self._step_view(1)

    def action_previous_view(self) -> None:
        """Go to the view before."""
        self._step_view(-1)

    def action_show_texts(self) -> None:
        """Show the texts."""
        self.show_view("texts")

    def action_show_candidates(self) -> None:
        """Show the candidates."""
        self.show_view("candidates")

    def action_show_merges(self) -> None:
        """Show the merges."""
        self.show_view("merges")

    def action_show_curves(self) -> None:
        """Show the curves."""
        self.show_view("curves")

    def action_show_diff(self) -> None:
        """Show the differences."""
        self.show_view("diff")
