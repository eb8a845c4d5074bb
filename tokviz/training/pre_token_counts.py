"""Counts of the distinct pre-tokens of a corpus: all that training needs to know of it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import mul, sub
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tokviz.kernels.memory import Column, HasMemory

if TYPE_CHECKING:
    from tokviz.kernels.memory import Memory

T = TypeVar("T")

Tick = Callable[[int], bool]
"""`tick(n_unique)` is called often while counting; it returns True to stop."""


class FileCounts(NamedTuple):
    """Counts of pre-tokens in a file, or in a part of one.

    Attributes:
        file: The index of the file in the corpus.
        pre_tokens: Indexes of pre-tokens. Shape (n,), int32.
        times: The number of occurrences of each. Shape (n,), int64.
    """

    file: int
    pre_tokens: Memory
    times: Memory


class PreTokenCounts(HasMemory):
    """The distinct pre-tokens of a corpus in the order of their first occurrence.

    Attributes:
        data: The bytes of all pre-tokens, concatenated. Shape (total,), uint8.
        offsets: The start of each pre-token in `data`, then the end of the last one.
            Shape (m + 1,), int64.
        counts: The number of occurrences of each pre-token. Shape (m,), int64.
        memory: The memory of these arrays by name.
        n_bytes: Bytes of all occurrences: the corpus without special tokens and delimiters.
        n_chars: Characters of all occurrences; a byte that is not UTF-8 counts as one.
        n_invalid: Bytes of all occurrences that are not UTF-8.
        n_documents: Number of documents that are not empty.
        complete: False if counting was stopped before the end of the corpus.
        by_file: Counts of the tracked files (see `Corpus.tracked_files`). They are dropped after
            training, because they may be larger than the pre-tokens.
    """

    data = Column()
    offsets = Column()
    counts = Column()

    def __init__(
        self,
        data: Memory,
        offsets: Memory,
        counts: Memory,
        *,
        lengths: Memory | None = None,
        n_occurrences: int | None = None,
        n_bytes: int = 0,
        n_chars: int = 0,
        n_invalid: int = 0,
        n_documents: int = 0,
        complete: bool = True,
        by_file: Sequence[FileCounts] = (),
    ) -> None:
        """Create the counts from their arrays and totals."""
        self.memory = {"data": data, "offsets": offsets, "counts": counts}
        self._lengths, self._n_occurrences = lengths, n_occurrences
        self.n_bytes = n_bytes
        self.n_chars = n_chars
        self.n_invalid = n_invalid
        self.n_documents = n_documents
        self.complete = complete
        self.by_file = by_file

    @classmethod
    def of(cls, counts: Mapping[bytes, int], **totals: Any) -> PreTokenCounts:
        """Create the counts from a mapping in the order of the first occurrences."""
        lengths = array("q", map(len, counts))
        return cls(
            data=memoryview(bytearray().join(counts)),
            offsets=memoryview(array("q", accumulate(lengths, initial=0))),
            counts=memoryview(array("q", counts.values())),
            lengths=memoryview(lengths),
            n_bytes=sum(map(mul, lengths, counts.values())),
            **totals,
        )

    def __len__(self) -> int:
        """Return the number of distinct pre-tokens."""
        return len(self.memory["counts"])

    def lengths(self) -> Memory:
        """Return the number of bytes of every pre-token; int64."""
        if self._lengths is None:
            offsets = self.memory["offsets"].tolist()
            self._lengths = memoryview(array("q", map(sub, offsets[1:], offsets)))
        return self._lengths

    def n_occurrences(self) -> int:
        """Return the number of occurrences of all pre-tokens."""
        if self._n_occurrences is None:
            self._n_occurrences = sum(self.memory["counts"].tolist())
        return self._n_occurrences

    def pre_tokens(self) -> Iterator[tuple[bytes, int]]:
        """Iterate over the pre-tokens with their counts."""
        data, offsets = self.memory["data"].tobytes(), self.memory["offsets"].tolist()
        for index, n in enumerate(self.memory["counts"].tolist()):
            yield data[offsets[index] : offsets[index + 1]], n


def counts_by_file(
    pre_tokens: Iterable[T], by_file: Iterable[tuple[int, Mapping[T, int]]]
) -> list[FileCounts]:
    """Convert counts of pre-tokens in files to `FileCounts`, which contain indexes."""
    found = [*by_file]
    place = {pre_token: place for place, pre_token in enumerate(pre_tokens)} if found else {}
    return [
        FileCounts(
            file,
            memoryview(array("i", map(place.__getitem__, counts))),
            memoryview(array("q", counts.values())),
        )
        for file, counts in found
    ]
