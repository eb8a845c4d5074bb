"""Encoding what waits, and looking for what the next character may change, while the user types."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING

from textual.timer import Timer

from tokviz.text import bytetext
from tokviz.text.sentences import failure_message
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.tokens.text import TextAtHand
from tokviz.tui.tasks import Task

if TYPE_CHECKING:
    from tokviz.explain.stability import UnstableEnd


SLICE_SECONDS = 0.1
"""How often the screen hears of progress."""


class BackgroundEncoding(Controller):
    """Runs a worker as long as tokens are unknown, from the first frame to the end of the screen.

    Before the first frame it would only delay that: what can be seen is encoded to be drawn.
    """

    def __init__(self, screen: TokvizScreen, show_tokens: Callable[[], object]) -> None:
        """Take what shows the tokens that have become known."""
        super().__init__(screen)
        self._show_tokens = show_tokens
        self._live = self.session.live
        self._is_running = False
        self._is_allowed = False
        self._told = ""

    def allow(self) -> None:
        """Begin, now that there is a frame; drawing it may have encoded all there is."""
        self._is_allowed = True
        self._show_tokens()
        self.start()

    def start(self) -> None:
        """See to it that what waits is encoded."""
        if self._is_allowed and not self._is_running and not self._live.settled:
            self._is_running = True
            self.in_thread("encoding", self._encode, exclusive=False)

    def end(self) -> None:
        """Let the worker end after the slice it is at."""
        self._is_allowed = False

    def _encode(self, task: Task) -> None:
        self.session.tokenizer.prepare()
        done = False
        while self._is_allowed and not done and not task.cancelled:
            done = self._live.encode_pending(SLICE_SECONDS)
            task.tell(self._encoded, done)

    def _encoded(self, done: bool) -> None:
        if done:
            self._is_running = False
        self._show_tokens()
        failure = self._live.failure
        if self._live.settled:
            told, self._told = self._told, "" if failure is None else str(failure)
            if self._told not in ("", told):
                self.say(
                    failure_message("Some tokens could not be worked out", self._told), "error"
                )
        self.start()


REST_SECONDS = 0.4
"""How long nothing must have changed before the end is looked at."""


class UnstableMark(Controller):
    """Looks at the end of the text in a thread, once nothing has changed for a moment.

    Not where a child process would be asked some hundred times: there only "Why?" does it.
    """

    def __init__(self, screen: TokvizScreen, text: TextAtHand) -> None:
        """Take the text."""
        super().__init__(screen)
        self._text = text
        self._timer: Timer | None = None
        self._known: object = None

    def note(self) -> None:
        """Notice that the text, or how it is encoded, may have changed."""
        state = self._state()
        if state == self._known:
            return
        self._known = state
        self._text.editor.unstable = (0, 0)
        if self._timer is None:
            self._timer = self.screen.set_interval(REST_SECONDS, self._look, pause=True)
        self._timer.reset()
        self._timer.resume()

    def _state(self) -> object:
        live = self._text.live
        return live.revision, live.tokenizer, live.parse_specials

    def _look(self) -> None:
        from tokviz.explain.stability import MOST_TAIL, unstable_end

        if self._timer is not None:
            self._timer.pause()
        live, state = self._text.live, self._state()
        tok, parse_specials = live.tokenizer, live.parse_specials
        if tok is None or tok.in_child or self.session.is_sample:
            return
        # One more than is looked at, so that it is known to be cut.
        tail = live.text_in(max(0, live.n_chars - MOST_TAIL - 1), live.n_chars)

        def show(found: UnstableEnd) -> None:
            if self._state() == state and found.n_tokens:
                editor = self._text.editor
                editor.unstable = (live.n_chars - n_chars_of(tail, len(found.data)), live.n_chars)
                editor.refresh()

        self.in_thread("unstable", lambda task: unstable_end(tok, tail, parse_specials), show)


def n_chars_of(text: str, n_bytes: int) -> int:
    """Count the characters at the end of a text that hold any of so many last bytes."""
    sizes = accumulate((bytetext.n_bytes(one) for one in reversed(text)), initial=0)
    return next((number for number, size in enumerate(sizes) if size >= n_bytes), len(text))
