"""A growing table of pre-tokens and their counts, filled by compiled loops."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tokviz.kernels.memory import longer, zeros
from tokviz.tokenizer.pretokenize.scan import Scanner
from tokviz.tokenizer.pretokenize.scan_table import scan_table
from tokviz.training import counting_kernels
from tokviz.training.corpus.text_blocks import TextBlock
from tokviz.training.counting_kernels import (
    BATCH,
    DONE,
    FULL,
    MOST_BYTES,
    MOST_PRE_TOKENS,
    N_NUMBERS,
    N_SLOTS,
    N_UNIQUE,
    POSITION,
    TEXT,
    WANTED_BYTES,
    Table,
)
from tokviz.training.pre_token_counts import FileCounts, PreTokenCounts

if TYPE_CHECKING:
    from tokviz.kernels.memory import Memory

FIRST_SLOTS = 1 << 17
FIRST_DATA_BYTES = 1 << 20
BYTES_AT_ONCE = 1 << 22  # about 40 ms


class PreTokenTable:
    """Hash table of pre-tokens in the order of their first occurrence.

    Attributes:
        table: The memory that the kernels use.
    """

    def __init__(self, n_slots: int = FIRST_SLOTS) -> None:
        """Create an empty table.

        Args:
            n_slots: The initial size of the hash table, a power of two.
        """
        n_pre_tokens = n_slots // 2
        self.table = Table(
            slots=zeros(2 * n_slots, "q"),
            counts=zeros(n_pre_tokens, "q"),
            offsets=zeros(n_pre_tokens + 1, "q"),
            data=zeros(FIRST_DATA_BYTES, "B"),
            numbers=zeros(N_NUMBERS, "q"),
            reached=zeros(2, "q"),
            pre_tokens=zeros(2 * BATCH, "q"),
            keys=zeros(BATCH, "q"),
        )
        self._before, self._pre_tokens, self._times = zeros(0, "q"), zeros(0, "i"), zeros(0, "q")
        self._note_sizes()

    @classmethod
    def of(cls, data: Memory, offsets: Memory, counts: Memory) -> PreTokenTable:
        """Create a table from distinct pre-tokens, which cannot be looked up.

        Args:
            data: The bytes of all pre-tokens, concatenated.
            offsets: The start of each pre-token in `data`, then the end of the last one; int64.
            counts: The number of occurrences of each; int64.
        """
        made = cls(2)
        columns: dict[str, Any] = {"data": data, "offsets": offsets, "counts": counts}
        made.table = made.table._replace(**columns)
        made.table.numbers[N_UNIQUE] = len(counts)
        return made

    def __len__(self) -> int:
        """Return the number of distinct pre-tokens."""
        return self.table.numbers[N_UNIQUE]

    @property
    def data(self) -> memoryview:
        """The bytes of all pre-tokens, concatenated."""
        return memoryview(self.table.data)[: self.table.offsets[len(self)]]

    @property
    def offsets(self) -> memoryview:
        """The start of each pre-token in `data`, then the end of the last one; int64."""
        return memoryview(self.table.offsets)[: len(self) + 1]

    @property
    def counts(self) -> memoryview:
        """The number of occurrences of each pre-token; int64."""
        return memoryview(self.table.counts)[: len(self)]

    def count(self, block: TextBlock, scanner: Scanner, should_stop: Callable[[], bool]) -> int:
        """Count the pre-tokens of a block's texts, and return the start of the undecided rest.

        That is the end of the last text, unless it is open or counting was stopped.
        """
        reached = self.table.reached
        reached[TEXT], reached[POSITION] = 0, block.starts[0]
        texts = scanner.texts(block.data, block.starts, block.ends, is_open=block.is_open)
        while True:
            reason = counting_kernels.count_texts(texts, self.table, BYTES_AT_ONCE)
            if reason == FULL:
                self._make_room()
            elif reason == DONE or should_stop():
                return reached[POSITION]

    def add(self, other: PreTokenTable, first: int, last: int) -> None:
        """Add pre-tokens `first` to `last` of a table, whose counts are replaced by indexes."""
        while first < last:
            first = counting_kernels.add_pre_tokens(other.table, first, last, self.table)
            if first < last:
                self._make_room()

    def take_new(self, file: int) -> FileCounts:
        """Return the counts since the previous call, which are those of a file."""
        n, room = len(self), self.table.numbers[MOST_PRE_TOKENS]
        if len(self._before) < n:
            self._before = longer(self._before, room)
            self._pre_tokens, self._times = zeros(room, "i"), zeros(room, "q")
        found = self._pre_tokens, self._times
        n_found = counting_kernels.take_new(self.counts, n, self._before, *found)
        pre_tokens, times = (array(part.format, part[:n_found].tobytes()) for part in found)
        return FileCounts(file, memoryview(pre_tokens), memoryview(times))

    def counted(
        self, n_documents: int, complete: bool, by_file: Sequence[FileCounts]
    ) -> PreTokenCounts:
        """Return the counts of the pre-tokens, with totals."""
        sums = array("q", [0, 0, 0])
        lengths = zeros(len(self), "q")
        pre_tokens = self.data, self.offsets, self.counts
        n_bytes = counting_kernels.measure(*pre_tokens, len(self), scan_table(), lengths, sums)
        return PreTokenCounts(
            *pre_tokens,
            lengths=lengths,
            n_occurrences=sums[2],
            n_bytes=n_bytes,
            n_chars=sums[0],
            n_invalid=sums[1],
            n_documents=n_documents,
            complete=complete,
            by_file=by_file,
        )

    def _make_room(self) -> None:
        """Enlarge the table for the pre-token that did not fit."""
        table = self.table
        n_unique, n_slots = table.numbers[N_UNIQUE], table.numbers[N_SLOTS]
        if n_unique == table.numbers[MOST_PRE_TOKENS]:
            slots = zeros(4 * n_slots, "q")
            counting_kernels.rehash(table.slots, n_slots, slots, 2 * n_slots)
            table = table._replace(
                slots=slots,
                counts=longer(table.counts, n_slots),
                offsets=longer(table.offsets, n_slots + 1),
            )
        needed = table.offsets[n_unique] + table.numbers[WANTED_BYTES]
        if needed > len(table.data):
            table = table._replace(data=longer(table.data, max(needed, len(table.data) * 3 // 2)))
        self.table = table
        self._note_sizes()

    def _note_sizes(self) -> None:
        table = self.table
        table.numbers[N_SLOTS] = len(table.slots) // 2
        table.numbers[MOST_PRE_TOKENS] = len(table.counts)
        table.numbers[MOST_BYTES] = len(table.data)
