"""Working frames out in a thread: the newest wish wins."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from tokviz.errors import TokvizError
from tokviz.text.sentences import failure_message
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.replay.loaded_replay import Opened, text_compression
from tokviz.tui.screens.replay.merge_frame import Frame, make_frame
from tokviz.tui.screens.replay.state import ReplayState
from tokviz.tui.tasks import Task
from tokviz.tui.widgets.curve import Curve

if TYPE_CHECKING:
    from tokviz.training.replay.text import ReplayText

_LARGE_TEXT = 20_000
"""Preparing a text of more characters takes so long that the rest is shown before."""


class _Wish(NamedTuple):
    """A frame that is wanted: what of, which merge, the user's text, how it is read, revision."""

    opened: Opened
    number: int
    text: str
    parse_specials: bool
    revision: int


class Framing(Controller):
    """Keeps one worker as long as a frame is wanted; only it moves the replay's state."""

    def __init__(
        self,
        screen: TokvizScreen,
        state: ReplayState,
        *,
        show: Callable[[Frame], object],
        show_text_curve: Callable[[Curve], object],
        damaged: Callable[[Opened, str], object],
    ) -> None:
        """Take the state, and what is done with what is found.

        Args:
            screen: The screen.
            state: Says which frame is wanted.
            show: Shows a frame, perhaps not for the first time.
            show_text_curve: Shows how the text is compressed, where no corpus is known.
            damaged: Says what is wrong with what was opened, and shows it no more.
        """
        super().__init__(screen)
        self._state = state
        self._show, self._show_text_curve, self._damaged = show, show_text_curve, damaged
        self._lock = Lock()
        self._wish: _Wish | None = None
        self._is_running = False
        self._prepared_for: tuple[Opened, int] | None = None
        self._prepared: ReplayText | None = None

    def show(self) -> None:
        """Show the frame of the present position: at once if it is known, else when it is."""
        frame = self._known()
        if frame is not None:
            self._show(frame)
        if frame is None or frame.revision != self._state.revision:
            self.want()

    def _known(self) -> Frame | None:
        """Give the frame of the present position, if it is the newest one."""
        frame = self._state.frame
        return frame if frame is not None and frame.number == self._state.position.number else None

    def want(self) -> None:
        """See to it that the frame of the present position and text is worked out."""
        state = self._state
        if state.opened is None:
            return
        wish = _Wish(
            state.opened, state.position.number, state.text, state.parse_specials, state.revision
        )
        with self._lock:
            self._wish = wish
            if self._is_running:
                return
            self._is_running = True
        self.in_thread("frames", self._make_frames, exclusive=False)

    # -- in the thread

    def _take_wish(self) -> _Wish | None:
        with self._lock:
            wish, self._wish = self._wish, None
            if wish is None:
                self._is_running = False
            return wish

    def _make_frames(self, task: Task) -> None:
        try:
            while (wish := self._take_wish()) is not None and not task.cancelled:
                self._make_frame(task, wish)
        except BaseException:
            with self._lock:
                self._is_running = False
            raise

    def _make_frame(self, task: Task, wish: _Wish) -> None:
        replay = wish.opened.replay
        try:
            replay.prepare()
        except TokvizError as error:
            task.tell(self._damaged, wish.opened, str(error))
            return
        wanted = wish.opened, wish.revision
        if self._prepared_for != wanted:
            if len(wish.text) > _LARGE_TEXT:
                task.tell(self._take, wish, make_frame(replay, wish.number, None, -1))
            self._prepared = self._prepare(task, wish)
            self._prepared_for = wanted
        frame = make_frame(replay, wish.number, self._prepared, wish.revision, wish.opened.beside)
        task.tell(self._take, wish, frame)

    def _prepare(self, task: Task, wish: _Wish) -> ReplayText | None:
        replay = wish.opened.replay
        try:
            text = replay.text(wish.text, wish.parse_specials)
        except TokvizError as error:
            task.tell(self.say, failure_message("Your text cannot be shown", error), "error")
            return None
        curve = None if replay.has_counts else text_compression(text, replay.n_merges)
        task.tell(self._take_text, wish, text, curve)
        return text

    # -- on the screen's thread

    def _take(self, wish: _Wish, frame: Frame) -> None:
        # One who has gone back meanwhile sees what is shown already.
        is_wanted = frame.number == self._state.position.number or self._known() is None
        if wish.opened is self._state.opened and is_wanted:
            self._show(frame)

    def _take_text(self, wish: _Wish, text: ReplayText, curve: Curve | None) -> None:
        if (wish.opened, wish.revision) == (self._state.opened, self._state.revision):
            self._state.prepared = text
            if curve is not None:
                self._show_text_curve(curve)
