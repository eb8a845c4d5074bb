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

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

from tokviz.training.ties import Pair, Position, TieBreak

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
