"""Byte pair encoding learned in plain Python: the text to read first.

A corpus is cut into pre-tokens ("pre-tokens"), and equal pre-tokens are kept once with their count.
To begin with, every token is one byte. Then, again and again, the most frequent pair of
neighbouring tokens becomes a new token, everywhere. That is all of byte pair encoding (Sennrich et
al. 2016, https://arxiv.org/abs/1508.07909; bytes since GPT-2).

Counting all pairs anew at every step is the textbook's way (see `tests/oracles/train.py`). Here
only what a merge changes is counted again, in the pre-tokens that hold the merged pair. Two facts
keep the rest simple:

- A pair is born in one merge, the one that makes its younger token; so the pre-tokens that hold it
are
  all known then.
- After its birth a pair's count only falls, and its first occurrence only moves on. So a heap may
  hold old values: what comes to the top is compared with the truth and goes back if it is worse.

`tokviz.training.merge_kernels` does the same for large corpora; both give the same merges and
history.
"""

from __future__ import annotations

import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.training.history import NO_TOKEN, TrainingHistory
from tokviz.training.settings import N_BYTES, TrainSettings
from tokviz.training.ties import Pair, Position, TieBreak, get_tie_break

if TYPE_CHECKING:
    from tokviz.kernels.memory import Memory
    from tokviz.training.pre_token_counts import FileCounts, PreTokenCounts

Entry = tuple[int, Any, Pair]
"""A pair in the heap: its count below zero, its key for ties, the pair. The least is the best."""


class Merge(NamedTuple):
    """One merge, and what else could have been merged.

    Attributes:
        pair: The ids of the merged tokens.
        count: How often the pair occurred, overlapping occurrences too.
        n_tied: How many pairs had this count, this one included.
        runner_up: The pair that would have come next; None if there is no other.
        runner_up_count: How often it occurred.
        n_tokens: The tokens of the corpus after the merge.
    """

    pair: Pair
    count: int  # type: ignore[assignment]  # not the method of tuples
    n_tied: int
    runner_up: Pair | None
    runner_up_count: int
    n_tokens: int


def learn_merges(
    pre_tokens: Sequence[bytes],
    counts: Sequence[int],
    tie_break: TieBreak,
    min_count: int = 1,
    tokens: list[list[int]] | None = None,
) -> Iterator[Merge]:
    """Learn one merge after the other, until no pair occurs often enough.

    The bytes are the tokens 0 to 255, the new tokens have the ids from 256 on.

    Args:
        pre_tokens: The distinct pre-tokens, in the order of their first occurrence in the corpus.
        counts: How often each pre-token occurs.
        tie_break: Which pair to take when several have the highest count.
        min_count: The lowest count at which a pair is merged.
        tokens: Receives the tokens of every pre-token, and is kept up to date.

    >>> from tokviz.training.ties import TIE_BREAKS
    >>> merges = learn_merges([b"aaabdaaabac"], [1], TIE_BREAKS["first"])
    >>> for merge, _ in zip(merges, range(3)):
    ...     print(merge.pair, merge.count, merge.n_tied, merge.n_tokens)
    (97, 97) 4 1 9
    (256, 97) 2 2 7
    (257, 98) 2 1 5
    """
    corpus = _Corpus(pre_tokens, counts, tie_break, [] if tokens is None else tokens)
    while (best := corpus.pop_best()) is not None:
        pair, count = best
        if count < min_count:
            return
        n_tied = corpus.pairs_with_count[count]
        second = corpus.pop_best()
        if second is not None:
            corpus.push(second[0])
        corpus.merge(pair)
        runner_up, runner_up_count = second or (None, 0)
        yield Merge(pair, count, n_tied, runner_up, runner_up_count, corpus.n_tokens)


def merge_pair(tokens: list[int], pair: Pair, new: int) -> list[int]:
    """Replace a pair of neighbours by a new token, from left to right.

    >>> merge_pair([97, 97, 97, 98], (97, 97), 256)
    [256, 97, 98]
    """
    left, right = pair
    merged: list[int] = []
    i = 0
    while i < len(tokens):
        if tokens[i] == left and i + 1 < len(tokens) and tokens[i + 1] == right:
            merged.append(new)
            i += 2
        else:
            merged.append(tokens[i])
            i += 1
    return merged


