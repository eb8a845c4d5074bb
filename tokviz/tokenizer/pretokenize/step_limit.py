"""A limit for each step of a regex, in processor time, so that a busy machine makes no difference.

The `regex` package checks for signals while it matches, so the signal of a timer can end a step.
(Its own `timeout` covers all steps together, but not compiling.) A process that does not check for
signals is killed by a second timer of the same clock. On systems without such timers, the watchdog
of the parent process kills it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING

from tokviz.errors import PatternError
from tokviz.process.limits import HAS_CPU_LIMITS, allow_silence

if TYPE_CHECKING:
    from regex import Match, Pattern

STEP_SECONDS = 0.7
"""Processor time for one step of an untrusted regex: to its next match, or one search."""

_TICK_SECONDS = 0.02
"""How often the time is checked."""

_SILENT_SECONDS = 0.2
"""Additional time beyond a step that a process may run without handling a signal."""

_SILENT_SECONDS_PER_CHAR = 2e-7

_MATCHES_AT_ONCE = 16
"""Each may take `STEP_SECONDS`, and the parent waits for an answer meanwhile."""

_SHOWN_CHARS = 24

_TOO_MUCH = "needs too much memory for one pre-token"


class StepLimit:
    """Time limit for the steps of a regex. Use one at a time, in the main thread."""

    def __init__(self, seconds: float = STEP_SECONDS) -> None:
        """Create a limit of so many seconds of processor time per step."""
        self._seconds = seconds
        self._matched: list[Match[str]] = []
        self._n_seen = 0
        self._since = 0.0
        self._silent_seconds = _SILENT_SECONDS
        self._is_in_step = self._has_ticked = self._is_slow = False

    @contextmanager
    def step(self) -> Iterator[None]:
        """Limit a block to the time of one step.

        Raises:
            TimeoutError: If it takes longer.
        """
        with self.watching(0), self._timed():
            yield

    @contextmanager
    def watching(self, n_chars: int) -> Iterator[None]:
        """Limit the steps of a block, on texts of up to `n_chars` characters."""
        with self._ticking(n_chars * _SILENT_SECONDS_PER_CHAR):
            yield

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Time a step within `watching`."""
        self._since = time.process_time()
        try:
            self._is_in_step = True
            yield
        finally:
            self._is_in_step = False

    def matches(
        self, pattern: Pattern[str], text: str, *, start: int = 0
    ) -> Iterator[tuple[int, int] | None]:
        """Yield the spans of matches from `start` on, and None regularly; see `split_in_steps`.

        Raises:
            PatternError: If a step takes too long or too much memory.
        """
        matches = pattern.finditer(text, start)
        with self.watching(len(text)):
            while some := self.take(matches, _MATCHES_AT_ONCE, pattern, text, start):
                for match in some:
                    yield match.span()
                start = some[-1].end()
                if self._has_ticked:
                    self._has_ticked = False
                    yield None

    def find_all(self, pattern: Pattern[str], text: str) -> list[str]:
        """Return the result of `findall`, or nothing if it takes longer than one step."""
        if self._is_slow:
            return []
        try:
            with self._timed():
                return pattern.findall(text)
        except (TimeoutError, MemoryError, RecursionError):
            self._is_slow = True
            return []

    def take(
        self, matches: Iterator[Match[str]], most: int, pattern: Pattern[str], text: str, start: int
    ) -> list[Match[str]]:
        """Return the next `most` matches of a text; the previous match ended at `start`.

        Raises:
            PatternError: If a step takes too long or too much memory; it names the pre-token.
        """
        # The list grows with every step, so the signal handler can detect progress.
        matched = self._matched = []
        try:
            with self._timed():
                matched.extend(islice(matches, most))
            return matched
        except TimeoutError:
            reason = too_long(self._seconds)
        except (MemoryError, RecursionError):
            reason = _TOO_MUCH
        place = matched[-1].end() if matched else start
        raise pre_token_error(pattern.pattern, reason, text, place)

    @contextmanager
    def _ticking(self, silent_seconds: float) -> Iterator[None]:
        if not HAS_CPU_LIMITS:
            yield
            return
        before = signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, _TICK_SECONDS, _TICK_SECONDS)
        self._silent_seconds = _SILENT_SECONDS + silent_seconds
        self._postpone_kill()
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            allow_silence(None)
            signal.signal(signal.SIGPROF, before)

    def _postpone_kill(self) -> None:
        allow_silence(self._seconds + self._silent_seconds)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        self._has_ticked = True
        self._postpone_kill()
        now, n_matched = time.process_time(), len(self._matched)
        if n_matched != self._n_seen:
            self._n_seen, self._since = n_matched, now
        elif self._is_in_step and now - self._since >= self._seconds:
            self._is_in_step = False
            raise TimeoutError


def too_long(seconds: float) -> str:
    """Return the message for a step that exceeded the limit.

    >>> too_long(0.7)
    'takes longer than 0.7 s for one pre-token'
    """
    return f"takes longer than {seconds:g} s for one pre-token"


def pre_token_error(regex: str, reason: str, text: str, place: int) -> PatternError:
    """Return the error of a regex that fails on the pre-token at character `place` of a text.

    >>> pre_token_error("a|b", "takes too long", "abc", 1).trouble
    "takes too long at character 1 of the text, 'bc'"
    """
    pre_token = text[place : place + _SHOWN_CHARS]
    shown = repr(pre_token) + ("…" if place + len(pre_token) < len(text) else "")
    return PatternError(regex, reason, place=place, pre_token=shown)
