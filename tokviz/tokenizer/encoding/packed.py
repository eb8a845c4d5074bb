"""The stored form of a rank vocabulary, which supports lookups without parsing.

A `.ranks` file contains the tokens of ranks 0 … n-1, little-endian, without padding:

| bytes | content |
|---|---|
| 16 | `tokviz ranks 2` and two newlines |
| 4 | n, the number of tokens |
| 4 (n + 1) | start of each token in the blob; the last one is the blob's length |
| 4 (b + 1) | start of each bucket in the next table; b is the largest power of two ≤ n |
| 4 n | the ranks by bucket: a token's bucket is the CRC-32 of its bytes, modulo b |
| rest | the blob: all tokens, concatenated |

It contains the same information as tiktoken's `.tiktoken` form (lines of `base64(token) rank`).
"""

from __future__ import annotations

import mmap
import sys
from array import array
from binascii import crc32
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from operator import sub
from typing import Any

from tokviz.errors import InputFileError, VocabularyError
from tokviz.storage.files import StrPath
from tokviz.tokenizer.encoding.encoded import Columns
from tokviz.tokenizer.encoding.merging import Merge, PairRank, merge_pre_token

MAGIC = b"tokviz ranks 2\n\n"


class PackedRanks:
    """A rank vocabulary in its stored form, mapped into memory."""

    by_ranks = True
    """Any two neighbors whose concatenation has a rank merge, and a token's id is its rank."""

    def __init__(self, path: StrPath, ids: array[int] | None = None) -> None:
        """Map a `.ranks` file into memory.

        Args:
            path: The file.
            ids: The ascending ranks of its tokens, if not 0 … n-1.

        Raises:
            InputFileError: If it is missing or not a `.ranks` file.
        """
        try:
            with open(path, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise InputFileError(path, str(error)) from None
        self._set(mapped, path, ids)

    @classmethod
    def of(cls, data: bytes, ids: array[int] | None = None) -> PackedRanks:
        """Create from the stored form, and the ascending ranks of its tokens if there are gaps."""
        self = cls.__new__(cls)
        self._set(data, "", ids)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling by the stored form."""
        return PackedRanks.of, self.content

    @property
    def content(self) -> tuple[bytes, array[int] | None]:
        """All that the others are computed from: the stored form, and the ranks if not 0 … n-1."""
        return self.data[:], self.sparse_ids

    def _set(self, data: mmap.mmap | bytes, path: StrPath, ids: array[int] | None) -> None:
        if data[: len(MAGIC)] != MAGIC:
            raise InputFileError(path, "is not a packed vocabulary")
        head = len(MAGIC) + 4
        n = int.from_bytes(data[len(MAGIC) : head], "little")
        self.data, self.sparse_ids = data, ids
        self.merge_of = lru_cache(_CACHED_MERGES)(self._merge_of)
        self._merges: list[Merge] | None = None
        self._ids: Sequence[int] = range(n) if ids is None else ids
        n_buckets = n_buckets_for(n)
        self._blob_start = head + 4 * (n + 1 + n_buckets + 1 + n)
        if len(data) < self._blob_start:
            raise InputFileError(path, "is truncated")
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
            raise InputFileError(path, "is truncated")

    def ids(self) -> Sequence[int]:
        """Return the ranks of the tokens, ascending."""
        return self._ids

    def token(self, token_id: int) -> bytes | None:
        """Return a token's bytes, None if no token has this id."""
        index = self.place(token_id)
        return None if index is None else self.at(index) or None

    def place(self, rank: int) -> int | None:
        """Return the place of a rank among all tokens, None if no token has it."""
        if self.sparse_ids is None:
            return rank if 0 <= rank < len(self._ids) else None
        index = bisect_left(self.sparse_ids, rank)
        is_there = index < len(self.sparse_ids) and self.sparse_ids[index] == rank
        return index if is_there else None

    def at(self, index: int) -> bytes:
        """Return the bytes of a token by its place among all tokens."""
        base = self._blob_start
        return self.data[base + self._starts[index] : base + self._starts[index + 1]]

    def index(self, token: bytes) -> int | None:
        """Return a token's place among all tokens, None if it is not in the vocabulary."""
        bucket = crc32(token) & self._last_bucket
        first, last = self._bucket_starts[bucket], self._bucket_starts[bucket + 1]
        for index in self._by_bucket[first:last]:
            if self.at(index) == token:
                return index
        return None

    def id_of(self, token: bytes) -> int | None:
        """Return a token's rank, None if it is not in the vocabulary."""
        index = self.index(token)
        return None if index is None else self._ids[index]

    def tokens(self) -> list[bytes]:
        """Return all tokens by place."""
        blob = self.data[self._blob_start :]
        return [blob[a:b] for a, b in pairwise(self._starts.tolist())]

    def lengths(self) -> array[int]:
        """Return the number of bytes of every token, by place."""
        starts = self._starts.tolist()
        return array("I", map(sub, starts[1:], starts))

    def columns(self) -> Columns:
        """Return the tokens in the form that compiled code uses."""
        starts = array("I", self._starts.tobytes())
        return Columns(bytes(self.data[self._blob_start :]), starts, self.sparse_ids)

    def rank(self, token_id: int) -> int | None:
        """Return a token's rank, which equals its id."""
        return None if self.token(token_id) is None else token_id

    first_rank = rank

    def first_ranks(self) -> Sequence[int]:
        """Return the ranks of all tokens, in the order of their ids."""
        return self._ids

    def pair_rank(self, left: bytes, right: bytes) -> int | None:
        """Return the rank of the concatenation, None if it is not a token."""
        return self.id_of(left + right)

    @cached_property
    def _unmerged_ids(self) -> list[int]:
        return [i for i, n in zip(self._ids, self.lengths(), strict=True) if n < 2]

    def merge_number(self, rank: int) -> int:
        """Return the number of the merge with this rank, from 1.

        Every token of two bytes or more counts as a merge, the lowest rank first.
        """
        index = rank if self.sparse_ids is None else bisect_left(self.sparse_ids, rank)
        return index - bisect_left(self._unmerged_ids, rank) + 1

    def _merge_of(self, token_id: int) -> Merge | None:
        """Recover the merge that makes a token, by merging its bytes with lower ranks only.

        Source: `recover_merges` in karpathy/minbpe `gpt4.py`.

        Returns:
            The two tokens; None for a single byte and for a token that no merge reaches.
        """
        return _last_merge(self.token(token_id) or b"", token_id, self.pair_rank)

    def merges(self) -> list[Merge]:
        """Recover all merges, lowest rank first; the first call can take seconds."""
        if self._merges is None:
            rank_of = dict(zip(self.tokens(), self._ids, strict=True))

            def pair_rank(left: bytes, right: bytes) -> int | None:
                return rank_of.get(left + right)

            merges = (_last_merge(token, rank, pair_rank) for token, rank in rank_of.items())
            self._merges = [merge for merge in merges if merge is not None]
        return self._merges


def _last_merge(token: bytes, rank: int, pair_rank: PairRank) -> Merge | None:
    parts = merge_pre_token(token, pair_rank, below=rank) if len(token) > 1 else ()
    return (parts[0], parts[1]) if len(parts) == 2 else None


def pack_ranks(tokens: Iterable[tuple[int, bytes]]) -> PackedRanks:
    """Pack tokens with their ids.

    Raises:
        VocabularyError: If tokens were crafted to make lookups slow.
    """
    listed = sorted(tokens)
    ids = array("I", [token_id for token_id, _ in listed])
    dense = not ids or ids[-1] == len(ids) - 1
    return PackedRanks.of(pack([token for _, token in listed]), None if dense else ids)


def pack(tokens: list[bytes]) -> bytes:
    """Return tokens, given by rank, in the stored form.

    Raises:
        VocabularyError: If tokens were crafted to make lookups slow.
    """
    n_buckets = n_buckets_for(len(tokens))
    bucket_of = [crc32(token) & (n_buckets - 1) for token in tokens]
    by_bucket = sorted(range(len(tokens)), key=bucket_of.__getitem__)
    sizes = [0] * n_buckets
    for bucket in bucket_of:
        sizes[bucket] += 1
    if max(sizes) > _MOST_IN_BUCKET:
        raise VocabularyError("too many of its tokens share a CRC-32: they were crafted")
    numbers = array("I", accumulate(map(len, tokens), initial=0))
    numbers.extend(accumulate(sizes, initial=0))
    numbers.extend(by_bucket)
    if sys.byteorder != "little":
        numbers.byteswap()
    head = MAGIC + len(tokens).to_bytes(4, "little")
    return b"".join((head, numbers.tobytes(), *tokens))


_MOST_IN_BUCKET = 64
"""In a vocabulary of millions of tokens, a bucket contains at most nine by chance."""


class PackedMerges:
    """A vocabulary and its merges in about 40 bytes per token, a tenth of Python objects.

    The merge with the lowest index is applied first, and leftmost first if it recurs. This differs
    from ranks of concatenations if two pairs have the same concatenation and only one is listed.

    Attributes:
        packed: The tokens.
        pairs: The two tokens of every merge, as places among the tokens.
        firsts: Index of the first merge that makes each token, `NO_MERGE` if there is none.
    """

    by_ranks = False

    def __init__(
        self,
        packed: PackedRanks,
        pairs: array[int],
        firsts: array[int],
        by_key: tuple[array[int], array[int]] | None = None,
    ) -> None:
        """Create from the parts that `pack_merges` computes, and `by_key` if already known."""
        self.packed, self.pairs, self.firsts = packed, pairs, firsts
        if by_key is not None:
            self.by_key = by_key
        self.id_of, self.ids = packed.id_of, packed.ids
        self.tokens, self.lengths = packed.tokens, packed.lengths
        # A text needs the same pairs again and again, and a lookup takes microseconds.
        self.pair_rank = lru_cache(_CACHED_PAIRS)(self._pair_rank)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling by the parts that the others are computed from."""
        return PackedMerges, (self.packed, self.pairs, self.firsts)

    @property
    def content(self) -> tuple[object, ...]:
        """All that the others are computed from."""
        return *self.packed.content, self.pairs

    @classmethod
    def none(cls, packed: PackedRanks) -> PackedMerges:
        """Return a vocabulary without merges."""
        return cls(packed, array("I"), array("I", [NO_MERGE]) * len(packed.ids()))

    def token(self, token_id: int) -> bytes | None:
        """Return a token's bytes, None if no token has this id."""
        return self.packed.token(token_id)

    def merges(self) -> list[Merge]:
        """Return all merges in order; equal tokens are the same object."""
        sides = map(self.tokens().__getitem__, self.pairs)
        return list(zip(sides, sides, strict=True))

    def columns(self) -> Columns:
        """Return the tokens and merges in the form that compiled code uses."""
        return self.packed.columns()._replace(pairs=self.pairs)

    def _pair_rank(self, left: bytes, right: bytes) -> int | None:
        """Return the index of a merge, the first if it is listed twice; None if not listed."""
        first, second = self.packed.index(left), self.packed.index(right)
        if first is None or second is None:
            return None
        keys, ranks = self.by_key
        key = first << 32 | second
        place = bisect_left(keys, key)
        return ranks[place] if place < len(keys) and keys[place] == key else None

    @cached_property
    def by_key(self) -> tuple[array[int], array[int]]:
        """Distinct merges as `left << 32 | right`, ascending, and the index of each.

        If a pair is listed several times, only the first counts.
        """
        sides = iter(self.pairs)
        keys = [left << 32 | right for left, right in zip(sides, sides, strict=True)]
        rank_of = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
        distinct = array("Q", sorted(rank_of))
        return distinct, array("I", [rank_of[key] for key in distinct])

    @cached_property
    def lists_again(self) -> bool:
        """True if several merges make one token, so that encoding may not apply the first listed.

        Files converted from ranks list every pair that makes a token.
        """
        n_made = len(self.firsts) - self.firsts.count(NO_MERGE)
        return len(self.pairs) > 2 * n_made

    @cached_property
    def numbered(self) -> Sequence[int]:
        """The ranks of the numbered merges.

        Neighbors in the list that make the same token are one merge: files converted from ranks
        list every pair that makes a token, of which only one ever happens.
        """
        if not self.lists_again:
            return range(len(self.pairs) // 2)
        made = [left + right for left, right in self.merges()]
        return [at for at, token in enumerate(made) if at == 0 or token != made[at - 1]]

    def merge_number(self, rank: int) -> int:
        """Return the number of the merge with this rank, from 1; see `numbered`."""
        return bisect_right(self.numbered, rank)

    def first_ranks(self) -> Sequence[int]:
        """Return the first merge that makes each token; see `firsts`."""
        return self.firsts

    def first_rank(self, token_id: int) -> int | None:
        """Return the index of the first merge listed for a token; encoding may apply another."""
        index = self.packed.place(token_id)
        rank = NO_MERGE if index is None else self.firsts[index]
        return None if rank == NO_MERGE else rank

    def rank(self, token_id: int) -> int | None:
        """Return the index of the merge that makes a token when its bytes are encoded."""
        first = self.first_rank(token_id)
        if first is None or not self.lists_again:
            return first
        token, applied = self.packed.token(token_id) or b"", list[int]()
        tokens = merge_pre_token(
            token, self.pair_rank, on_merge=lambda _, rank: applied.append(rank)
        )
        return applied[-1] if tokens == [token] else None

    def merge_of(self, token_id: int) -> Merge | None:
        """Return the merge that makes a token, None if no merge does; see `rank`."""
        rank = self.rank(token_id)
        if rank is None:
            return None
        at = self.packed.at
        return at(self.pairs[2 * rank]), at(self.pairs[2 * rank + 1])


NO_MERGE = 0xFFFF_FFFF
_CACHED_PAIRS, _CACHED_MERGES = 1 << 14, 1 << 12
_LARGEST_ID = 0xFFFF_FFFF


def pack_merges(tokens: Iterable[tuple[int, bytes]], merges: Sequence[Merge]) -> PackedMerges:
    """Pack a vocabulary of (id, bytes) and its merges.

    Raises:
        VocabularyError: If a part or the product of a merge is not a token, or if tokens were
            crafted to make lookups slow.
    """
    packed = pack_ranks(tokens)
    index_of = {token: index for index, token in enumerate(packed.tokens() if merges else ())}
    try:
        lefts = [index_of[left] for left, _ in merges]
        rights = [index_of[right] for _, right in merges]
        products = [index_of[left + right] for left, right in merges]
    except KeyError as missing:
        faulty = (n for n, (a, b) in enumerate(merges) if missing.args[0] in (a, b, a + b))
        rank = next(faulty)
        left, right = merges[rank]
        reason = f"merge {rank} ({left!r} + {right!r}): {missing.args[0]!r} is not a token"
        raise VocabularyError(reason) from None
    firsts = array("I", [NO_MERGE]) * len(packed.ids())
    for rank, product in enumerate(products):
        if firsts[product] == NO_MERGE:
            firsts[product] = rank
    return PackedMerges(packed, _pairs(array("I", lefts), array("I", rights)), firsts)


def pack_trained(
    first_byte: int, first_merged: int, tokens: list[bytes], lefts: array[int], rights: array[int]
) -> PackedMerges:
    """Pack a trained vocabulary: the 256 bytes, followed by one token per merge.

    Args:
        first_byte: The id of the byte 0.
        first_merged: The id of the first merged token.
        tokens: The bytes of all tokens.
        lefts: The left token of every merge, by its place among the tokens; typecode "I".
        rights: The right one.

    Raises:
        VocabularyError: If two tokens have the same bytes.
    """
    n_merges = len(lefts)
    bytes_, merged = (range(i, i + n) for i, n in ((first_byte, 256), (first_merged, n_merges)))
    ids = array("I", [*bytes_, *merged]) if first_merged > 256 else None
    if len({*tokens}) < len(tokens):
        check_tokens(dict(zip(ids or range(len(tokens)), tokens, strict=True)))
    firsts = array("I", [NO_MERGE]) * 256 + array("I", range(n_merges))
    return PackedMerges(PackedRanks.of(pack(tokens), ids), _pairs(lefts, rights), firsts)


def _pairs(lefts: array[int], rights: array[int]) -> array[int]:
    pairs = array("I", bytes(8 * len(lefts)))
    pairs[::2], pairs[1::2] = lefts, rights
    return pairs


def check_tokens(vocab: Mapping[int, bytes]) -> None:
    """Check that tokens can be packed.

    Raises:
        VocabularyError: If two ids have the same bytes, a token is empty, or an id is out of range.
    """
    id_of: dict[bytes, int] = {}
    for token_id, token in vocab.items():
        if id_of.setdefault(token, token_id) != token_id:
            raise VocabularyError(f"tokens {id_of[token]} and {token_id} are both {token!r}")
    if b"" in id_of:
        raise VocabularyError(f"token {id_of[b'']} is empty: remove it")
    for token_id in (min(vocab, default=0), max(vocab, default=0)):
        if not 0 <= token_id <= _LARGEST_ID:
            limit = "negative" if token_id < 0 else "too large"
            raise VocabularyError(f"token id {token_id} is {limit}")


def n_buckets_for(n_tokens: int) -> int:
    """Return the number of buckets, such that a bucket contains one or two tokens."""
    return 1 << max(n_tokens.bit_length() - 1, 0)


Tables = PackedRanks | PackedMerges
"""A vocabulary without its special tokens, and its merges."""
