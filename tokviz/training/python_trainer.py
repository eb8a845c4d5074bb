"""Byte pair encoding learned in plain Python: the module to read first.

A corpus is cut into pre-tokens, and equal pre-tokens are stored once with their count. At first,
every token is one byte. Then, repeatedly, the most frequent pair of neighboring tokens becomes a
new token, everywhere. This is byte pair encoding (Sennrich et al. 2016,
https://arxiv.org/abs/1508.07909; on bytes since GPT-2).

The textbook counts all pairs again at every step (see `tests/oracles/train.py`). Here only the
pre-tokens that contain the merged pair are counted again. Two facts keep this simple:

- A single merge creates all occurrences of a pair: the merge that creates the newer of its two
  tokens. So all pre-tokens that contain the pair are known then.
- Later, a pair's count only falls, and its first occurrence only moves to the right. So a heap may
  contain old values: the top entry is compared with the current value, and pushed again if that is
  worse.

`tokviz.training.merge_kernels` does the same for large corpora, with the same merges and history.
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

HeapEntry = tuple[int, Any, Pair]
"""A pair in the heap: its negative count, its key for ties, the pair. The smallest is the best."""


class Merge(NamedTuple):
    """One merge and its alternatives.

    Attributes:
        pair: The ids of the merged tokens.
        count: Occurrences of the pair, including overlapping ones.
        n_tied: Number of pairs with this count, including this one.
        runner_up: The second-best pair; None if there is no other.
        runner_up_count: Its occurrences.
        n_tokens: Tokens of the corpus after the merge.
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
    """Learn merges one by one, until no pair occurs often enough.

    The bytes are the tokens 0 to 255; the new tokens have the ids from 256.

    Args:
        pre_tokens: The distinct pre-tokens, in the order of their first occurrence in the corpus.
        counts: The number of occurrences of each pre-token.
        tie_break: The tie-breaking rule.
        min_count: The lowest count at which a pair is merged.
        tokens: Receives the tokens of every pre-token, and is updated by every merge.

    >>> from tokviz.training.ties import TIE_BREAKS
    >>> merges = learn_merges([b"aaabdaaabac"], [1], TIE_BREAKS["first"])
    >>> for merge, _ in zip(merges, range(3)):
    ...     print(merge.pair, merge.count, merge.n_tied, merge.n_tokens)
    (97, 97) 4 1 9
    (256, 97) 2 2 7
    (257, 98) 2 1 5
    """
    corpus = PairCorpus(pre_tokens, counts, tie_break, [] if tokens is None else tokens)
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
    """Replace a pair of neighbors by a new token, from left to right.

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


class PairCorpus:
    """The pre-tokens as tokens, and the counts of their pairs.

    A subclass can count, merge or update the counts in another way.

    Attributes:
        tokens: The bytes of every token, by id.
        n_tokens: Tokens of the whole corpus.
        pair_counts: Occurrences of each pair.
        pairs_with_count: Number of pairs by count.
    """

    def __init__(
        self,
        pre_tokens: Sequence[bytes],
        counts: Sequence[int],
        tie_break: TieBreak,
        tokens: list[list[int]],
    ) -> None:
        """Count the pairs; see `learn_merges`."""
        self.tokens = [bytes([byte]) for byte in range(256)]
        self.n_tokens = sum(
            len(pre_token) * n for pre_token, n in zip(pre_tokens, counts, strict=True)
        )
        self.pair_counts: defaultdict[Pair, int] = defaultdict(int)
        self._tie_break = tie_break
        self._pre_tokens = tokens
        self._pre_tokens += map(list, pre_tokens)
        self._pre_token_counts = counts
        # Pre-tokens that contain a pair, ascending; some may no longer contain it.
        self._pre_tokens_with: defaultdict[Pair, list[int]] = defaultdict(list)
        for index, pre_token in enumerate(self._pre_tokens):
            for pair in self.pairs(pre_token):
                self.pair_counts[pair] += counts[index]
                self._note_pre_token(pair, index)
        self.pairs_with_count = Counter(self.pair_counts.values())
        self._heap = [self._entry(pair) for pair in self.pair_counts]
        heapify(self._heap)

    def pairs(self, tokens: list[int]) -> Iterable[Pair]:
        """Return the pairs to count in a pre-token."""
        return pairwise(tokens)

    def replace(self, tokens: list[int], pair: Pair, new: int) -> list[int]:
        """Replace a pair in a pre-token by a new token."""
        return merge_pair(tokens, pair, new)

    def changes(
        self, before: list[int], after: list[int], pair: Pair, new: int
    ) -> Iterator[tuple[Pair, int]]:
        """Yield the pairs whose counts a merge changes in a pre-token, with the difference."""
        for old_pair in self.pairs(before):
            yield old_pair, -1
        for new_pair in self.pairs(after):
            yield new_pair, 1

    def pop_best(self) -> tuple[Pair, int] | None:
        """Remove the best pair from the heap and return it with its count; None if none is left."""
        while self._heap:
            count_below_zero, _, pair = heappop(self._heap)
            count = self.pair_counts[pair]
            if count == -count_below_zero:
                return pair, count
            if count > 0:
                self.push(pair)
        return None

    def push(self, pair: Pair) -> None:
        """Add a pair to the heap with its current values."""
        heappush(self._heap, self._entry(pair))

    def merge(self, pair: Pair) -> None:
        """Replace every occurrence of a pair by a new token."""
        new = len(self.tokens)
        self.tokens.append(self.tokens[pair[0]] + self.tokens[pair[1]])
        changes: defaultdict[Pair, int] = defaultdict(int)
        for index in self._pre_tokens_with.pop(pair):
            before = self._pre_tokens[index]
            after = self.replace(before, pair, new)
            if len(after) == len(before):
                continue
            count = self._pre_token_counts[index]
            for changed_pair, n in self.changes(before, after, pair, new):
                changes[changed_pair] += n * count
                if n > 0 and new in changed_pair:
                    self._note_pre_token(changed_pair, index)
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

    def _entry(self, pair: Pair) -> HeapEntry:
        position = self.first_position(pair) if self._tie_break.needs_position else (0, 0)
        return -self.pair_counts[pair], self._tie_break.order(pair, self.tokens, position), pair

    def first_position(self, pair: Pair) -> Position:
        """Find the first occurrence of a pair, and drop pre-tokens that no longer contain it."""
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
"""Up to this number of tokens to visit, at 1 µs each, plain Python is as fast as compiled loops."""


def is_small(pre_tokens: PreTokenCounts, n_merges: int) -> bool:
    """Return whether the corpus is small enough for plain Python.

    At most n - 1 merges change a pre-token of n bytes.
    """
    work = 0
    for start, end in pairwise(pre_tokens.memory["offsets"]):
        work += (end - start) * min(end - start, n_merges)
        if work > SMALL_WORK:
            return False
    return True


class PythonTrainer:
    """Training engine for small corpora; `CompiledTrainer` has the same interface.

    Attributes:
        end: The reason why no further merge is possible; None while one is.
    """

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

    @property
    def n_merges(self) -> int:
        """Number of merges so far."""
        return len(self._merges)

    @property
    def n_tokens(self) -> int:
        """Current number of tokens of the whole corpus."""
        return self._merges[-1].n_tokens if self._merges else self._n_tokens

    def advance(self, seconds: float) -> bool:
        """Merge for about this long, and return whether training is finished."""
        until = time.monotonic() + seconds
        while len(self._merges) < self._n_wanted:
            merge = next(self._steps, None)
            if merge is None:
                self.end = why_training_ends(self._min_count)
                return True
            self._merges.append(merge)
            if time.monotonic() >= until:
                return False
        return True

    def merges_from(self, first: int) -> list[tuple[int, int, int]]:
        """Return the merges from an index: left id, right id, count."""
        return [(*merge.pair, merge.count) for merge in self._merges[first:]]

    def occurrences(self, counts: Iterable[FileCounts]) -> tuple[Memory, Memory]:
        """Return the merges (indexes from 0) that were applied in some pre-tokens, with counts."""
        uses = [0] * (N_BYTES + self.n_merges)
        for _, pre_tokens, times in counts:
            for pre_token, n in zip(pre_tokens, times, strict=True):
                for token in self._tokens[pre_token]:
                    uses[token] += n
        # Each occurrence of a token was made from one occurrence of each of its two parts.
        for number in range(self.n_merges - 1, -1, -1):
            for part in self._merges[number].pair:
                uses[part] += uses[N_BYTES + number]
        made = uses[N_BYTES:]
        return _column("i", compress(range(len(made)), made)), _column("q", filter(None, made))

    def history(self) -> TrainingHistory:
        """Return the history of the merges so far."""
        return history_of(self._merges)


def history_of(merges: Sequence[Merge]) -> TrainingHistory:
    """Convert merges to a history."""
    no_pair = (NO_TOKEN, NO_TOKEN)
    runners_up = [merge.runner_up or no_pair for merge in merges]
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


def why_training_ends(min_count: int) -> str:
    """Return the reason why training ends early."""
    if min_count > 1:
        return f"no pair occurs {min_count:,} times or more"
    return "no pair is left to merge"
