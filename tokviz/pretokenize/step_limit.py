"""A limit to every step of a regex, in processor time: a busy machine takes none of it away.

The `regex` package asks for signals now and then while it matches, so a timer's signal can end a
step at its very place. (Its own `timeout` is one of all steps together and of no compiling.) What
asks for none is ended with the process, by a timer of the same clock that no handler hears. Where
there are no such timers, that is left to the watchdog of the parent.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING

from tokviz.child.limits import HAS_CPU_LIMITS, allow_silence
from tokviz.errors import PatternError

if TYPE_CHECKING:
    from regex import Match, Pattern

STEP_SECONDS = 0.4
"""Processor time that the way from one piece to the next may take, in a text of no great length."""

_TICK_SECONDS = 0.02
"""How often the time is looked at."""

_SECONDS_A_CHAR = 2e-7
"""What a step may take more for every character that it may have to pass."""

_MOST_CHARS = 1 << 21
"""Whoever passes more than so many characters in one step does so far quicker than that."""

_WARNED = 4
"""A regex that has exploded once may take so many times less from then on."""

_DEAF_SECONDS = 0.2
"""How much longer than a step a process may go on without hearing a signal."""

_SHOWN_CHARS = 24

TOO_LONG = "takes too long for one piece"
_TOO_MUCH = "needs too much memory for one piece"


class _TooLongError(Exception):
    """A step took longer than it may."""


class StepLimit:
    """Watches a regex. For the main thread, one at a time.

    Attributes:
        stuck: Where each piece begins whose step was given up, in characters, and the reason.
    """

    def __init__(self, seconds: float, most: int) -> None:
        """Take how long a step may take, and after how many that take longer to leave the rest."""
        self.stuck: list[tuple[int, str]] = []
        self._seconds = self._limit = seconds
        self._most = most
        self._place = 0
        self._found: list[Match[str]] = []
        self._seen = (0, 0)
        self._since = 0.0
        self._deaf_seconds = _DEAF_SECONDS
        self._is_in_step = self._has_ticked = self._is_slow = False

    @contextmanager
    def step(self) -> Iterator[None]:
        """Limit what is done within; it raises `TimeoutError`.

        Raises:
            TimeoutError: If that takes longer than a step may.
        """
        self._limit = self._seconds
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
        """Give the spans of matches from `start` on, and go on behind what takes too long.

        See `split_in_steps`.
        """
        restarted = 0
        with self.watching(len(text)):
            if self.stuck:
                self._limit /= _WARNED
            while True:
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
                    place = self._find_place(pattern, text, start)
                    reason = TOO_LONG
                except (MemoryError, RecursionError):
                    place, reason = start, _TOO_MUCH
                if not self.stuck:
                    self._limit /= _WARNED
                self.stuck.append((place, reason))
                if len(self.stuck) >= self._most:
                    return
                yield None
                start = restarted = behind(text, place, whole_line=place == restarted > 0)

    @contextmanager
    def watching(self, n_chars: int) -> Iterator[None]:
        """Limit the steps of what is done within to texts of so many characters at most."""
        self._limit = self._seconds + min(n_chars, _MOST_CHARS) * _SECONDS_A_CHAR
        with self._ticking(n_chars * _SECONDS_A_CHAR):
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
            PatternError: If a step takes too long or too much memory; it names the piece.
        """
        # A list that is extended grows with every step, and a signal's handler sees it grow.
        found = self._found = []
        try:
            self._is_in_step = True
            found.extend(islice(matches, most))
            return found
        except _TooLongError:
            place = self._find_place(pattern, text, found[-1].end() if found else start)
            reason = TOO_LONG
        except (MemoryError, RecursionError):
            place, reason = found[-1].end() if found else start, _TOO_MUCH
        finally:
            self._is_in_step = False
        raise PatternError(pattern.pattern, reason, place=place, piece=beginning(text, place))

    def _find_place(self, pattern: Pattern[str], text: str, start: int) -> int:
        """Find where a step that began at `start` explodes: to search is to try place by place.

        That is the first place at which trying takes a quarter of the limit, or where all of that
        is used up.
        """
        self._limit, before = self._limit / _WARNED, self._limit
        gives_up = time.process_time() + before
        try:
            self._since, self._is_in_step = time.process_time(), True
            for self._place in range(start, len(text) + 1):
                pattern.match(text, self._place)
                if not self._place & 1023 and time.process_time() >= gives_up:
                    break
        except _TooLongError:
            pass
        finally:
            self._is_in_step, self._limit = False, before
        return self._place

    @contextmanager
    def _ticking(self, deaf_seconds: float = 0.0) -> Iterator[None]:
        if not HAS_CPU_LIMITS:
            yield
            return
        before = signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, _TICK_SECONDS, _TICK_SECONDS)
        self._deaf_seconds = _DEAF_SECONDS + deaf_seconds
        self._let_live()
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            allow_silence(None)
            signal.signal(signal.SIGPROF, before)

    def _let_live(self) -> None:
        allow_silence(self._limit + self._deaf_seconds)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        self._has_ticked = True
        self._let_live()
        now = time.process_time()
        # Whoever takes the matches runs in another frame, and must not be interrupted.
        is_in_step = self._is_in_step or (frame is not None and frame.f_code is _MATCHES)
        reached = self._place, len(self._found)
        if reached != self._seen or not is_in_step:
            self._seen, self._since = reached, now
        elif now - self._since >= self._limit:
            self._is_in_step, self._since = False, now
            raise _TooLongError


_MATCHES = StepLimit.matches.__code__


def beginning(text: str, place: int) -> str:
    """Show how a stretch of a text begins.

    >>> beginning("abc", 1)
    "'bc'"
    """
    piece = text[place : place + _SHOWN_CHARS]
    return repr(piece) + ("…" if place + len(piece) < len(text) else "")


def behind(text: str, start: int, *, whole_line: bool = False) -> int:
    """Find where to go on: behind the word or the white space, else behind the line."""
    if whole_line:
        end = text.find("\n", start)
        return len(text) if end < 0 else end + 1
    is_space = text[start : start + 1].isspace()
    end = start + 1
    while end < len(text) and text[end].isspace() == is_space:
        end += 1
    return end
