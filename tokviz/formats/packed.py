"""The stored form of a rank vocabulary: ready for lookups without being parsed.

A `.ranks` file holds the tokens of ranks 0 … n-1, little endian, no padding:

| bytes | content |
|---|---|
| 16 | `tokviz ranks 1` and two newlines |
| 4 | n, the number of tokens |
| 4 (n + 1) | where each token's bytes start in the blob; the last one is the blob's length |
| 4 n | the ranks in the order of their tokens' bytes, for binary search |
| rest | the blob: all tokens, one behind another |

It says exactly as much as tiktoken's `.tiktoken` form (`base64(token) rank` a line), which
`to_tiktoken` gives back byte for byte.
"""

from __future__ import annotations

import mmap
import os
import sys
from array import array
from base64 import b64decode, b64encode
from bisect import bisect_left
from itertools import accumulate, pairwise

from tokviz.errors import InputFileError, VocabularyError

MAGIC = b"tokviz ranks 1\n\n"


class PackedRanks:
    """A rank vocabulary in its stored form, mapped into memory.

    Attributes:
        n_tokens: The number of tokens; their ranks are 0 … n_tokens - 1.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Map a `.ranks` file.

        Raises:
            InputFileError: If it is missing or no such file.
        """
        try:
            with open(path, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise InputFileError(path, str(error)) from None
        if mapped[: len(MAGIC)] != MAGIC:
            raise InputFileError(path, "is no packed vocabulary")
        head = len(MAGIC) + 4
        self.n_tokens = n = int.from_bytes(mapped[len(MAGIC) : head], "little")
        self._data = mapped
        self._blob_start = head + 4 * (2 * n + 1)
        table = memoryview(mapped)[head : self._blob_start]
        if sys.byteorder == "little":
            numbers: memoryview | array[int] = table.cast("I")
        else:
            numbers = array("I", table.tobytes())
            numbers.byteswap()
        self._starts = numbers[: n + 1]
        self._by_bytes = numbers[n + 1 :]
        if self._blob_start + self._starts[n] != len(mapped):
            raise InputFileError(path, "is cut off")

    def token(self, rank: int) -> bytes:
        """Give the bytes of a rank that exists."""
        base = self._blob_start
        return self._data[base + self._starts[rank] : base + self._starts[rank + 1]]

    def get(self, token: bytes) -> int | None:
        """Find a token's rank, None if it is not in the vocabulary."""
        index = bisect_left(self._by_bytes, token, key=self.token)
        if index == self.n_tokens:
            return None
        rank = self._by_bytes[index]
        return rank if self.token(rank) == token else None

    def tokens(self) -> list[bytes]:
        """List all tokens by rank."""
        blob = self._data[self._blob_start :]
        starts = self._starts.tolist()
        return [blob[a:b] for a, b in pairwise(starts)]


def pack(tokens: list[bytes]) -> bytes:
    """Render tokens, listed by rank, in the stored form."""
    order = sorted(range(len(tokens)), key=tokens.__getitem__)
    numbers = array("I", [0, *accumulate(map(len, tokens)), *order])
    if sys.byteorder != "little":
        numbers.byteswap()
    head = MAGIC + len(tokens).to_bytes(4, "little")
    return head + numbers.tobytes() + b"".join(tokens)


def to_tiktoken(tokens: list[bytes]) -> bytes:
    """Render tokens, listed by rank, in tiktoken's form."""
    return b"".join(b"%s %d\n" % (b64encode(token), rank) for rank, token in enumerate(tokens))


def from_tiktoken(data: bytes) -> list[bytes]:
    """Read tiktoken's form of a vocabulary without gaps: its tokens by rank.

    Raises:
        VocabularyError: If a line is malformed or the ranks are not 0, 1, 2, …
    """
    tokens: list[bytes] = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            encoded, rank = line.split()
            token = b64decode(encoded, validate=True)
            expected = int(rank) == len(tokens)
        except ValueError:
            raise VocabularyError(f"line {number}: is not `base64 rank`") from None
        if not expected:
            raise VocabularyError(f"line {number}: rank {len(tokens)} was to come, not {int(rank)}")
        tokens.append(token)
    return tokens