class _Corpus:
    """The pre-tokens as tokens, and the counts of their pairs.

    Attributes:
        tokens: The bytes of every token, by id.
        n_tokens: The tokens of the whole corpus.
        pair_counts: How often each pair occurs.
        pairs_with_count: How many pairs occur that often.
    """

    def __init__(
        self,
        pre_tokens: Sequence[bytes],
        counts: Sequence[int],
        tie_break: TieBreak,
        tokens: list[list[int]],
    ) -> None:
        self.tokens = [bytes([byte]) for byte in range(256)]
        self.n_tokens = sum(
            len(pre_token) * n for pre_token, n in zip(pre_tokens, counts, strict=True)
        )
        self.pair_counts: defaultdict[Pair, int] = defaultdict(int)
        self._tie_break = tie_break
        self._pre_tokens = tokens
        self._pre_tokens += map(list, pre_tokens)
        self._pre_token_counts = counts
        # The pre-tokens that hold a pair, ascending; some may have lost it since.
        self._pre_tokens_with: defaultdict[Pair, list[int]] = defaultdict(list)
        for index, pre_token in enumerate(self._pre_tokens):
            for pair in pairwise(pre_token):
                self.pair_counts[pair] += counts[index]
                self._note_pre_token(pair, index)
        self.pairs_with_count = Counter(self.pair_counts.values())
        self._heap = [self._entry(pair) for pair in self.pair_counts]
        heapify(self._heap)

    def pop_best(self) -> tuple[Pair, int] | None:
        """Take the best pair out of the heap, with its count; None if no pair is left."""
        while self._heap:
            count_below_zero, _, pair = heappop(self._heap)
            count = self.pair_counts[pair]
            if count == -count_below_zero:
                return pair, count
            if count > 0:
                self.push(pair)
        return None

    def push(self, pair: Pair) -> None:
        """Put a pair into the heap as it is now."""
        heappush(self._heap, self._entry(pair))

    def merge(self, pair: Pair) -> None:
        """Make a token of a pair, wherever it occurs."""
        new = len(self.tokens)
        self.tokens.append(self.tokens[pair[0]] + self.tokens[pair[1]])
        changes: defaultdict[Pair, int] = defaultdict(int)
        for index in self._pre_tokens_with.pop(pair):
            before = self._pre_tokens[index]
            after = merge_pair(before, pair, new)
            if len(after) == len(before):
                continue
            count = self._pre_token_counts[index]
            for old_pair in pairwise(before):
                changes[old_pair] -= count
            for new_pair in pairwise(after):
                changes[new_pair] += count
                if new in new_pair:
                    self._note_pre_token(new_pair, index)
            self._pre_tokens[index] = after
            self.n_tokens -= count * (len(before) - len(after))
        for changed_pair, change in changes.items():
            if change:
                self._change_count(changed_pair, change)
                if new in changed_pair:
                    self.push(changed_pair)

    def _change_count(self, pair: Pair, change: int) -> None:
        count = self.pair_counts[pair]
        self.pairs_with_count[count] -= 1
        self.pairs_with_count[count + change] += 1
        self.pair_counts[pair] = count + change

    def _note_pre_token(self, pair: Pair, index: int) -> None:
        indexes = self._pre_tokens_with[pair]
        if not indexes or indexes[-1] != index:
            indexes.append(index)

    def _entry(self, pair: Pair) -> Entry:
        position = self._first_position(pair) if self._tie_break.looks_at_positions else (0, 0)
        return -self.pair_counts[pair], self._tie_break.order(pair, self.tokens, position), pair

    def _first_position(self, pair: Pair) -> Position:
        """Find where a pair that occurs is first met, and forget pre-tokens that have lost it."""
        indexes = self._pre_tokens_with[pair]
        for n_lost, index in enumerate(indexes):
            offset = 0
            for neighbours in pairwise(self._pre_tokens[index]):
                if neighbours == pair:
                    del indexes[:n_lost]
                    return index, offset
                offset += len(self.tokens[neighbours[0]])
        raise AssertionError(f"{pair} occurs, but in no pre-token")


