"""Comparing what is replayed with another training, vocabulary or merges file."""

from __future__ import annotations

from pathlib import Path

from textual import work
from textual.worker import get_current_worker

from tokviz.compare.trainings import diff_merges
from tokviz.errors import TokvizError
from tokviz.tui.screens.replay.base import ReplayBase
from tokviz.tui.screens.replay.comparison import (
    Comparison,
    comparison_rows,
    nothing_rows,
    waiting_rows,
)
from tokviz.tui.screens.replay.opened import Opened
from tokviz.tui.screens.replay.sources import Source
from tokviz.tui.widgets.rows_view import RowsView

TAKES = "Type the path of a run folder, a tokenizer or a merges file, or look for one with Ctrl+O."


class Comparing(ReplayBase):
    """Compares in a thread: the newest choice wins."""

    diff: RowsView

    def action_compare(self) -> None:
        """Choose what to compare with."""
        from tokviz.tui.screens.replay.source_dialog import SourceDialog

        if self.opened is not None:
            first = [self.at_hand()]
            dialog = SourceDialog("Compare with", first, self.runs(), takes_files=TAKES)
            self.app.push_screen(dialog, self._other_chosen)

    def _other_chosen(self, source: Source | None) -> None:
        if source is not None:
            self.compare_with(source)

    def compare_with(self, other: Source) -> None:
        """Compare with another one, and show where they part."""
        if self.opened is None:
            return
        self.show_view("diff", focus=False)
        self.diff.show(lambda width: waiting_rows(other.name, width), from_top=True)
        self._compare(self.opened, other, self.own.text, self.own.revision)

    @work(thread=True, exclusive=True, group="compare", description="compare", exit_on_error=False)
    def _compare(self, opened: Opened, other: Source, text: str, revision: int) -> None:
        worker = get_current_worker()
        try:
            diff = diff_merges(opened.replay, other.opens)
        except TokvizError as error:
            if not worker.is_cancelled:
                self.call_here(self._not_compared, opened, other, str(error))
            return
        comparison = Comparison(opened.source.name, other.name, diff, None, -1)
        self._add_effect(opened, comparison, text, revision)

    def _add_effect(self, opened: Opened, before: Comparison, text: str, revision: int) -> None:
        """Work out what becomes of a text, in the worker, and show everything."""
        worker = get_current_worker()
        try:
            effect = before.diff.effect(text) if text else None
        except TokvizError:
            # One of the two has no token for a byte of the text.
            effect = None
        comparison = Comparison(before.name, before.other, before.diff, effect, revision)
        if not worker.is_cancelled:
            self.call_here(self._take_comparison, opened, comparison)

    @work(thread=True, exclusive=True, group="compare", description="compare", exit_on_error=False)
    def _compare_text(self, opened: Opened, before: Comparison, text: str, revision: int) -> None:
        self._add_effect(opened, before, text, revision)

    def _take_comparison(self, opened: Opened, comparison: Comparison) -> None:
        if opened is not self.opened:
            return
        is_new = self.comparison is None or self.comparison.diff is not comparison.diff
        self.comparison = comparison
        self.diff.show(lambda width: comparison_rows(comparison, width), from_top=is_new)
        self.show_transport()

    def _not_compared(self, opened: Opened, other: Source, reason: str) -> None:
        if opened is self.opened:
            self.say(f"{other.name} cannot be compared. {reason}", "error")
            self._show_comparison()

    def compare_text(self) -> None:
        """Compare what becomes of the user's text, now that it is another one."""
        known = self.comparison
        if known is not None and self.opened is not None and known.revision != self.own.revision:
            self._compare_text(self.opened, known, self.own.text, self.own.revision)

    def action_first_difference(self) -> None:
        """Go to the merge at which the two part."""
        known = self.comparison
        if known is None:
            self.action_compare()
        elif known.first_number is None:
            self.say("All merges are equal.")
        else:
            self.jump_to(min(known.first_number, self.n_merges))

    def action_end_comparison(self) -> None:
        """Forget the other one."""
        self.end_comparison()
        self.show_transport()

    def end_comparison(self) -> None:
        """Forget the other one."""
        self.comparison = None
        self._show_comparison()

    def _show_comparison(self) -> None:
        known = self.comparison
        if known is None:
            self.diff.show(nothing_rows, from_top=True)
        else:
            self.diff.show(lambda width: comparison_rows(known, width))

    def compare_path(self, other: str) -> None:
        """Compare with a path or a name that was given elsewhere."""
        self.compare_with(Source(Path(other).name or other, "", other))
