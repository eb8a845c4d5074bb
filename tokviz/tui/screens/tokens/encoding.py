"""Encoding what waits, in a thread, while the user types."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.sentences import why
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.tasks import Task

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
        slow = self._live.slow_pieces()
        failure = slow[0] if slow else self._live.failure
        if self._live.settled:
            told, self._told = self._told, "" if failure is None else str(failure)
            if self._told not in ("", told):
                if self._live.complete:
                    self.say(why("A stretch is one piece", self._told), "warning")
                else:
                    self.say(why("Some tokens could not be worked out", self._told), "error")
        self.start()
