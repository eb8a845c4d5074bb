"""How far a training has come, and a guess how long it will take."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Phase = Literal["starting", "reading", "merging", "saving", "comparing"]
N_NEWEST = 12


class NewMerge(NamedTuple):
    """A merge just learned: the bytes of its two tokens, and how often the pair occurred."""

    left: bytes
    right: bytes
    count: int  # type: ignore[assignment]  # not the method of tuples


class ClusterState(NamedTuple):
    """What a cluster does at a moment.

    Attributes:
        n_workers: The workers that are there.
        n_tasks: The tasks that they work on or are to do next.
        memory_bytes: The physical memory that they have together.
        dashboard: The address of a page that shows more; empty if there is none.
        bytes_per_second: How fast they read together; 0 while that is not known.
    """

    n_workers: int
    n_tasks: int
    memory_bytes: int
    dashboard: str
    bytes_per_second: float = 0.0


class TrainProgress(NamedTuple):
    """A moment of a training.

    Attributes:
        phase: What is being done.
        fraction: How much of this phase is done, 0 to 1.
        seconds: The time since the start of the training.
        eta_seconds: A guess how long it all still takes; None if nothing is known.
        n_bytes: The bytes read so far, as they lie on the disk; once all is read, the bytes of the
            text to learn from, so that they fit `tokens_now`.
        n_pre_tokens: The distinct pre-tokens so far.
        n_merges: The merges so far.
        n_merges_wanted: The merges wanted.
        tokens_now: The tokens of the corpus as it would be tokenized now, without special ones;
            one per byte before the first merge, 0 before all is read.
        newest: The last merges, oldest first.
        memory_bytes: Physical memory in use; None where nobody has looked.
        peak_memory_bytes: The most that was in use.
        cluster: What the workers do; None without any.
    """

    phase: Phase
    fraction: float
    seconds: float
    eta_seconds: float | None
    n_bytes: int
    n_pre_tokens: int
    n_merges: int
    n_merges_wanted: int
    tokens_now: int
    newest: tuple[NewMerge, ...] = ()
    memory_bytes: int | None = None
    peak_memory_bytes: int | None = None
    cluster: ClusterState | None = None

    @property
    def bytes_per_token(self) -> float | None:
        """The compression so far; None before any text was read."""
        return self.n_bytes / self.tokens_now if self.tokens_now else None

    def to_json(self) -> dict[str, Any]:
        """Return the progress as plain values; bytes of tokens are lists of integers."""
        newest = [[list(merge.left), list(merge.right), merge.count] for merge in self.newest]
        return self._asdict() | {"newest": newest}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TrainProgress:
        """Read the output of `to_json`."""
        newest = (
            NewMerge(bytes(left), bytes(right), count) for left, right, count in record["newest"]
        )
        cluster = record["cluster"] and ClusterState(*record["cluster"])
        return cls(**{**record, "newest": tuple(newest), "cluster": cluster})


class Clock:
    """Knows the time since the start, and the pace of a phase."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        """Start."""
        self._now = now
        self._start = self._phase_start = now()
        self._seen: list[tuple[float, float]] = []

    def start_phase(self) -> float:
        """Begin another phase; give the seconds of the one that ends."""
        before, self._phase_start = self._phase_start, self._now()
        self._seen.clear()
        return self._phase_start - before

    def seconds(self) -> float:
        """Give the time since the start."""
        return self._now() - self._start

    def pace(self, done: float, whole: float, expected: float | None = None) -> float:
        """Say how long what is left takes for what should take a second; at first as expected.

        It goes on as it did since half of what is done: a phase begins slowly.

        Args:
            done: How many seconds what is done of the phase should have taken.
            whole: How many the whole phase should take.
            expected: The pace that another phase had, if it tells anything.
        """
        weight = whole * (_WEIGHT_OF_GUESS if expected is None else _WEIGHT_OF_EXPECTATION)
        expected = 1.0 if expected is None else expected
        spent = self._now() - self._phase_start
        n_before = bisect_left(self._seen, (done / 2, spent))
        before, then = self._seen[n_before - 1] if n_before else (0.0, 0.0)
        self._seen.append((done, spent))
        return (spent - then + weight * expected) / (done - before + weight) if whole else expected


# What a training takes was measured on two slow cores: what is shown is scaled by the pace so far.


def reading_seconds(n_bytes: float, *, is_regex: bool) -> float:
    """Guess how long it takes to read a corpus and to count its pre-tokens."""
    return n_bytes * (_REGEX_SECONDS_PER_BYTE if is_regex else _SECONDS_PER_BYTE)


def expected_cells(n_bytes: float, *, is_split: bool) -> float:
    """Guess how many bytes the different pre-tokens of a corpus have together."""
    return min(n_bytes, 12 * n_bytes**_GROWTH_OF_PRE_TOKENS) if is_split else n_bytes


def cells_at_end(n_bytes: float, seen: Sequence[tuple[int, int]]) -> float:
    """Guess the same while a corpus is read: what is new becomes rarer as it did of late.

    Args:
        n_bytes: The size of the corpus.
        seen: Bytes and different pre-tokens, as they were read; the last have some.
    """
    n_read, n_pre_tokens = seen[-1]
    n_half, n_before = seen[bisect_left(seen, (n_read // 2, 0))]
    growth = _GROWTH_OF_PRE_TOKENS
    if n_before and n_half < n_read:
        growth = math.log(n_pre_tokens / n_before) / math.log(n_read / n_half)
    n_cells: float = _BYTES_OF_A_PRE_TOKEN * n_pre_tokens * (n_bytes / n_read) ** min(growth, 1.0)
    return min(n_bytes, n_cells)


def merging_seconds(n_cells: float, n_merges: float) -> float:
    """Guess how long so many merges take, the first ones long and later ones ever less.

    The n-th most frequent pair occurs about 1/n as often as the first, so that the sum of them is a
    logarithm. Besides, all has to be laid out; and what exceeds the processor's caches is slower.

    Args:
        n_cells: The bytes of the different pre-tokens.
        n_merges: The merges.
    """
    per_cell = 4e-8 + 1.5e-8 * math.log1p(n_merges / 35)
    return n_cells * per_cell * (1 + n_cells / 1.5e8) + 1.5e-6 * n_merges


def saving_seconds(n_merges: float) -> float:
    """Guess how long it takes to make a tokenizer of merges and to write it."""
    return 0.03 + 6e-6 * n_merges


_WEIGHT_OF_EXPECTATION = 0.1
_WEIGHT_OF_GUESS = 0.01
_SECONDS_PER_BYTE = 1e-8
_REGEX_SECONDS_PER_BYTE = 1.5e-7
_BYTES_OF_A_PRE_TOKEN = 8
_GROWTH_OF_PRE_TOKENS = 0.68  # ten times the text has 4.8 times the bytes of different pre-tokens
