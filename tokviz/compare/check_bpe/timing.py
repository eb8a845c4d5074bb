"""Times of textbook BPE trainers in plain Python, measured on a part of a corpus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain, pairwise, repeat
from typing import NamedTuple

from tokviz.text.sentences import pluralize
from tokviz.training.pre_token_counts import PreTokenCounts
from tokviz.training.python_trainer import PairCorpus
from tokviz.training.ties import TIE_BREAKS, Pair

SAMPLE_CHARS = 50_000
"""Length of the part of a corpus."""

_SECONDS = 3.0


class _Incremental(PairCorpus):
    """Compares all pairs to find the most frequent one."""

    def pop_best(self) -> tuple[Pair, int] | None:
        best = max(self.pair_counts, key=self._order, default=None)
        return None if best is None else (best, self.pair_counts[best])

    def _order(self, pair: Pair) -> tuple[int, bytes, bytes]:
        left, right = pair
        return self.pair_counts[pair], self.tokens[left], self.tokens[right]


class _Recounting(_Incremental):
    """Counts all pairs again after every merge."""

    def merge(self, pair: Pair) -> None:
        self.tokens.append(self.tokens[pair[0]] + self.tokens[pair[1]])
        self.pair_counts.clear()
        for index, (tokens, n) in enumerate(
            zip(self._pre_tokens, self._pre_token_counts, strict=True)
        ):
            self._pre_tokens[index] = self.replace(tokens, pair, len(self.tokens) - 1)
            for neighbors in pairwise(self._pre_tokens[index]):
                self.pair_counts[neighbors] += n


class Timing(NamedTuple):
    """The time of a trainer.

    Attributes:
        change: The change that distinguishes it from the previous one.
        choosing: Seconds to find the most frequent pairs.
        updating: Seconds to merge them and to update the counts.
        n_merges: Number of merges.
    """

    change: str
    choosing: float
    updating: float
    n_merges: int


def time_trainers(
    counts: PreTokenCounts, n_merges: int, should_stop: Callable[[], bool] = lambda: False
) -> list[Timing]:
    """Time four trainers, from the slowest to the fastest.

    The slowest one merges for about three seconds; the others learn as many merges.
    """
    distinct = [*counts.pre_tokens()]
    each = [*chain.from_iterable(repeat((it, 1), n) for it, n in distinct)]
    timings: list[Timing] = []
    for change, kind, words in (
        ("count all pairs again for each merge", _Recounting, each),
        ("count each distinct pre-token once", _Recounting, distinct),
        ("change only the counts near a merge", _Incremental, distinct),
        ("find the best pair with a heap", PairCorpus, distinct),
    ):
        corpus = kind(
            [it for it, _ in words], [n for _, n in words], TIE_BREAKS["lexicographic"], []
        )
        choosing, updating, n = 0.0, 0.0, 0
        while n < n_merges and not should_stop() and (timings or choosing + updating < _SECONDS):
            started = time.perf_counter()
            best = corpus.pop_best()
            chosen = time.perf_counter()
            if best is None or not best[1]:
                break
            corpus.merge(best[0])
            choosing, updating = (
                choosing + chosen - started,
                updating + time.perf_counter() - chosen,
            )
            n += 1
        timings.append(Timing(change, choosing, updating, n))
        n_merges = n
    return timings


def timing_lines(timings: list[Timing], seconds: float) -> Iterator[str]:
    """Yield the table; `seconds` is the time of the learner's trainer, 0 if it is unknown."""
    if seconds:
        yield f"your trainer took {seconds:,g} s"
    n_merges = pluralize(timings[-1].n_merges, "merge")
    yield f"plain Python, {n_merges} of the first {SAMPLE_CHARS:,} characters, in seconds:"
    yield f"  {'':<37}  choose  update   total"
    totals = [it.choosing + it.updating for it in timings]
    for it, total in zip(timings, totals, strict=True):
        yield f"  {it.change:<37} {it.choosing:7.3f} {it.updating:7.3f} {total:7.3f}"
    factors = [a / max(b, 1e-9) for a, b in pairwise(totals)]
    best = sorted(zip(factors, timings[1:], strict=True), reverse=True)[:2]
    faster = ", ".join(f"{it.change} ({factor:,.1f}× faster)" for factor, it in best)
    yield f"the two changes that matter most: {faster}"
