"""Working frames out in a thread: the newest wish wins."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from textual import work
from textual.worker import get_current_worker

from tokviz.errors import TokvizError
from tokviz.tui.screens.replay.base import ReplayBase
from tokviz.tui.screens.replay.frames import Frame, make_frame
from tokviz.tui.screens.replay.opened import text_compression
from tokviz.tui.widgets.cursor_curve import Curve

if TYPE_CHECKING:
    from tokviz.replay.replay import Replay
    from tokviz.replay.text import ReplayText

_LARGE_TEXT = 20_000
"""Preparing a text of more characters takes so long that the rest is shown before."""


class _Wish(NamedTuple):
    """A frame that is wanted: what of, which merge, and the user's text with its revision."""

    replay: Replay
    number: int
    text: str
    revision: int


class _Prepared(NamedTuple):
    """The user's text, prepared for one replay; None if that is not possible."""

    replay: Replay
    revision: int
    text: ReplayText | None


class Framing(ReplayBase):
    """Keeps one worker as long as a frame is wanted; only it moves the replay's state."""

    _wish: _Wish | None = None
    _is_framing = False
    _framing_lock: Lock
    _prepared: _Prepared | None = None

    def want_frame(self) -> None:
        """See to it that the frame of the present position is shown."""
        if self.replay is None:
            return
        wish = _Wish(self.replay, self.position.number, self.own.text, self.own.revision)
        with self._framing_lock:
            self._wish = wish
            if self._is_framing:
                return
            self._is_framing = True
        self._make_frames()

    def _take_wish(self) -> _Wish | None:
        with self._framing_lock:
            wish, self._wish = self._wish, None
            if wish is None:
                self._is_framing = False
            return wish

    @work(thread=True, group="frames", description="frames", exit_on_error=False)
    def _make_frames(self) -> None:
        worker = get_current_worker()
        try:
            while (wish := self._take_wish()) is not None and not worker.is_cancelled:
                self._make_frame(wish)
        except BaseException:
            with self._framing_lock:
                self._is_framing = False
            raise

    def _make_frame(self, wish: _Wish) -> None:
        try:
            wish.replay.prepare()
        except TokvizError as error:
            self.call_here(self.show_damage, wish.replay, str(error))
            return
        known = self._prepared
        if known is None or known[:2] != (wish.replay, wish.revision):
            if len(wish.text) > _LARGE_TEXT:
                frame = make_frame(wish.replay, wish.number, None, -1)
                self.call_here(self._take_frame, wish, frame)
            known = self._prepared = self._prepare(wish)
        frame = make_frame(wish.replay, wish.number, known.text, wish.revision)
        self.call_here(self._take_frame, wish, frame)

    def _prepare(self, wish: _Wish) -> _Prepared:
        try:
            text = wish.replay.text(wish.text)
        except TokvizError as error:
            self.call_here(self._text_failed, str(error))
            return _Prepared(wish.replay, wish.revision, None)
        curve = None if wish.replay.has_counts else text_compression(text, wish.replay.n_merges)
        self.call_here(self._text_prepared, wish, text, curve)
        return _Prepared(wish.replay, wish.revision, text)

    def _take_frame(self, wish: _Wish, frame: Frame) -> None:
        if wish.replay is self.replay:
            self.show_frame(frame)

    def _text_prepared(self, wish: _Wish, text: ReplayText, curve: Curve | None) -> None:
        if wish.replay is self.replay and wish.revision == self.own.revision:
            self.own.prepared = text
            if curve is not None:
                self.show_text_curve(curve)

    def _text_failed(self, reason: str) -> None:
        self.say(f"Your text cannot be shown. {reason}", "error")

    def show_damage(self, replay: Replay, reason: str) -> None:
        """Say what is wrong with what was opened, and show it no more."""
        raise NotImplementedError

    def show_text_curve(self, curve: Curve) -> None:
        """Show how the user's text is compressed, where no corpus is known."""
        raise NotImplementedError
