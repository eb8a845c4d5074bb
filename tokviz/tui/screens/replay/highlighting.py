"""Highlight the pre-tokens that make up the count of a merge."""

from __future__ import annotations

from collections.abc import Callable

from textual import on

from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.replay.state import ReplayState
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Highlight


class Lighting(Controller):
    """Highlight one pre-token of the sum of a count in the corpus."""

    def __init__(
        self, screen: TokvizScreen, state: ReplayState, show: Callable[[], object]
    ) -> None:
        """Take the state, and a callback that redraws the merge."""
        super().__init__(screen)
        self._state, self._show = state, show

    @on(RowsView.Picked)
    def _picked(self, event: RowsView.Picked) -> None:
        if isinstance(event.action, Highlight):
            self._light(event.action.pre_token)

    def _light(self, pre_token: bytes) -> None:
        """Highlight a pre-token, or remove its highlight."""
        state = self._state
        state.lit = state.position.number, b"" if pre_token == state.lit_pre_token else pre_token
        self._show()

    @action("Highlight the next word of the count", "h", section="This merge", priority=False,
            words="term sum arithmetic pre-tokens")  # fmt: skip
    def light_next(self) -> None:
        """Highlight the pre-tokens in the corpus that make up the count, one after another."""
        state, frame, pre_tokens = self._state, self._state.frame, list[bytes]()
        has_counts = state.replay is not None and state.replay.has_counts
        if has_counts and frame is not None and frame.number == state.position.number:
            terms = frame.reasons[0] if frame.reasons else ()
            pre_tokens = [part for part in terms if isinstance(part, bytes)]
        if not pre_tokens:
            self.say("This merge has no known count.")
            return
        following = [*pre_tokens, b""]
        lit = state.lit_pre_token
        self._light(following[following.index(lit) + 1] if lit in pre_tokens else pre_tokens[0])
