"""Counting pieces with the compiled scanner and the compiled hash table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tokviz.bpe.counting import PieceCounts, Tick
from tokviz.bpe.counting_kernels import count, move, number
from tokviz.compiled import is_compiled
from tokviz.corpus.text_blocks import TextBlock
from tokviz.pretokenize.scan import Scanner
from tokviz.pretokenize.scan_kernels import measure, scan
from tokviz.pretokenize.scan_table import scan_table

Number = TypeVar("Number", np.uint8, np.int64)

KERNELS: tuple[Callable[..., object], ...] = (scan, count, number, move, measure)
"""What has to be compiled once on every machine; see `tokviz.compiled.is_compiled`."""

_PADDING = 8  # the kernels read words
_FIRST_SLOTS = 1 << 16
_FIRST_DATA_BYTES = 1 << 20


class CompiledCounter:
    """Counts with compiled loops; memory grows with the different pieces, not with the corpus.

    Attributes:
        n_unique: How many different pieces there are so far.
    """

    def __init__(self, scanner: Scanner, n_slots: int = _FIRST_SLOTS) -> None:
        """Take the scanner that cuts texts into pieces, and the hash table's size to begin with."""
        self.n_unique = 0
        self._scanner = scanner
        self._slots = np.zeros((n_slots, 2), np.uint64)
        self._counts = np.zeros(n_slots // 2, np.int64)
        self._offsets = np.zeros(n_slots // 2 + 1, np.int64)
        self._data = np.zeros(_FIRST_DATA_BYTES, np.uint8)
        self._buffer = np.zeros(0, np.uint8)
        self._undecided: list[bytes] = []
        self._scan_at = 0

    def add(self, block: TextBlock, tick: Tick) -> None:
        """Count the texts of a block; the undecided end of the last one waits while it is open."""
        if self._waits(block):
            return
        starts, ends = self._fill_buffer(block)
        last_start = done = int(starts[-1])
        batches = self._scanner.batches(self._buffer, starts, ends, is_open=block.is_open)
        for pieces in batches:
            self._count(pieces)
            done = int(pieces[-1, 1])
            if tick(self.n_unique):
                return
        if block.is_open:
            rest = self._buffer[max(done, last_start) : ends[-1]].tobytes()
            self._undecided.append(rest)
            self._scan_at = 2 * len(rest)

    def _waits(self, block: TextBlock) -> bool:
        """Let a piece without an end grow to double its size before it is looked at again.

        So the time for a piece longer than many blocks is linear in its length.
        """
        if not (block.is_open and len(block.starts) == 1 and self._undecided):
            return False
        self._undecided.append(block.data[block.starts[0] : block.ends[0]])
        if sum(map(len, self._undecided)) < self._scan_at:
            return True
        self._undecided.pop()
        return False

    def _fill_buffer(self, block: TextBlock) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Put the undecided bytes and a block into the buffer; give where its texts are."""
        undecided = b"".join(self._undecided)
        self._undecided.clear()
        first = block.starts[0]
        size = len(undecided) + len(block.data) - first
        if len(self._buffer) < size + _PADDING:
            self._buffer = np.zeros(size + size // 4 + _PADDING, np.uint8)
        self._buffer[: len(undecided)] = np.frombuffer(undecided, np.uint8)
        self._buffer[len(undecided) : size] = np.frombuffer(block.data, np.uint8)[first:]
        shift = len(undecided) - first
        starts = np.array(block.starts, np.int64) + shift
        starts[0] = 0
        return starts, np.array(block.ends, np.int64) + shift

    def _count(self, pieces: NDArray[np.int64]) -> None:
        done = 0
        while True:
            done, self.n_unique = count(
                self._buffer,
                pieces,
                done,
                self.n_unique,
                self._slots,
                self._counts,
                self._offsets,
                self._data,
            )
            if done == len(pieces):
                return
            self._make_room(int(pieces[done, 1] - pieces[done, 0]))

    def _make_room(self, n_bytes: int) -> None:
        """Make room for one more piece of that many bytes."""
        if self.n_unique == len(self._counts):
            slots = np.zeros((2 * len(self._slots), 2), np.uint64)
            move(self._slots, slots)
            self._slots = slots
            self._counts = _longer(self._counts, len(slots) // 2)
            self._offsets = _longer(self._offsets, len(slots) // 2 + 1)
        needed = int(self._offsets[self.n_unique]) + n_bytes
        if needed > len(self._data):
            self._data = _longer(self._data, max(needed, len(self._data) * 3 // 2))

    def result(self, n_documents: int, complete: bool) -> PieceCounts:
        """Give what has been counted."""
        counts = self._counts[: self.n_unique].copy()
        offsets = self._offsets[: self.n_unique + 1].copy()
        data = self._data[: offsets[-1]].copy()
        n_chars, n_invalid = measure(data, offsets, counts, scan_table())
        return PieceCounts(
            data=data,
            offsets=offsets,
            counts=counts,
            n_bytes=int(np.diff(offsets) @ counts),
            n_chars=n_chars,
            n_invalid=n_invalid,
            n_documents=n_documents,
            complete=complete,
        )


def kernels_are_compiled() -> bool:
    """Tell whether counting can run without waiting for the compiler."""
    return all(map(is_compiled, KERNELS))


def compile_kernels() -> None:
    """Run every kernel once, so that it is compiled and in the cache."""
    counter = CompiledCounter(Scanner("GPT2"), n_slots=2)
    block = TextBlock(b" long words and short ones ", [0, 3], [3, 27], [False, True])
    counter.add(block, lambda _: False)
    counter.result(1, True)
    pieces, numbers = np.zeros((1, 2), np.int64), np.zeros(1, np.int64)
    buffer, slots = np.zeros(_PADDING, np.uint8), np.zeros((2, 2), np.uint64)
    number(buffer, pieces, 0, 0, slots, np.zeros(2, np.int64), buffer, numbers)


def _longer(array: NDArray[Number], length: int) -> NDArray[Number]:
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer
