"""Comparing what is replayed with another training, vocabulary or merges file."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.compare.trainings import diff_merges
from tokviz.errors import TokvizError
from tokviz.text.sentences import failure_message
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.replay.comparison import (
    Comparison,
    comparison_rows,
    nothing_rows,
    waiting_rows,
)
from tokviz.tui.screens.replay.loaded_replay import Opened, Source
from tokviz.tui.screens.replay.loader import ask_source
from tokviz.tui.screens.replay.state import ReplayState
from tokviz.tui.screens.replay.transport import Transport
from tokviz.tui.screens.replay.views import Views
from tokviz.tui.widgets.rows_view import RowsView


class Comparing(Controller):
    """Compares in a thread: the newest choice wins."""

    def __init__(
        self,
        screen: TokvizScreen,
        state: ReplayState,
        diff: RowsView,
        transport: Transport,
        views: Views,
    ) -> None:
        """Take the state, the view of the difference, and what goes to a merge and to a view."""
        super().__init__(screen)
        self._state, self._diff = state, diff
        self._transport, self._views = transport, views
        self._is_sought = False
        """Whether another comparison is being worked out than the one that is shown."""

    @action("Compare with another", "d", section="Compare", footer="compare", priority=False)
    def compare(self) -> None:
        """Find the first merge at which two trainings, vocabularies or merges files part."""
        if self._state.opened is not None:
            ask_source(self, "Compare with", self.compare_with)

    @action("Compare with a third", section="Compare")
    def compare_with_third(self) -> None:
        """Put another training or vocabulary beside the two that are compared."""
        known = self._state.comparison
        if known is None:
            self.compare()
        else:
            second = Source(known.names[1], known.diff.b)
            ask_source(self, "Compare with", lambda third: self.compare_with(second, third))

    def compare_with(self, *others: Source) -> None:
        """Compare with one or two others, and show where they part."""
        opened = self._state.opened
        if opened is None:
            return
        self._is_sought = True
        names = [other.name for other in others]
        self._views.show_view("diff", focus=False)
        self._diff.show(lambda width: waiting_rows(" and ".join(names), width), from_top=True)

        def compare() -> Comparison:
            diff = diff_merges(opened.replay, *(other.opens for other in others))
            return Comparison((opened.source.name, *names), diff)

        def failed(error: TokvizError) -> None:
            if opened is self._state.opened:
                self.say(failure_message(f"{names[-1]} cannot be compared", error), "error")
                self._is_sought = False
                self._show()
                self.compare_text()

        self._work_out(opened, compare, failed)

    def compare_text(self) -> None:
        """Compare what becomes of the user's text, now that it is another one."""
        known, opened = self._state.comparison, self._state.opened
        if known is None or opened is None or self._is_sought:
            return
        if known.revision != self._state.revision:
            self._work_out(opened, lambda: known)

    def _work_out(
        self,
        opened: Opened,
        compare: Callable[[], Comparison],
        failed: Callable[[TokvizError], object] | None = None,
    ) -> None:
        """Compare in a thread, with what becomes of the text, and show everything."""
        state = self._state
        text, parse_specials, revision = state.text, state.parse_specials, state.revision

        def take(found: Comparison) -> None:
            if opened is not self._state.opened:
                return
            self._is_sought = False
            before, self._state.comparison = self._state.comparison, found
            self._show(from_top=before is None or before.diff is not found.diff)
            self._transport.show()
            self.compare_text()

        self.in_thread(
            "compare",
            lambda task: compare().with_text(text, parse_specials, revision),
            take,
            failed=failed,
        )

    @action("Go to the first difference", "f3", section="Compare")
    def first_difference(self) -> None:
        """Jump to the merge at which the two part."""
        known = self._state.comparison
        if known is None:
            self.compare()
        elif known.diff.first_number is None:
            self.say("All merges are equal.")
        else:
            self._transport.jump_to(known.diff.first_number)

    @action("End the comparison", section="Compare")
    def end_comparison(self) -> None:
        """Forget the other one."""
        self.screen.workers.cancel_group(self.screen, "compare")
        self._is_sought = False
        self._state.comparison = None
        self._show(from_top=True)
        self._transport.show()

    def show_merge(self) -> None:
        """Show what the others merge at the merge at hand."""
        if self._state.comparison is not None:
            self._show()

    def _show(self, *, from_top: bool = False) -> None:
        known, at = self._state.comparison, self._state.position.number
        if known is None:
            self._diff.show(nothing_rows, from_top=True)
        else:
            self._diff.show(lambda width: comparison_rows(known, at, width), from_top=from_top)
