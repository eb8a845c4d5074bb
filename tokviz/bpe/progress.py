"""How far a training has come, and a guess how long it will take."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Literal, NamedTuple

Phase = Literal["starting", "reading", "merging", "saving", "comparing"]
N_NEWEST = 12
_SECONDS_OF_PACE = 2.0


class NewMerge(NamedTuple):
    """A merge just learned: the bytes of its two tokens, and how often the pair occurred."""

    left: bytes
    right: bytes
    count: int  # type: ignore[assignment]  # not the method of tuples


class TrainProgress(NamedTuple):
    """A moment of a training.

    Attributes:
        phase: What is being done.
        fraction: How much of this phase is done, 0 to 1.
        seconds: The time since the start of the training.
        eta_seconds: A guess how long this phase still takes; None if nothing is known.
        n_bytes: The bytes read so far, as they lie on the disk; once all is read, the bytes of the
            text to learn from, so that they fit `tokens_now`.
        n_pieces: The distinct pieces so far.
        n_merges: The merges so far.
        n_merges_wanted: The merges wanted.
        tokens_now: The tokens of the corpus as it would be tokenized now, without special ones;
            one per byte before the first merge, 0 before all is read.
        newest: The last merges, oldest first.
        memory_bytes: Physical memory in use; None where nobody has looked.
        peak_memory_bytes: The most that was in use.
    """

    phase: Phase
    fraction: float
    seconds: float
    eta_seconds: float | None
    n_bytes: int
    n_pieces: int
    n_merges: int
    n_merges_wanted: int
    tokens_now: int
    newest: tuple[NewMerge, ...] = ()
    memory_bytes: int | None = None
    peak_memory_bytes: int | None = None


class Clock:
    """Knows the time since the start and since the start of the phase, and guesses the rest."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        """Start."""
        self._now = now
        self._start = self._phase_start = now()
        self._marks = deque([(self._start, 0.0)])

    def start_phase(self) -> float:
        """Forget the pace so far; give the seconds of the phase that ends."""
        before, self._phase_start = self._phase_start, self._now()
        self._marks = deque([(self._phase_start, 0.0)])
        return self._phase_start - before

    def seconds(self) -> float:
        """Give the time since the start."""
        return self._now() - self._start

    def eta(self, fraction: float) -> float | None:
        """Guess how long the phase still takes, by its pace over the last two seconds."""
        now = self._now()
        self._marks.append((now, fraction))
        while len(self._marks) > 2 and self._marks[1][0] < now - _SECONDS_OF_PACE:
            self._marks.popleft()
        then, before = self._marks[0]
        if fraction <= before or now <= then:
            return None
        return (1.0 - fraction) * (now - then) / (fraction - before)
