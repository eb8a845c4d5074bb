"""The stored form of a rank vocabulary: ready for lookups without being parsed.

A `.ranks` file holds the tokens of ranks 0 … n-1, little endian, no padding:

| bytes | content |
|---|---|
| 16 | `tokviz ranks 2` and two newlines |
| 4 | n, the number of tokens |
| 4 (n + 1) | where each token's bytes start in the blob; the last one is the blob's length |
| 4 (b + 1) | where each bucket starts in the next table; b is the largest power of two ≤ n |
| 4 n | the ranks by bucket: a token's bucket is the CRC-32 of its bytes, modulo b |
| rest | the blob: all tokens, one behind another |

It says exactly as much as tiktoken's `.tiktoken` form (`base64(token) rank` a line).
"""

from __future__ import annotations

import mmap
import sys
from array import array
from binascii import crc32
from collections.abc import Sequence
from itertools import pairwise

from tokviz.errors import InputFileError
from tokviz.files import StrPath

MAGIC = b"tokviz ranks 2\n\n"


class PackedRanks:
    """A rank vocabulary in its stored form, mapped into memory.

    Attributes:
        n_tokens: The number of tokens; their ranks are 0 … n_tokens - 1.
        gaps: The ranks that no token has: none.
    """

    gaps: Sequence[int] = ()

    def __init__(self, path: StrPath) -> None:
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
            raise InputFileError(path, "is not a packed vocabulary")
        head = len(MAGIC) + 4
        self.n_tokens = n = int.from_bytes(mapped[len(MAGIC) : head], "little")
        self._data = mapped
        n_buckets = n_buckets_for(n)
        self._blob_start = head + 4 * (n + 1 + n_buckets + 1 + n)
        if len(mapped) < self._blob_start:
            raise InputFileError(path, "is cut off")
        table = memoryview(mapped)[head : self._blob_start]
        if sys.byteorder == "little":
            numbers: memoryview | array[int] = table.cast("I")
        else:
            numbers = array("I", table.tobytes())
            numbers.byteswap()
        self._starts = numbers[: n + 1]
        self._bucket_starts = numbers[n + 1 : n + n_buckets + 2]
        self._by_bucket = numbers[n + n_buckets + 2 :]
        self._last_bucket = n_buckets - 1
        if self._blob_start + self._starts[n] != len(mapped):
            raise InputFileError(path, "is cut off")

    def token(self, rank: int) -> bytes:
        """Give the bytes of a rank that exists."""
        base = self._blob_start
        return self._data[base + self._starts[rank] : base + self._starts[rank + 1]]

    def get(self, token: bytes) -> int | None:
        """Find a token's rank, None if it is not in the vocabulary."""
        bucket = crc32(token) & self._last_bucket
        first, last = self._bucket_starts[bucket], self._bucket_starts[bucket + 1]
        for rank in self._by_bucket[first:last]:
            if self.token(rank) == token:
                return rank
        return None

    def tokens(self) -> list[bytes]:
        """List all tokens by rank."""
        blob = self._data[self._blob_start :]
        starts = self._starts.tolist()
        return [blob[a:b] for a, b in pairwise(starts)]


def n_buckets_for(n_tokens: int) -> int:
    """Choose so many that a bucket holds one or two tokens."""
    return 1 << max(n_tokens.bit_length() - 1, 0)
