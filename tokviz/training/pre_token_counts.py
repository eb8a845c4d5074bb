"""Counts of the distinct pre-tokens of a corpus: all that training needs to know of it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import mul, sub
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tokviz.kernels.memory import Column

if TYPE_CHECKING:
    from tokviz.kernels.memory import Memory

T = TypeVar("T")

Tick = Callable[[int], bool]
"""`tick(n_unique)` is called often while counting; True asks to stop."""


class FileCounts(NamedTuple):
    """What a file has of the pre-tokens, or a part of what it has.

    Attributes:
        file: The file, by its place in the corpus.
        pre_tokens: Some of the pre-tokens, by their places. Shape (n,), int32.
        times: How often each occurs there. Shape (n,), int64.
    """

    file: int
    pre_tokens: Memory
    times: Memory


class PreTokenCounts:
    """The different pre-tokens of a corpus in the order of their first occurrence.

    Attributes:
        data: The bytes of all pre-tokens, one behind another. Shape (total,), uint8.
        offsets: Where each pre-token starts in `data`, and at last where the last one ends.
            Shape (m + 1,), int64.
        counts: How often each pre-token occurs. Shape (m,), int64.
        memory: What these arrays show, by name.
        n_bytes: The bytes of all occurrences: the corpus without special tokens and delimiters.
        n_chars: Their characters; a byte that is not UTF-8 counts as one.
        n_invalid: The bytes among them that are not UTF-8.
        n_documents: How many documents had any text.
        complete: False if counting was stopped before the end of the corpus.
        by_file: What the files have of them that are told apart (see `Corpus.apart`), until the
            merges are known; it may be larger than the pre-tokens.
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
        """Take the pre-tokens and what is known of them."""
        self.memory: dict[str, Memory] = {"data": data, "offsets": offsets, "counts": counts}
        self._lengths, self._n_occurrences = lengths, n_occurrences
        self.n_bytes = n_bytes
        self.n_chars = n_chars
        self.n_invalid = n_invalid
        self.n_documents = n_documents
        self.complete = complete
        self.by_file = by_file

    @classmethod
    def of(cls, counts: Mapping[bytes, int], **totals: Any) -> PreTokenCounts:
        """Take pre-tokens with their counts, in the order of their first occurrence."""
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
        """Count the different pre-tokens."""
        return len(self.memory["counts"])

    def lengths(self) -> Memory:
        """Give the length of every pre-token in bytes, as 64 bits."""
        if self._lengths is None:
            offsets = self.memory["offsets"].tolist()
            self._lengths = memoryview(array("q", map(sub, offsets[1:], offsets)))
        return self._lengths

    def n_occurrences(self) -> int:
        """Count all pre-tokens, as often as they occur."""
        if self._n_occurrences is None:
            self._n_occurrences = sum(self.memory["counts"].tolist())
        return self._n_occurrences

    def pre_tokens(self) -> Iterator[tuple[bytes, int]]:
        """Give each pre-token with its count."""
        data, offsets = self.memory["data"].tobytes(), self.memory["offsets"].tolist()
        for index, n in enumerate(self.memory["counts"].tolist()):
            yield data[offsets[index] : offsets[index + 1]], n


def counts_by_file(
    pre_tokens: Iterable[T], by_file: Iterable[tuple[int, Mapping[T, int]]]
) -> list[FileCounts]:
    """Give what files have of pre-tokens, which are named by their places from now on."""
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
