"""Encoding what waits, in a thread, while the user types."""

from __future__ import annotations

from textual import work
from textual.worker import get_current_worker

from tokviz.errors import TokvizError
from tokviz.tui.screens.tokens.base import TokensBase

SLICE_SECONDS = 0.1
"""How often the screen hears of progress."""


class BackgroundEncoding(TokensBase):
    """Runs a worker as long as tokens are unknown, from the first frame to the end of the screen.

    Before the first frame it would only delay that: what can be seen is encoded to be drawn.
    """

    _encoding = False
    _allowed = False
    _told: TokvizError | None = None

    def allow_encoding(self) -> None:
        """Begin, now that there is a frame."""
        self._allowed = True
        self.start_encoding()

    def start_encoding(self) -> None:
        """See to it that what waits is encoded."""
        if self._allowed and not self._encoding and not self.live.settled:
            self._encoding = True
            self._encode()

    def end_encoding(self) -> None:
        """Let the worker end after the slice it is at."""
        self._allowed = False

    @work(thread=True, group="encoding", exit_on_error=False)
    def _encode(self) -> None:
        worker = get_current_worker()
        tokenizer = self.live.tokenizer
        if tokenizer is not None:
            tokenizer.prepare()
        done = False
        while self._allowed and not done and not worker.is_cancelled:
            done = self.live.encode_pending(SLICE_SECONDS)
            self.call_here(self._encoded, done)

    def _encoded(self, done: bool) -> None:
        if done:
            self._encoding = False
        self.refresh_tokens()
        failure = self.live.failure
        if failure is not None and failure is not self._told:
            self.say(f"Some tokens are unknown: {failure}", "error")
        self._told = failure
        self.start_encoding()

    def refresh_tokens(self) -> None:
        """Show the tokens that have become known."""
        raise NotImplementedError
