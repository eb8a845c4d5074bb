"""A processor-time limit for each step of a regex, so that a busy machine changes nothing.

The `regex` package checks for signals while it matches, so the signal of a timer can end a step.
(Its own `timeout` covers all steps together, and no compiling.) A process that checks for no signal
is killed by a second timer of the same clock. On systems without such timers, the watchdog of the
parent process does that.
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
"""How much longer than a step a process may run without handling a signal."""

_SILENT_SECONDS_PER_CHAR = 2e-7

_SHOWN_CHARS = 24

_TOO_MUCH = "needs too much memory for one pre-token"


class _TooLongError(Exception):
    """A step took longer than it may."""


class StepLimit:
    """Limits the steps of a regex. For the main thread, one at a time."""

    def __init__(self, seconds: float = STEP_SECONDS) -> None:
        """Take the processor time of a step."""
        self._seconds = seconds
        self._place = 0
        self._found: list[Match[str]] = []
        self._seen = (0, 0)
        self._since = 0.0
        self._silent_seconds = _SILENT_SECONDS
        self._is_in_step = self._has_ticked = self._is_slow = False

    @contextmanager
    def step(self) -> Iterator[None]:
        """Limit the block to the time of one step.

        Raises:
            TimeoutError: If it takes longer.
        """
        with self._ticking():
            self._since = time.process_time()
            try:
                self._is_in_step = True
                yield
            except _TooLongError:
                raise TimeoutError from None
            finally:
                self._is_in_step = False

    def matches(
        self, pattern: Pattern[str], text: str, *, start: int = 0
    ) -> Iterator[tuple[int, int] | None]:
        """Yield the spans of matches from `start` on, and None now and then.

        See `split_in_steps`.

        Raises:
            PatternError: If a step takes too long or too much memory.
        """
        with self.watching(len(text)):
            try:
                self._since = time.process_time()
                for match in pattern.finditer(text, start):
                    span = match.span()
                    start = self._place = span[1]
                    yield span
                    if self._has_ticked:
                        self._has_ticked = False
                        yield None
                return
            except _TooLongError:
                reason = too_long(self._seconds)
            except (MemoryError, RecursionError):
                reason = _TOO_MUCH
        raise pre_token_error(pattern.pattern, reason, text, start)

    @contextmanager
    def watching(self, n_chars: int) -> Iterator[None]:
        """Limit the steps made in the block on texts of up to `n_chars` characters."""
        with self._ticking(n_chars * _SILENT_SECONDS_PER_CHAR):
            yield

    def find_all(self, pattern: Pattern[str], text: str) -> list[str]:
        """Find what `findall` does; nothing if all of it takes longer than a step may."""
        if self._is_slow:
            return []
        self._place += 1
        try:
            self._is_in_step = True
            return pattern.findall(text)
        except (_TooLongError, MemoryError, RecursionError):
            self._is_slow = True
            return []
        finally:
            self._is_in_step = False

    def take(
        self, matches: Iterator[Match[str]], most: int, pattern: Pattern[str], text: str, start: int
    ) -> list[Match[str]]:
        """Take the next matches of a text, so many of them; the last one ended at `start`.

        Raises:
            PatternError: If a step takes too long or too much memory; it names the pre-token.
        """
        # A list that is extended grows with every step, and a signal's handler sees it grow.
        found = self._found = []
        try:
            self._is_in_step = True
            found.extend(islice(matches, most))
            return found
        except _TooLongError:
            reason = too_long(self._seconds)
        except (MemoryError, RecursionError):
            reason = _TOO_MUCH
        finally:
            self._is_in_step = False
        place = found[-1].end() if found else start
        raise pre_token_error(pattern.pattern, reason, text, place)

    @contextmanager
    def _ticking(self, silent_seconds: float = 0.0) -> Iterator[None]:
        if not HAS_CPU_LIMITS:
            yield
            return
        before = signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, _TICK_SECONDS, _TICK_SECONDS)
        self._silent_seconds = _SILENT_SECONDS + silent_seconds
        self._let_live()
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            allow_silence(None)
            signal.signal(signal.SIGPROF, before)

    def _let_live(self) -> None:
        allow_silence(self._seconds + self._silent_seconds)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        self._has_ticked = True
        self._let_live()
        now = time.process_time()
        # Whoever takes the matches runs in another frame, and must not be interrupted.
        is_in_step = self._is_in_step or (frame is not None and frame.f_code is _MATCHES)
        reached = self._place, len(self._found)
        if reached != self._seen or not is_in_step:
            self._seen, self._since = reached, now
        elif now - self._since >= self._seconds:
            self._is_in_step, self._since = False, now
            raise _TooLongError


_MATCHES = StepLimit.matches.__code__


def too_long(seconds: float) -> str:
    """Say that a step took longer than the limit of `seconds`.

    >>> too_long(0.7)
    'takes longer than 0.7 s for one pre-token'
    """
    return f"takes longer than {seconds:g} s for one pre-token"


def pre_token_error(regex: str, reason: str, text: str, place: int) -> PatternError:
    """Describe a regex that fails on the pre-token of a text that starts at the character `place`.

    >>> pre_token_error("a|b", "takes too long", "abc", 1).trouble
    "takes too long at character 1 of the text, 'bc'"
    """
    pre_token = text[place : place + _SHOWN_CHARS]
    shown = repr(pre_token) + ("…" if place + len(pre_token) < len(text) else "")
    return PatternError(regex, reason, place=place, pre_token=shown)
