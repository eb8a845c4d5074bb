"""Progress of a training, and an estimate of the remaining time."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Phase = Literal["starting", "reading", "merging", "saving", "comparing"]
N_NEWEST = 12


class NewMerge(NamedTuple):
    """A merge that was just learned: the bytes of its two tokens, and the count of the pair."""

    left: bytes
    right: bytes
    count: int  # type: ignore[assignment]  # not the method of tuples


class ClusterState(NamedTuple):
    """State of a cluster.

    Attributes:
        n_workers: Number of connected workers.
        n_tasks: Number of running and waiting tasks.
        memory_bytes: Physical memory of all workers.
        dashboard: Address of Dask's dashboard; empty if there is none.
        bytes_per_second: Reading speed of all workers; 0 if unknown.
    """

    n_workers: int
    n_tasks: int
    memory_bytes: int
    dashboard: str
    bytes_per_second: float = 0.0


class TrainProgress(NamedTuple):
    """Progress of a training.

    Attributes:
        phase: The current phase.
        fraction: The finished part of this phase, 0 to 1.
        seconds: Time since the start of the training.
        eta_seconds: Estimate of the remaining time; None if unknown.
        n_bytes: Bytes read so far, counted on the disk; after reading, the bytes of the training
            text, which correspond to `tokens_now`.
        n_pre_tokens: Distinct pre-tokens so far.
        n_merges: Merges so far.
        n_merges_wanted: Merges requested.
        tokens_now: Tokens of the corpus with the merges so far, without special tokens; one per
            byte before the first merge, 0 before the corpus is read.
        newest: The last merges, oldest first.
        memory_bytes: Physical memory in use; None if not measured.
        peak_memory_bytes: Peak physical memory; None if not measured.
        cluster: State of the cluster; None without a cluster.
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
    """Clock that measures the time since the start, and the pace of a phase."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        """Start."""
        self._now = now
        self._start = self._phase_start = now()
        self._seen: list[tuple[float, float]] = []

    def start_phase(self) -> float:
        """Start the next phase, and return the seconds of the previous one."""
        before, self._phase_start = self._phase_start, self._now()
        self._seen.clear()
        return self._phase_start - before

    def seconds(self) -> float:
        """Return the time since the start."""
        return self._now() - self._start

    def pace(self, done: float, whole: float, expected: float | None = None) -> float:
        """Return how many seconds each estimated second of the rest of the phase takes.

        The pace is measured over the second half of the work so far, because a phase starts slowly.

        Args:
            done: Estimated seconds of the work done so far in this phase.
            whole: Estimated seconds of the whole phase.
            expected: The pace of an earlier phase, if it is comparable.
        """
        weight = whole * (_WEIGHT_OF_GUESS if expected is None else _WEIGHT_OF_EXPECTATION)
        expected = 1.0 if expected is None else expected
        spent = self._now() - self._phase_start
        n_before = bisect_left(self._seen, (done / 2, spent))
        before, then = self._seen[n_before - 1] if n_before else (0.0, 0.0)
        self._seen.append((done, spent))
        return (spent - then + weight * expected) / (done - before + weight) if whole else expected


# The estimates were measured on two slow cores. The reported time is scaled by the pace so far.


def reading_seconds(n_bytes: float, *, is_regex: bool) -> float:
    """Estimate the time to read a corpus and to count its pre-tokens."""
    return n_bytes * (_REGEX_SECONDS_PER_BYTE if is_regex else _SECONDS_PER_BYTE)


def expected_cells(n_bytes: float, *, is_split: bool) -> float:
    """Estimate the total number of bytes of a corpus's distinct pre-tokens."""
    return min(n_bytes, 12 * n_bytes**_GROWTH_OF_PRE_TOKENS) if is_split else n_bytes


def cells_at_end(n_bytes: float, seen: Sequence[tuple[int, int]]) -> float:
    """Estimate the same while a corpus is read, from the recent rate of new pre-tokens.

    Args:
        n_bytes: Size of the corpus.
        seen: Bytes and distinct pre-tokens read at several times; the last entry is not zero.
    """
    n_read, n_pre_tokens = seen[-1]
    n_half, n_before = seen[bisect_left(seen, (n_read // 2, 0))]
    growth = _GROWTH_OF_PRE_TOKENS
    if n_before and n_half < n_read:
        growth = math.log(n_pre_tokens / n_before) / math.log(n_read / n_half)
    n_cells: float = _BYTES_OF_A_PRE_TOKEN * n_pre_tokens * (n_bytes / n_read) ** min(growth, 1.0)
    return min(n_bytes, n_cells)


def merging_seconds(n_cells: float, n_merges: float) -> float:
    """Estimate the time for a number of merges, which become faster and faster.

    The n-th most frequent pair occurs about 1/n as often as the first, so the total grows like a
    logarithm. Preparing the memory takes time too, and memory larger than the processor's caches is
    slower.

    Args:
        n_cells: Bytes of the distinct pre-tokens.
        n_merges: Number of merges.
    """
    per_cell = 4e-8 + 1.5e-8 * math.log1p(n_merges / 35)
    return n_cells * per_cell * (1 + n_cells / 1.5e8) + 1.5e-6 * n_merges


def saving_seconds(n_merges: float) -> float:
    """Estimate the time to create a tokenizer from merges and to write it."""
    return 0.03 + 6e-6 * n_merges


_WEIGHT_OF_EXPECTATION = 0.1
_WEIGHT_OF_GUESS = 0.01
_SECONDS_PER_BYTE = 1e-8
_REGEX_SECONDS_PER_BYTE = 1.5e-7
_BYTES_OF_A_PRE_TOKEN = 8
_GROWTH_OF_PRE_TOKENS = 0.68  # ten times the text has 4.8 times the bytes of distinct pre-tokens
