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
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from tokviz.encoding.encoded import Columns
from tokviz.encoding.model import Merge
from tokviz.errors import InputFileError, VocabularyError
from tokviz.files import StrPath

MAGIC = b"tokviz ranks 2\n\n"


class PackedRanks:
    """A rank vocabulary in its stored form, mapped into memory.

    Attributes:
        n_tokens: One more than the largest rank.
    """

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
        self._set(mapped, path, None)

    @classmethod
    def of(cls, data: bytes, ids: array[int] | None = None) -> PackedRanks:
        """Take the stored form, and the ranks of its tokens, ascending, if there are gaps."""
        self = cls.__new__(cls)
        self._set(data, "", ids)
        return self

    def _set(self, data: mmap.mmap | bytes, path: StrPath, ids: array[int] | None) -> None:
        if data[: len(MAGIC)] != MAGIC:
            raise InputFileError(path, "is not a packed vocabulary")
        head = len(MAGIC) + 4
        n = int.from_bytes(data[len(MAGIC) : head], "little")
        self.data, self.sparse_ids = data, ids
        self._ids: Sequence[int] = range(n) if ids is None else ids
        self.n_tokens = self._ids[-1] + 1 if n else 0
        n_buckets = n_buckets_for(n)
        self._blob_start = head + 4 * (n + 1 + n_buckets + 1 + n)
        if len(data) < self._blob_start:
            raise InputFileError(path, "is cut off")
        table = memoryview(data)[head : self._blob_start]
        if sys.byteorder == "little":
            numbers: memoryview | array[int] = table.cast("I")
        else:
            numbers = array("I", table.tobytes())
            numbers.byteswap()
        self._starts = numbers[: n + 1]
        self._bucket_starts = numbers[n + 1 : n + n_buckets + 2]
        self._by_bucket = numbers[n + n_buckets + 2 :]
        self._last_bucket = n_buckets - 1
        if self._blob_start + self._starts[n] != len(data):
            raise InputFileError(path, "is cut off")

    def ids(self) -> Sequence[int]:
        """List the ranks that tokens have, ascending."""
        return self._ids

    def token(self, rank: int) -> bytes:
        """Give the bytes of a rank below `n_tokens`; none if no token has it."""
        if self.sparse_ids is None:
            return self.at(rank)
        index = self.place(rank)
        return b"" if index is None else self.at(index)

    def place(self, rank: int) -> int | None:
        """Find a rank's place among all tokens, None if no token has it."""
        if not 0 <= rank < self.n_tokens:
            return None
        if self.sparse_ids is None:
            return rank
        index = bisect_left(self.sparse_ids, rank)
        return index if self.sparse_ids[index] == rank else None

    def at(self, index: int) -> bytes:
        """Give the bytes of a token by its place among all tokens."""
        base = self._blob_start
        return self.data[base + self._starts[index] : base + self._starts[index + 1]]

    def index(self, token: bytes) -> int | None:
        """Find a token's place among all tokens, None if it is not in the vocabulary."""
        bucket = crc32(token) & self._last_bucket
        first, last = self._bucket_starts[bucket], self._bucket_starts[bucket + 1]
        for index in self._by_bucket[first:last]:
            if self.at(index) == token:
                return index
        return None

    def get(self, token: bytes) -> int | None:
        """Find a token's rank, None if it is not in the vocabulary."""
        index = self.index(token)
        return None if index is None else self._ids[index]

    def columns(self) -> Columns:
        """Give the tokens as compiled code takes them."""
        starts = array("I", self._starts.tobytes())
        return Columns(bytes(self.data[self._blob_start :]), starts, self.sparse_ids)

    def tokens(self) -> list[bytes]:
        """List all tokens by rank; a gap is an empty one."""
        blob = self.data[self._blob_start :]
        listed = [blob[a:b] for a, b in pairwise(self._starts.tolist())]
        if self.sparse_ids is None:
            return listed
        spread = [b""] * self.n_tokens
        for rank, token in zip(self.sparse_ids, listed, strict=True):
            spread[rank] = token
        return spread


def pack_ranks(tokens: Iterable[tuple[int, bytes]]) -> PackedRanks:
    """Pack tokens with their ids.

    Raises:
        VocabularyError: If tokens were chosen so that looking one up would take long.
    """
    listed = sorted(tokens)
    ids = array("I", [token_id for token_id, _ in listed])
    dense = not ids or ids[-1] == len(ids) - 1
    return PackedRanks.of(pack([token for _, token in listed]), None if dense else ids)


def pack(tokens: list[bytes]) -> bytes:
    """Render tokens, listed by rank, in the stored form.

    Raises:
        VocabularyError: If tokens were chosen so that looking one up would take long.
    """
    n_buckets = n_buckets_for(len(tokens))
    bucket_of = array("I", [crc32(token) & (n_buckets - 1) for token in tokens])
    by_bucket = sorted(range(len(tokens)), key=bucket_of.__getitem__)
    sizes = array("I", bytes(4 * n_buckets))
    for bucket in bucket_of:
        sizes[bucket] += 1
    if max(sizes) > _MOST_IN_BUCKET:
        raise VocabularyError("too many of its tokens have the same CRC-32: they were made so")
    numbers = array("I", accumulate(map(len, tokens), initial=0))
    numbers.extend(accumulate(sizes, initial=0))
    numbers.extend(by_bucket)
    if sys.byteorder != "little":
        numbers.byteswap()
    head = MAGIC + len(tokens).to_bytes(4, "little")
    return b"".join((head, numbers.tobytes(), *tokens))


