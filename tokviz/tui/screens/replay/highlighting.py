"""Lighting up where the count of a merge comes from."""

from __future__ import annotations

from collections.abc import Callable

from textual import on

from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.replay.state import ReplayState
from tokviz.tui.widgets.flow import Light
from tokviz.tui.widgets.rows_view import RowsView


class Lighting(Controller):
    """Lights up one word of the sum that a count is, in the corpus."""

    def __init__(
        self, screen: TokvizScreen, state: ReplayState, show: Callable[[], object]
    ) -> None:
        """Take what shows the merge again."""
        super().__init__(screen)
        self._state, self._show = state, show

    @on(RowsView.Picked)
    def _picked(self, event: RowsView.Picked) -> None:
        if isinstance(event.action, Light):
            self._light(event.action.piece)

    def _light(self, piece: bytes) -> None:
        """Light a piece up; if it is, no more."""
        state = self._state
        state.lit = state.position.number, b"" if piece == state.lit_piece else piece
        self._show()

    @action("Light up the next word of the count", "h", section="This merge", priority=False,
            words="term sum arithmetic pieces")  # fmt: skip
    def light_next(self) -> None:
        """Show where in the corpus the count of the merge comes from, one word after another."""
        state, frame, pieces = self._state, self._state.frame, list[bytes]()
        has_counts = state.replay is not None and state.replay.has_counts
        if has_counts and frame is not None and frame.number == state.position.number:
            terms = frame.reasons[0] if frame.reasons else ()
            pieces = [part for part in terms if isinstance(part, bytes)]
        if not pieces:
            self.say("There is no count here to look into.")
            return
        following = [*pieces, b""]
        lit = state.lit_piece
        self._light(following[following.index(lit) + 1] if lit in pieces else pieces[0])
