"""A limit to every step of a regex, in wall-clock time.

The `regex` package asks for signals now and then while it matches, so a timer's signal can end a
step at its very place. (Its own `timeout` counts processor time, of all steps together and of no
compiling.) What asks for none, and what runs where there are no such timers, is for the watchdog of
the parent, which kills the process.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regex import Pattern

_TICKS = 10
"""How often a second of the limit is looked at."""


class _TooLongError(Exception):
    """A step took longer than it may."""


class StepLimit:
    """Watches a regex. For the main thread, one at a time.

    Attributes:
        stuck: The character offset behind the last piece before each step that was given up, and
            the reason.
    """

    def __init__(self, seconds: float, most: int) -> None:
        """Take how long a step may take, and after how many that take longer to leave the rest."""
        self.stuck: list[tuple[int, str]] = []
        self._seconds = seconds
        self._most = most
        self._place = self._place_seen = 0
        self._since = 0.0
        self._is_in_step = self._has_ticked = False

    @contextmanager
    def step(self) -> Iterator[None]:
        """Limit what is done within; it raises `TimeoutError`.

        Raises:
            TimeoutError: If that takes longer than a step may.
        """
        with self._ticking():
            self._since = time.monotonic()
            try:
                self._is_in_step = True
                yield
            except _TooLongError:
                raise TimeoutError from None
            finally:
                self._is_in_step = False

    def matches(self, pattern: Pattern[str], text: str) -> Iterator[tuple[int, int] | None]:
        """Give the spans of matches, and go on behind stretches that take too long.

        See `split_in_steps`.
        """
        start = restarted = 0
        with self._ticking():
            while True:
                try:
                    self._since = time.monotonic()
                    for match in pattern.finditer(text, start):
                        span = match.span()
                        start = self._place = span[1]
                        yield span
                        if self._has_ticked:
                            self._has_ticked = False
                            yield None
                    return
                except _TooLongError:
                    reason = f"takes longer than {self._seconds:g} s for one piece"
                except (MemoryError, RecursionError):
                    reason = "needs too much memory for one piece"
                self.stuck.append((start, reason))
                if len(self.stuck) >= self._most:
                    return
                yield None
                start = restarted = _behind(text, start, whole_line=start == restarted > 0)

    @contextmanager
    def _ticking(self) -> Iterator[None]:
        if not hasattr(signal, "setitimer"):
            yield
            return
        before = signal.signal(signal.SIGALRM, self._tick)
        every = self._seconds / _TICKS
        signal.setitimer(signal.ITIMER_REAL, every, every)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        self._has_ticked = True
        now = time.monotonic()
        # Whoever takes the matches runs in another frame, and must not be interrupted.
        is_in_step = self._is_in_step or (frame is not None and frame.f_code is _MATCHES)
        if self._place != self._place_seen or not is_in_step:
            self._place_seen, self._since = self._place, now
        elif now - self._since >= self._seconds:
            self._is_in_step, self._since = False, now
            raise _TooLongError


_MATCHES = StepLimit.matches.__code__


def _behind(text: str, start: int, *, whole_line: bool) -> int:
    """Find where to go on: behind the word or the white space, else behind the line."""
    if whole_line:
        end = text.find("\n", start)
        return len(text) if end < 0 else end + 1
    is_space = text[start : start + 1].isspace()
    end = start + 1
    while end < len(text) and text[end].isspace() == is_space:
        end += 1
    return end