SMALL_WORK = 50_000
"""Up to so many tokens to look at, one a microsecond, plain Python is as quick as anything else."""


def is_small(pre_tokens: PreTokenCounts, n_merges: int) -> bool:
    """Tell whether plain Python has little to do.

    A pre-token of n bytes is written anew by at most n - 1 merges.
    """
    work = 0
    for start, end in pairwise(pre_tokens.memory["offsets"]):
        work += (end - start) * min(end - start, n_merges)
        if work > SMALL_WORK:
            return False
    return True


class PythonTrainer:
    """The engine for small corpora; see `tokviz.training.python_trainer`."""

    name = "python"

    def __init__(self, pre_tokens: PreTokenCounts, settings: TrainSettings) -> None:
        """Count the pairs of the pre-tokens."""
        distinct, counts = (
            zip(*pre_tokens.pre_tokens(), strict=True) if len(pre_tokens) else ((), ())
        )
        self._min_count = settings.min_count
        self._n_wanted = settings.n_merges
        self._merges: list[Merge] = []
        self._n_tokens = pre_tokens.n_bytes
        self._tokens: list[list[int]] = []
        self._steps = learn_merges(
            distinct, counts, get_tie_break(settings.tie_break), settings.min_count, self._tokens
        )
        self.end: str | None = None
        """Why no further merge is possible, in words; None while one is."""

    @property
    def n_merges(self) -> int:
        """The merges so far."""
        return len(self._merges)

    @property
    def n_tokens(self) -> int:
        """The tokens of the whole corpus now."""
        return self._merges[-1].n_tokens if self._merges else self._n_tokens

    def advance(self, seconds: float) -> bool:
        """Merge for about that long; True when all is done."""
        until = time.monotonic() + seconds
        while len(self._merges) < self._n_wanted:
            merge = next(self._steps, None)
            if merge is None:
                self.end = why_it_ends(self._min_count)
                return True
            self._merges.append(merge)
            if time.monotonic() >= until:
                return False
        return True

    def merges_from(self, first: int) -> list[tuple[int, int, int]]:
        """Give the merges from an index on: left id, right id, count."""
        return [(*merge.pair, merge.count) for merge in self._merges[first:]]

    def occurrences(self, counts: Iterable[FileCounts]) -> tuple[Memory, Memory]:
        """Say which merges, from 0 on, have happened in some of the pre-tokens, and how often."""
        uses = [0] * (N_BYTES + self.n_merges)
        for _, pre_tokens, times in counts:
            for pre_token, n in zip(pre_tokens, times, strict=True):
                for token in self._tokens[pre_token]:
                    uses[token] += n
        # Wherever a token is there was one of each of its parts before.
        for number in range(self.n_merges - 1, -1, -1):
            for part in self._merges[number].pair:
                uses[part] += uses[N_BYTES + number]
        made = uses[N_BYTES:]
        return _column("i", compress(range(len(made)), made)), _column("q", filter(None, made))

    def history(self) -> TrainingHistory:
        """Give all merges so far."""
        merges = self._merges
        nobody = (NO_TOKEN, NO_TOKEN)
        runners_up = [merge.runner_up or nobody for merge in merges]
        return TrainingHistory(
            left_id=_column("i", (merge.pair[0] for merge in merges)),
            right_id=_column("i", (merge.pair[1] for merge in merges)),
            new_id=_column("i", range(N_BYTES, N_BYTES + len(merges))),
            count=_column("q", (merge.count for merge in merges)),
            n_tied=_column("i", (merge.n_tied for merge in merges)),
            runner_up_left=_column("i", (pair[0] for pair in runners_up)),
            runner_up_right=_column("i", (pair[1] for pair in runners_up)),
            runner_up_count=_column("q", (merge.runner_up_count for merge in merges)),
            n_tokens=_column("q", (merge.n_tokens for merge in merges)),
        )


def _column(item_type: str, values: Iterable[int]) -> memoryview:
    return memoryview(array(item_type, values))


def why_it_ends(min_count: int) -> str:
    """Say why training ends before its goal."""
    if min_count > 1:
        return f"no pair occurs {min_count:,} times or more"
    return "no pair is left to merge"
