"""Export of the current merge, and of the merges up to it."""

from __future__ import annotations

from collections.abc import Iterable

from tokviz.share.animation import animation
from tokviz.share.replayed import replay_figure
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.exporting import Exporting, Shown, export_as
from tokviz.tui.screens.replay.state import ReplayState

_NOTHING = "Nothing is open: open a training or a vocabulary first (Ctrl+O)."


class Sharing(Controller):
    """Export the frames of a merge, and merges as an animation."""

    _state: ReplayState

    def set_up(self) -> None:
        """Create the other fields."""
        Exporting(self.screen, self._shown)

    def _shown(self) -> Shown:
        opened, prepared, number = self._state.opened, self._state.prepared, self._state.number
        if opened is None:
            return _NOTHING
        name = f"{opened.source.name}-{number}"
        return name, lambda: replay_figure(opened.replay, number, prepared)

    @action("Animation for a slide…", section="Copy", words="animate svg gif moving picture share")
    def export_animation(self) -> None:
        """Write the merges up to the current one as an animation, for a slide or a page.

        It shows a tiny corpus and your text, otherwise your text only. At the start it contains
        all merges. It shows at most 60 merges.
        """
        opened, prepared, number = self._state.opened, self._state.prepared, self._state.number
        lesson = self._state.lesson
        if opened is None:
            self.say(_NOTHING)
            return
        replay, say = opened.replay, lesson.say if lesson is not None else lambda k: ""

        def make(form: str) -> Iterable[bytes]:
            return animation(replay, 1, number or replay.n_merges, prepared, say=say)

        title = "Export the merges as an animation (svg)"
        export_as(self, opened.source.name, title, {"svg": "svg"}, make)
