"""Marks the tokens at the end of the text that the next character may change."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from textual.timer import Timer

from tokviz import bytetext
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.tokens.text import TextAtHand

if TYPE_CHECKING:
    from tokviz.explain.stability import UnstableEnd

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
