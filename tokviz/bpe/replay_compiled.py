"""Runs the compiled loops of the Replay: makes room for them and keeps the counts of one k."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tokviz.bpe import replay_join_kernels as joining
from tokviz.bpe import replay_pair_kernels as pairing
from tokviz.bpe.counting import PieceCounts
from tokviz.bpe.replay_pairs import CorpusTimes, CountedPair, TieOrder, ranked
from tokviz.bpe.replay_table import FREE, Int32s, Int64s, new_table, slots_for
from tokviz.compiled import is_compiled

if TYPE_CHECKING:
    from tokviz.bpe.history import TrainingHistory

_CHUNK_BYTES = 1 << 15
"""So many bytes of pieces are joined at a time: what is needed for them stays in the cache."""

_LEAST_SLOTS = 1 << 10
_BYTES_PER_SLOT = 4
_FIRST_TIED = 1 << 12
_BYTES_PER_PLACE = 40
"""Doing one place of a merge takes about as long as counting so many bytes anew."""


def kernels_are_compiled() -> bool:
    """Tell whether the loops can run without waiting for the compiler."""
    loops: tuple[Callable[..., object], ...] = (
        joining.index_merges,
        joining.join,
        joining.sort_by_merge,
        pairing.count_pairs,
        pairing.step,
        pairing.nth_highest_count,
        pairing.slots_from,
        pairing.slot_of,
        pairing.settle_first,
    )
    return all(map(is_compiled, loops))


def compile_kernels() -> None:
    """Have the loops compiled now, or loaded; takes some seconds once on a machine."""
    pieces = PieceCounts(
        np.frombuffer(b"abab", np.uint8).copy(),
        np.array([0, 4], np.int64),
        np.array([1], np.int64),
        n_bytes=4,
        n_chars=4,
        n_invalid=0,
        n_documents=1,
    )
    merges = np.array([[97, 98]], np.int32)
    times, _ = joined_by(pieces, merges[:, 0].copy(), merges[:, 1].copy())
    pairs = CompiledPairs(times)
    for k in range(2):
        pairs.move_to(k)
        pairs.top(2, TieOrder("first", [bytes([byte]) for byte in range(256)] + [b"ab"]))
        pairs.pair_count(97, 98)
    pairs._walk_to(0)


def compiled_times(
    pieces: PieceCounts, history: TrainingHistory, first_byte_id: int
) -> tuple[CorpusTimes, Int64s]:
    """Work out when the bytes of a corpus come together.

    Args:
        pieces: The pieces of the corpus.
        history: The merges.
        first_byte_id: What the ids in the history are ahead of the tokens' numbers.

    Returns:
        The times, and by merge number the tokens that the merge removes from the corpus; the last
        number stands for the bytes that no merge joins.
    """
    lefts = (history.left_id - first_byte_id).astype(np.int32)
    rights = (history.right_id - first_byte_id).astype(np.int32)
    return joined_by(pieces, lefts, rights)


def joined_by(
    pieces: PieceCounts, lefts: Int32s, rights: Int32s, chunk_bytes: int = _CHUNK_BYTES
) -> tuple[CorpusTimes, Int64s]:
    """Do what `compiled_times` does, for merges of token numbers."""
    n_merges = len(lefts)
    table = new_table(slots_for(n_merges), 2)
    joining.index_merges(lefts, rights, table)
    # Numba would compile everything again for an array that cannot be written to.
    data, offsets = pieces.data.copy(), pieces.offsets
    chunks = _chunks(offsets, chunk_bytes)
    room = max((int(offsets[last] - offsets[first]) for first, last in chunks), default=0)
    cells = np.empty((room, joining.N_CELL), np.int32)
    queues = np.full((n_merges, 2), joining.NONE, np.int32)
    joined = np.empty(len(data), np.int32)
    removed = np.zeros(n_merges + 2, np.int64)
    for first, last in chunks:
        joining.join(
            data, offsets, pieces.counts, first, last, table, queues, cells, joined, removed
        )
    return CorpusTimes(data, offsets, pieces.counts, joined, n_merges), removed


def _chunks(offsets: Int64s, chunk_bytes: int) -> list[tuple[int, int]]:
    """Cut the pieces into stretches of about so many bytes: give (first, last) of each."""
    chunks = []
    first, n_pieces = 0, len(offsets) - 1
    while first < n_pieces:
        last = int(np.searchsorted(offsets, offsets[first] + chunk_bytes, side="right")) - 1
        last = min(max(last, first + 1), n_pieces)
        chunks.append((first, last))
        first = last
    return chunks


class CompiledPairs:
    """The pairs of a large corpus; to a k nearby only what the merges change is counted again."""

    def __init__(self, times: CorpusTimes) -> None:
        """Take the corpus."""
        lengths = np.diff(times.offsets)
        self._times = times
        self._piece_of = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        self._starts = np.zeros(times.n_merges + 2, np.int64)
        self._places = np.empty(int((times.joined <= times.n_merges).sum()), np.int32)
        joining.sort_by_merge(times.joined, self._starts, self._places)
        n_slots = max(_LEAST_SLOTS, 1 << (len(times.data) // _BYTES_PER_SLOT).bit_length())
        self._table = new_table(n_slots, pairing.N_COLUMNS)
        self._tokens = np.empty(256 + times.n_merges, np.int64)
        self._n_pairs = 0
        self._least_wanted = 0
        self._k = -1

    def positions_of(self, k: int) -> Int64s:
        """Give the bytes that merge k joins to the byte before, ascending."""
        return self._places_of(k).astype(np.int64)

    def _places_of(self, k: int) -> Int32s:
        return self._places[self._starts[k] : self._starts[k + 1]]

    def move_to(self, k: int) -> None:
        """Make it the state after k merges."""
        if self._k >= 0:
            low, high = sorted((k, self._k))
            n_places = int(self._starts[high + 1] - self._starts[low + 1])
            if n_places * _BYTES_PER_PLACE <= len(self._times.data):
                self._walk_to(k)
        if self._k != k:
            self._count(k)

    def _walk_to(self, k: int) -> None:
        """Do or undo one merge after the other, as long as the table has room."""
        times = self._times
        while self._k != k:
            forward = k > self._k
            number = self._k + 1 if forward else self._k
            places = self._places_of(number)
            if 8 * (self._n_pairs + 3 * len(places)) > 5 * len(self._table):
                return
            n_new = pairing.step(
                times.data, times.offsets, times.counts, self._piece_of, times.joined, places,
                number, 1 if forward else -1, self._table, self._tokens,
            )  # fmt: skip
            self._n_pairs += int(n_new)
            self._k += 1 if forward else -1

    def _count(self, k: int) -> None:
        """Count all pairs anew; the table grows until less than half of it is used."""
        times = self._times
        while True:
            self._table[:] = (FREE, 0, 0)
            self._tokens.fill(0)
            n_pairs = pairing.count_pairs(
                times.data, times.offsets, times.counts, times.joined, k, self._table, self._tokens
            )
            if n_pairs >= 0:
                break
            self._table = new_table(2 * len(self._table), pairing.N_COLUMNS)
        self._n_pairs, self._k, self._least_wanted = int(n_pairs), k, 0

    def pair_count(self, left: int, right: int) -> int:
        """Count the occurrences of a pair, overlapping ones too."""
        slot = pairing.slot_of(self._table, left, right)
        return int(self._table[slot, pairing.COUNT])

    def token_count(self, token: int) -> int:
        """Count the occurrences of a token."""
        return int(self._tokens[token])

    def top(self, n: int, order: TieOrder) -> list[CountedPair]:
        """List the most frequent pairs in the order in which they would be merged."""
        if n < 1:
            return []
        least = self._least_wanted
        slots = self._slots_from(least) if least else np.empty(0, np.int64)
        if len(slots) < n:
            slots = self._slots_from(int(pairing.nth_highest_count(self._table, n)))
        pairs, counts = self._table[slots, 0], self._table[slots, pairing.COUNT]
        if len(counts) > n:
            least = int(np.partition(counts, -n)[-n])
            best = counts >= least
            slots, pairs, counts = slots[best], pairs[best], counts[best]
            # Steps change the highest counts little: next time one look at the table will do.
            self._least_wanted = least * 7 // 8
        lefts, rights = pairs >> 32, pairs & 0xFFFFFFFF
        keys = order.keys(lefts, rights, lambda: self._first_places(slots))
        return ranked(lefts, rights, counts, keys, n)

    def _slots_from(self, least: int) -> Int64s:
        """Find the pairs that occur at least so often."""
        slots = np.empty(_FIRST_TIED, np.int64)
        n_found = int(pairing.slots_from(self._table, least, slots))
        if n_found > len(slots):
            slots = np.empty(n_found, np.int64)
            pairing.slots_from(self._table, least, slots)
        return slots[:n_found]

    def _first_places(self, slots: Int64s) -> Int64s:
        """Find where pairs that occur are first met."""
        times = self._times
        pairing.settle_first(
            times.data, times.offsets, self._piece_of, times.joined, self._k, self._table, slots,
            len(self._tokens),
        )  # fmt: skip
        places: Int64s = self._table[slots, pairing.FIRST]
        return places
