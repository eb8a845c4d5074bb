"""Commands that compare the replay with another training, vocabulary or merges file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tokviz.compare.trainings import diff_merges
from tokviz.errors import TokvizError
from tokviz.text.sentences import failure_message
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.replay.comparison import (
    Comparison,
    comparison_rows,
    nothing_rows,
    waiting_rows,
)
from tokviz.tui.screens.replay.loader import ask_source
from tokviz.tui.screens.replay.state import ReplayState, Source
from tokviz.tui.screens.replay.transport import Transport
from tokviz.tui.screens.replay.views import Views
from tokviz.tui.tasks import LatestWorker
from tokviz.tui.widgets.rows_view import RowsView


class Comparing(Controller):
    """Compare in a thread. Only the latest choice counts."""

    _state: ReplayState
    _diff: RowsView
    _transport: Transport
    _views: Views

    def set_up(self) -> None:
        """Create the other fields."""
        self._worker = LatestWorker[tuple[Source, ...]](self.screen, "compare")
        """Its requests are the other sources, none of them to follow your text only."""

    @action("Compare with another", "d", section="Compare", footer="compare", priority=False)
    def compare(self) -> None:
        """Find the first difference between two trainings, vocabularies or merges files."""
        if self._state.opened is not None:
            ask_source(self, "Compare with", self.compare_with)

    @action("Compare with a third", section="Compare")
    def compare_with_third(self) -> None:
        """Add a third training or vocabulary to the comparison."""
        known = self._state.comparison
        if known is None:
            self.compare()
        else:
            second = Source(known.names[1], known.diff.b)
            ask_source(self, "Compare with", lambda third: self.compare_with(second, third))

    def compare_with(self, *others: Source, report: Sequence[str] = ()) -> None:
        """Compare with one or two other sources; `report` is the result of a check of merges."""
        opened = self._state.opened
        if opened is None:
            return
        names = [other.name for other in others]
        self._views.show_view("diff", focus=False)
        self._diff.show(lambda width: waiting_rows(" and ".join(names), width), from_top=True)

        def compare() -> Comparison:
            diff = diff_merges(opened.replay, *(other.opens for other in others))
            return Comparison((opened.source.name, *names), diff, report=report)

        self._compute(others, compare)

    def compare_text(self) -> None:
        """Compare the tokens of your text after it has changed."""
        known = self._state.comparison
        if known is None or self._worker.pending or known.revision == self._state.revision:
            return
        self._compute((), lambda: known)

    def _compute(self, others: tuple[Source, ...], compare: Callable[[], Comparison]) -> None:
        """Compare in a thread, your text included, and show the result."""
        state = self._state
        text, parse_specials, revision = state.text, state.parse_specials, state.revision

        def take(comparison: Comparison) -> None:
            before, state.comparison = state.comparison, comparison
            self._show(from_top=before is None or before.diff is not comparison.diff)
            self._transport.show()
            self.compare_text()

        def failed(error: TokvizError) -> None:
            name = others[-1].name if others else "Your text"
            self.say(failure_message(f"{name} cannot be compared", error), "error")
            if others:
                self._show()
                self.compare_text()

        self._worker.start(
            others,
            lambda task: compare().with_text(text, parse_specials, revision),
            take,
            failed,
        )

    @action("Go to the first difference", "f3", section="Compare")
    def first_difference(self) -> None:
        """Go to the first merge that differs."""
        known = self._state.comparison
        if known is None:
            self.compare()
        elif known.diff.first_number is None:
            self.say("All merges are equal.")
        else:
            self._transport.jump_to(known.diff.first_number)

    @action("End the comparison", section="Compare")
    def end_comparison(self) -> None:
        """Close the comparison."""
        self._worker.cancel()
        self._state.comparison = None
        self._show(from_top=True)
        self._transport.show()

    def show_merge(self) -> None:
        """Show the merges of the other sources at the current merge."""
        if self._state.comparison is not None:
            self._show()

    def _show(self, *, from_top: bool = False) -> None:
        known, at = self._state.comparison, self._state.position.number
        if known is None:
            self._diff.show(nothing_rows, from_top=True)
        else:
            self._diff.show(lambda width: comparison_rows(known, at, width), from_top=from_top)
