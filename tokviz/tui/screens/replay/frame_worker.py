"""Compute the frames of a replay in a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tokviz.errors import TokvizError
from tokviz.text.sentences import failure_message
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.replay.merge_frame import Frame, make_frame
from tokviz.tui.screens.replay.state import Opened, ReplayState, text_compression
from tokviz.tui.tasks import LatestWorker, Task
from tokviz.tui.widgets.cursor_curve import Curve

if TYPE_CHECKING:
    from tokviz.training.replay.text import ReplayText

_LARGE_TEXT = 20_000
"""Before a longer text is prepared, in characters, the rest of the frame is shown."""


class _Request(NamedTuple):
    """A requested frame: the replay, the merge, your text, how it is read, and its revision."""

    opened: Opened
    number: int
    text: str
    parse_specials: bool
    revision: int


class Framing(Controller):
    """Compute frames in a thread. No other code changes the state of the replay."""

    _state: ReplayState
    """Holds the current position and text."""
    _show: Callable[[Frame], object]
    """Shows a frame, perhaps not for the first time."""
    _show_text_curve: Callable[[Curve], object]
    """Shows the compression of the text if no corpus is known."""
    _damaged: Callable[[Opened, str], object]
    """Reports why a replay cannot continue, and closes it."""

    def set_up(self) -> None:
        """Create the other fields."""
        self._worker = LatestWorker[_Request](self.screen, "frames", one_at_a_time=True)
        self._prepared_for: tuple[Opened, int] | None = None
        self._prepared: ReplayText | None = None

    def show(self) -> None:
        """Show the frame of the current position, now if it is known, otherwise once it is."""
        frame = self._current_frame()
        if frame is not None:
            self._show(frame)
        if frame is None or frame.revision != self._state.revision:
            self.request()

    def _current_frame(self) -> Frame | None:
        """Return the newest frame if it belongs to the current position."""
        frame = self._state.frame
        return frame if frame is not None and frame.number == self._state.position.number else None

    def request(self) -> None:
        """Compute the frame of the current position and text."""
        state, opened = self._state, self._state.opened
        if opened is None:
            return
        request = _Request(
            opened, state.position.number, state.text, state.parse_specials, state.revision
        )
        self._worker.start(
            request,
            lambda task: self._make_frame(task, request),
            lambda frame: self._take(request, frame),
            lambda error: self._damaged(opened, str(error)),
        )

    # -- in the thread

    def _make_frame(self, task: Task, request: _Request) -> Frame:
        opened, number, text, _, revision = request
        opened.replay.prepare()
        if self._prepared_for != (opened, revision):
            if len(text) > _LARGE_TEXT:
                frame = make_frame(opened.replay, number, None, -1)
                task.tell(self._take, request, frame)
            self._prepared = self._prepare(task, request)
            self._prepared_for = opened, revision
        return make_frame(opened.replay, number, self._prepared, revision, opened.beside)

    def _prepare(self, task: Task, request: _Request) -> ReplayText | None:
        replay = request.opened.replay
        try:
            text = replay.text(request.text, request.parse_specials)
        except TokvizError as error:
            task.tell(self.say, failure_message("Your text cannot be shown", error), "error")
            return None
        curve = None if replay.has_counts else text_compression(text, replay.n_merges)
        task.tell(self._take_text, request, text, curve)
        return text

    # -- on the screen's thread

    def _take(self, request: _Request, frame: Frame) -> None:
        # An older frame must not replace the frame of the current position.
        is_wanted = frame.number == self._state.position.number or self._current_frame() is None
        if request.opened is self._state.opened and is_wanted:
            self._show(frame)

    def _take_text(self, request: _Request, text: ReplayText, curve: Curve | None) -> None:
        if (request.opened, request.revision) == (self._state.opened, self._state.revision):
            self._state.prepared = text
            if curve is not None:
                self._show_text_curve(curve)