_MOST_IN_BUCKET = 64
"""By chance there are eight or nine at most, in millions of tokens."""


class PackedMerges:
    """A vocabulary and its merges in some 40 bytes a token; Python's own would be ten times that.

    Attributes:
        tokens: The tokens.
        pairs: The two tokens of every merge, as places among the tokens.
        keys: Every different merge as `left << 32 | right`, ascending.
        ranks: The index of the merge of each key; the first if it is listed twice.
        firsts: For every token the index of the first merge that makes it, `NO_MERGE` if none does.
        again: For every token whether several merges make it.
    """

    def __init__(
        self,
        tokens: PackedRanks,
        pairs: array[int],
        keys: array[int],
        ranks: array[int],
        firsts: array[int],
        again: bytes,
    ) -> None:
        """Take what `pack_merges` makes."""
        self.tokens, self.pairs, self.keys = tokens, pairs, keys
        self.ranks, self.firsts, self.again = ranks, firsts, again
        self.id_of, self.ids = tokens.get, tokens.ids
        # A text asks for the same pairs again and again, and a look-up takes microseconds.
        self.pair_rank = lru_cache(_CACHED_PAIRS)(self._pair_rank)

    @classmethod
    def none(cls, tokens: PackedRanks) -> PackedMerges:
        """Take tokens that nothing is known to lead to."""
        n = len(tokens.ids())
        empty = array("I")
        return cls(tokens, empty, array("Q"), empty, array("I", [NO_MERGE]) * n, bytes(n))

    def token(self, token_id: int) -> bytes | None:
        """Give a token's bytes, None if there is no such id."""
        index = self.tokens.place(token_id)
        return None if index is None else self.tokens.at(index)

    def merge(self, rank: int) -> Merge:
        """Give a merge by its index."""
        at = self.tokens.at
        return at(self.pairs[2 * rank]), at(self.pairs[2 * rank + 1])

    def merges(self) -> list[Merge]:
        """List all merges in order; tokens that are the same are the same object."""
        listed = [self.tokens.at(index) for index in range(len(self.firsts))]
        sides = map(listed.__getitem__, self.pairs)
        return list(zip(sides, sides, strict=True))

    def columns(self) -> Columns:
        """Give the tokens and merges as compiled code takes them."""
        return self.tokens.columns()._replace(pairs=self.pairs)

    def _pair_rank(self, left: bytes, right: bytes) -> int | None:
        """Give the index of a merge, the first if it is listed twice; None if it is not listed."""
        first, second = self.tokens.index(left), self.tokens.index(right)
        if first is None or second is None:
            return None
        key = first << 32 | second
        place = bisect_left(self.keys, key)
        found = place < len(self.keys) and self.keys[place] == key
        return self.ranks[place] if found else None

    def first_rank(self, token: bytes) -> int | None:
        """Give the index of the first merge that makes a token, None if none does."""
        index = self.tokens.index(token)
        rank = NO_MERGE if index is None else self.firsts[index]
        return None if rank == NO_MERGE else rank

    def is_listed_again(self, token: bytes) -> bool:
        """Tell whether several merges make a token."""
        index = self.tokens.index(token)
        return index is not None and self.again[index] > 0


NO_MERGE = 0xFFFF_FFFF
_CACHED_PAIRS = 1 << 16


def pack_merges(tokens: Iterable[tuple[int, bytes]], merges: Sequence[Merge]) -> PackedMerges:
    """Pack a vocabulary, (id, bytes), and its merges.

    Raises:
        VocabularyError: If a merge has a part or a product that is no token, or tokens were chosen
            so that looking one up would take long.
    """
    packed = pack_ranks(tokens)
    n = len(packed.ids())
    index_of = {packed.at(index): index for index in range(n if merges else 0)}
    pairs = array("I")
    firsts = array("I", [NO_MERGE]) * n
    again = bytearray(n)
    for rank, (left, right) in enumerate(merges):
        try:
            product = index_of[left + right]
            pairs.extend((index_of[left], index_of[right]))
        except KeyError as missing:
            reason = f"merge {rank} ({left!r} + {right!r}): {missing.args[0]!r} is not a token"
            raise VocabularyError(reason) from None
        if firsts[product] == NO_MERGE:
            firsts[product] = rank
        else:
            again[product] = 1
    keys = array(
        "Q", [left << 32 | right for left, right in zip(pairs[::2], pairs[1::2], strict=True)]
    )
    ranks = array("I")
    by_key = sorted(range(len(keys)), key=keys.__getitem__)
    distinct = array("Q")
    for rank in by_key:
        if not distinct or keys[rank] != distinct[-1]:
            distinct.append(keys[rank])
            ranks.append(rank)
    return PackedMerges(packed, pairs, distinct, ranks, firsts, bytes(again))


def n_buckets_for(n_tokens: int) -> int:
    """Choose so many that a bucket holds one or two tokens."""
    return 1 << max(n_tokens.bit_length() - 1, 0)
