"""Background encoding of pending text, and the mark of unstable tokens at its end."""

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
"""Seconds of encoding between two progress reports."""


class BackgroundEncoding(Controller):
    """Encode pending text in a thread, from the first frame on.

    Before the first frame it would only delay that frame, which encodes the visible text itself.
    """

    def __init__(self, screen: TokvizScreen, show_tokens: Callable[[], object]) -> None:
        """Take a callback that shows newly encoded tokens."""
        super().__init__(screen)
        self._show_tokens = show_tokens
        self._live = self.session.live
        self._is_running = False
        self._is_allowed = False
        self._told = ""

    def allow(self) -> None:
        """Start after the first frame, which may have encoded all of the text."""
        self._is_allowed = True
        self._show_tokens()
        self.start()

    def start(self) -> None:
        """Encode pending text."""
        if self._is_allowed and not self._is_running and not self._live.settled:
            self._is_running = True
            self.in_thread("encoding", self._encode, exclusive=False)

    def end(self) -> None:
        """End the worker after its current slice."""
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
                self.say(failure_message("Some tokens could not be computed", self._told), "error")
        self.start()


REST_SECONDS = 0.4
"""Seconds without a change before the unstable tokens are computed."""


class UnstableMark(Controller):
    """Mark the unstable tokens at the end of the text, computed in a thread after a pause.

    Tokenizers in a child process are left out, because it takes some hundred calls. For them only
    "Why?" shows the unstable tokens.
    """

    def __init__(self, screen: TokvizScreen, text: TextAtHand) -> None:
        """Take the text."""
        super().__init__(screen)
        self._text = text
        self._timer: Timer | None = None
        self._known: object = None

    def note(self) -> None:
        """Restart the pause if the text, or its encoding, has changed."""
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
        # One character more than needed shows that the text is cut.
        tail = live.text_in(max(0, live.n_chars - MOST_TAIL - 1), live.n_chars)

        def show(found: UnstableEnd) -> None:
            if self._state() == state and found.n_tokens:
                editor = self._text.editor
                editor.unstable = (live.n_chars - n_chars_of(tail, len(found.data)), live.n_chars)
                editor.refresh()

        self.in_thread("unstable", lambda task: unstable_end(tok, tail, parse_specials), show)


def n_chars_of(text: str, n_bytes: int) -> int:
    """Return the number of characters that the last `n_bytes` bytes of a text touch."""
    sizes = accumulate((bytetext.n_bytes(one) for one in reversed(text)), initial=0)
    return next((number for number, size in enumerate(sizes) if size >= n_bytes), len(text))
