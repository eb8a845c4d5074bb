"""Count token occurrences in a document, and find their positions on request."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from threading import Lock

from tokviz.live.chunks import Chunk, ChunkTokens


class TokenCounts:
    """Counts of every token id in the encoded chunks of a document. Thread-safe.

    One thread may add tokens while another removes them: in either order, they are not counted in
    the end.

    Attributes:
        n_changed: Number of chunks whose text was normalized before it was encoded.
    """

    __slots__ = ("_counts", "_lock", "n_changed")

    def __init__(self) -> None:
        """Create empty counts."""
        self._counts: Counter[int] = Counter()
        self._lock = Lock()
        self.n_changed = 0

    def __getitem__(self, token_id: int) -> int:
        """Return the number of occurrences of a token."""
        return self._counts[token_id]

    def as_dict(self) -> dict[int, int]:
        """Return a copy of the counts, by token id."""
        with self._lock:
            return {token_id: number for token_id, number in self._counts.items() if number > 0}

    def add(self, tokens: Iterable[ChunkTokens]) -> None:
        """Count the tokens of chunks, unless they were removed before."""
        with self._lock:
            wanted = [part for part in tokens if part.wanted]
            self._counts.update(
                chain.from_iterable(part.ids for part in wanted if part.counts is None)
            )
            for part in wanted:
                self._counts.update(part.counts or ())
                part.counted = True
                self.n_changed += part.changed

    def remove(self, tokens: Iterable[ChunkTokens]) -> None:
        """Remove, permanently, the tokens of chunks that are no longer part of the document."""
        removed: Counter[int] = Counter()
        with self._lock:
            counts = self._counts
            for part in tokens:
                part.wanted = False
                if part.counted:
                    removed.update(part.ids if part.counts is None else part.counts)
                    self.n_changed -= part.changed
            for token_id, number in removed.items():
                left = counts[token_id] - number
                if left:
                    counts[token_id] = left
                else:
                    del counts[token_id]


def numbers_in(token_id: int, text: str, chunk: Chunk) -> list[int]:
    """Return the positions of a token among the tokens of a chunk, ascending.

    Args:
        token_id: The token.
        text: Text that the chunk must contain if it contains the token.
        chunk: The chunk.
    """
    if chunk.tokens is None or (len(chunk.parts) == 1 and text not in chunk.text):
        return []
    return numbers_of(chunk.tokens.ids, token_id)


def numbers_of(ids: array[int], token_id: int) -> list[int]:
    """Return every position of a token in an array of ids, ascending, by searching its bytes.

    >>> numbers_of(array("I", [7, 1, 7]), 7)
    [0, 2]
    """
    size = ids.itemsize
    needle = token_id.to_bytes(size, sys.byteorder)
    data = ids.tobytes()
    numbers: list[int] = []
    at = data.find(needle)
    while at >= 0:
        if at % size == 0:
            numbers.append(at // size)
        at = data.find(needle, at + 1)
    return numbers
