"""The compiled loops of the Replay with their memory: join times and pair counts of a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokviz.process.runner import raise_if_stopped
from tokviz.training.history import TrainingHistory
from tokviz.training.pre_token_counts import PreTokenCounts
from tokviz.training.replay import join_kernels as joining
from tokviz.training.replay import pair_kernels as pairing
from tokviz.training.replay.pairs import CorpusTimes, CountedPair, TieOrder
from tokviz.training.replay.table import empty_table, new_table, slots_for

if TYPE_CHECKING:
    from tokviz.training.replay.pairs import Int32s, Int64s
    from tokviz.training.settings import IdLayout

_CHUNK_BYTES = 1 << 15
"""Bytes of pre-tokens joined at a time, so that their data stays in the processor cache."""

_CHUNKS_AT_ONCE = 64
"""Chunks that are joined between two checks for cancellation."""

_LEAST_SLOTS = 1 << 10
_BYTES_PER_SLOT = 4
_FIRST_TIED = 1 << 12
_BYTES_PER_PLACE = 40
"""Applying one replacement takes about as long as counting this many bytes again."""


class CompiledCorpus(NamedTuple):
    """A corpus with its join times.

    Attributes:
        times: The join times.
        removed: By merge number, the number of tokens that the merge removes from the corpus; the
            last element counts the bytes that no merge joins.
        pairs: The pairs before the first merge.
    """

    times: CorpusTimes
    removed: Int64s
    pairs: CompiledPairs


def compiled_corpus(
    pre_tokens: PreTokenCounts, history: TrainingHistory, layout: IdLayout
) -> CompiledCorpus:
    """Compute the join times of a corpus, and count its pairs.

    Args:
        pre_tokens: The pre-tokens of the corpus.
        history: The merges.
        layout: The ids of the tokens in the history.
    """
    lefts, rights = map(layout.numbers_of, (history.left_id, history.right_id))
    times, removed = joined_by(pre_tokens, lefts, rights)
    raise_if_stopped()
    pairs = CompiledPairs(times)
    raise_if_stopped()
    pairs.move_to(0)
    return CompiledCorpus(times, removed, pairs)


def joined_by(
    pre_tokens: PreTokenCounts, lefts: Int32s, rights: Int32s, chunk_bytes: int = _CHUNK_BYTES
) -> tuple[CorpusTimes, Int64s]:
    """Return the join times and the tokens each merge removes, for merges of token numbers."""
    n_merges = len(lefts)
    table = new_table(slots_for(n_merges), 2)
    joining.index_merges(lefts, rights, n_merges, table, len(table))
    data, offsets = pre_tokens.data, pre_tokens.offsets
    chunks = _chunks(offsets, chunk_bytes)
    room = int(np.diff(offsets[chunks]).max(initial=0))
    cells = np.empty((room, joining.N_CELL), np.int32)
    queues = np.full((n_merges, 2), joining.NONE, np.int32)
    joined = np.empty(len(data), np.int32)
    removed = np.zeros(n_merges + 2, np.int64)
    for first in range(0, len(chunks) - 1, _CHUNKS_AT_ONCE):
        raise_if_stopped()
        some = chunks[first : first + _CHUNKS_AT_ONCE + 1]
        joining.join(
            data, offsets, pre_tokens.counts, some, len(some) - 1, n_merges, table, len(table),
            queues, cells, joined, removed,
        )  # fmt: skip
    return CorpusTimes(data, offsets, pre_tokens.counts, joined, n_merges), removed


def _chunks(offsets: Int64s, chunk_bytes: int) -> Int64s:
    """Divide the pre-tokens into chunks of about `chunk_bytes`; return their starts and the end."""
    chunks, n_pre_tokens = [0], len(offsets) - 1
    while (first := chunks[-1]) < n_pre_tokens:
        last = int(np.searchsorted(offsets, offsets[first] + chunk_bytes, side="right")) - 1
        chunks.append(min(max(last, first + 1), n_pre_tokens))
    return np.array(chunks, np.int64)


class CompiledPairs:
    """The pairs of a large corpus; moving to a nearby k counts only what the merges change."""

    def __init__(self, times: CorpusTimes) -> None:
        """Create from the join times of the corpus."""
        self._n_merges = n_merges = times.n_merges
        pre_token_of = np.empty(len(times.data), np.int32)
        joining.number_pre_tokens(times.offsets, len(times.counts), pre_token_of)
        arrays: tuple[Any, ...] = (
            *(times.data, times.offsets, times.counts),
            *(pre_token_of, times.joined),
        )
        self._times = pairing.Times(*arrays)
        self._n_bytes, self._n_pre_tokens = len(times.data), len(times.counts)
        self._starts = np.zeros(n_merges + 2, np.int64)
        self._places = np.empty(int((times.joined <= n_merges).sum()), np.int32)
        joining.sort_by_merge(times.joined, self._n_bytes, n_merges, self._starts, self._places)
        n_slots = max(_LEAST_SLOTS, 1 << (self._n_bytes // _BYTES_PER_SLOT).bit_length())
        self._table = empty_table(n_slots, pairing.N_COLUMNS)
        self._numbers = np.zeros(pairing.N_NUMBERS, np.int64)
        self._numbers[pairing.K] = -1
        self._least_count = 0

    @property
    def _counts(self) -> pairing.PairCounts:
        arrays: tuple[Any, ...] = (self._table, self._numbers)
        return pairing.PairCounts(*arrays)

    @property
    def k(self) -> int:
        """Number of merges applied, -1 before the first count."""
        return int(self._numbers[pairing.K])

    def positions_of(self, k: int) -> Int64s:
        """Return the bytes that merge k joins to the byte before, ascending."""
        return self._places[self._starts[k] : self._starts[k + 1]].astype(np.int64)

    def move_to(self, k: int) -> None:
        """Move to the state after k merges."""
        if self.k >= 0:
            low, high = sorted((k, self.k))
            n_places = int(self._starts[high + 1] - self._starts[low + 1])
            if n_places * _BYTES_PER_PLACE <= self._n_bytes:
                self.walk_to(k)
        if self.k != k:
            self._count(k)

    def walk_to(self, k: int) -> None:
        """Apply or undo merges one by one, as long as the table has room."""
        pairing.walk(self._times, self._counts, len(self._table), self._starts, self._places, k)

    def _count(self, k: int) -> None:
        """Count all pairs again; the table grows until less than half of it is used."""
        while not pairing.count_pairs(
            self._times, self._n_pre_tokens, k, self._counts, len(self._table),
            np.empty((pairing.AHEAD, 3), np.int64),
        ):  # fmt: skip
            self._table = empty_table(2 * len(self._table), pairing.N_COLUMNS)
        self._least_count = 0

    def pair_count(self, left: int, right: int) -> int:
        """Count the occurrences of a pair, including overlapping ones."""
        slot = pairing.slot_of(self._table, len(self._table), left, right)
        return int(self._table[slot, pairing.COUNT])

    def top(self, n: int, order: TieOrder) -> list[CountedPair]:
        """Return the most frequent pairs in the order in which they would be merged."""
        if n < 1:
            return []
        least = self._least_count
        slots = self._slots_from(least) if least else np.empty(0, np.int64)
        if len(slots) < n:
            best_counts = np.empty(n, np.int64)
            lowest = pairing.nth_highest_count(self._table, len(self._table), n, best_counts)
            slots = self._slots_from(lowest)
        pairs, counts = self._table[slots, 0], self._table[slots, pairing.COUNT]
        if len(counts) > n:
            least = int(np.partition(counts, -n)[-n])
            best = counts >= least
            slots, pairs, counts = slots[best], pairs[best], counts[best]
            # A merge changes the highest counts little, so the next call can search the table once.
            self._least_count = least * 7 // 8
        lefts, rights = pairs >> 32, pairs & 0xFFFFFFFF
        keys = order.keys(lefts, rights, lambda: self._first_places(slots))
        first = np.lexsort((keys, -counts))[:n]
        columns = (lefts[first].tolist(), rights[first].tolist(), counts[first].tolist())
        return [CountedPair(*row) for row in zip(*columns, strict=True)]

    def _slots_from(self, least: int) -> Int64s:
        """Return the slots of the pairs that occur at least `least` times."""
        table, n_slots = self._table, len(self._table)
        slots = np.empty(_FIRST_TIED, np.int64)
        n_found = pairing.slots_from(table, n_slots, least, slots, len(slots))
        if n_found > len(slots):
            slots = np.empty(n_found, np.int64)
            pairing.slots_from(table, n_slots, least, slots, n_found)
        return slots[:n_found]

    def _first_places(self, slots: Int64s) -> Int64s:
        """Return the first position of each pair."""
        pairing.settle_first(
            self._times, self._n_pre_tokens, self.k, self._table, len(self._table),
            slots, len(slots), np.zeros(256 + self._n_merges, np.uint8),
        )  # fmt: skip
        places: Int64s = self._table[slots, pairing.FIRST]
        return places
