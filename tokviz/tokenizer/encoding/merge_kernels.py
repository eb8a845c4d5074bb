"""Compiled merging: lowest rank first, leftmost first, until no adjacent pair has a rank.

`tokviz.tokenizer.encoding.merging.merge_pre_token` is the equivalent in Python.
"""

from __future__ import annotations

from typing import NamedTuple

from tokviz.kernels import Bytes, Int32s, Int64s, helper, integer
from tokviz.tokenizer.encoding.vocabulary_kernels import (
    BY_RANKS,
    NEVER,
    SINGLE,
    Vocabulary,
    find,
    rank_of_pair,
)

_SHORT = 64
"""Maximum length of a pre-token for which scanning all pairs is faster than a heap."""

_PLACE_BITS = 40  # low bits of a heap entry; the rank is above them


class Scratch(NamedTuple):
    """Memory for the tokens of a pre-token, during and after merging.

    Attributes:
        at: Start of each token in the pre-token; after the last one, its length.
        ranks: Rank at which each token merges with the next.
        places: Place of each token in the vocabulary.
        heap: Memory for twice as many pairs as the pre-token has bytes.
    """

    at: Int32s
    ranks: Int32s
    places: Int32s
    heap: Int64s


@helper
def _rank(
    tokens: Vocabulary, source: Bytes, n_bytes: int, start: int, end: int, left: int, right: int
) -> int:
    """Return the rank at which two neighbors merge, given their bytes and places."""
    if tokens.numbers[BY_RANKS]:
        return find(tokens, source, n_bytes, start, end - start)
    return rank_of_pair(tokens, left, right)


@helper
def _product(tokens: Vocabulary, rank: int) -> int:
    return rank if tokens.numbers[BY_RANKS] else integer(tokens.products[rank])


@helper
def _merge_short(
    tokens: Vocabulary, source: Bytes, n_bytes: int, start: int, length: int, room: Scratch
) -> int:
    """Merge a short pre-token, and return its number of tokens."""
    at = room.at
    ranks = room.ranks
    places = room.places
    n = length
    for i in range(n):
        byte = integer(source[start + i])
        at[i] = i
        places[i] = tokens.first_ranks[SINGLE + byte]
        ranks[i] = NEVER
        if i + 1 < n:
            ranks[i] = tokens.first_ranks[byte << 8 | source[start + i + 1]]
    at[n] = length
    while n > 1:
        best = NEVER
        k = 0
        for i in range(n - 1):
            if ranks[i] < best:
                best = integer(ranks[i])
                k = i
        if best == NEVER:
            break
        places[k] = _product(tokens, best)
        n -= 1
        for i in range(k + 1, n):
            at[i] = at[i + 1]
            ranks[i] = ranks[i + 1]
            places[i] = places[i + 1]
        at[n] = length
        ranks[k] = NEVER
        if k + 1 < n:
            ranks[k] = _rank(
                tokens, source, n_bytes, start + at[k], start + at[k + 2], places[k], places[k + 1]
            )
        if k > 0:
            ranks[k - 1] = _rank(
                tokens, source, n_bytes, start + at[k - 1], start + at[k + 1],
                places[k - 1], places[k],
            )  # fmt: skip
    return n


@helper
def _push(heap: Int64s, n: int, rank: int, i: int) -> int:
    """Add a pair to a heap of size n if it can merge, and return the new size.

    Every item has four children, which are adjacent in memory.
    """
    if rank == NEVER:
        return n
    item = rank << _PLACE_BITS | i
    at = n
    while at > 0 and heap[(at - 1) >> 2] > item:
        heap[at] = heap[(at - 1) >> 2]
        at = (at - 1) >> 2
    heap[at] = item
    return n + 1


@helper
def _pop(heap: Int64s, n: int) -> int:
    """Remove and return the smallest of n items."""
    top = heap[0]
    item = heap[n - 1]
    at = 0
    while True:
        child = 4 * at + 1
        for other in range(child + 1, min(child + 4, n - 1)):
            if heap[other] < heap[child]:
                child = other
        if child >= n - 1 or heap[child] >= item:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = item
    return top


@helper
def _merge_long(
    tokens: Vocabulary, source: Bytes, n_bytes: int, start: int, length: int, room: Scratch
) -> int:
    """Merge a long pre-token with a heap and linked tokens, and return its number of tokens.

    During merging, token i starts at byte i; `at[i]` is its end, `places[i]` the start of the
    previous token. Its place in the vocabulary is looked up by its bytes.
    """
    ends = room.at
    ranks = room.ranks
    before = room.places
    heap = room.heap
    n = 0
    for i in range(length):
        ends[i] = i + 1
        before[i] = i - 1
        ranks[i] = NEVER
        if i + 1 < length:
            pair = integer(source[start + i]) << 8 | source[start + i + 1]
            ranks[i] = tokens.first_ranks[pair]
            n = _push(heap, n, integer(ranks[i]), i)
    while n > 0:
        top = _pop(heap, n)
        n -= 1
        i = top & ((1 << _PLACE_BITS) - 1)
        if ranks[i] != top >> _PLACE_BITS:
            continue
        middle = integer(ends[i])
        end = integer(ends[middle])
        ranks[middle] = NEVER
        ranks[i] = NEVER
        ends[i] = end
        if end < length:
            before[end] = i
            ranks[i] = _rank_there(tokens, source, n_bytes, start, i, end, integer(ends[end]))
            n = _push(heap, n, integer(ranks[i]), i)
        previous = integer(before[i])
        if previous >= 0:
            ranks[previous] = _rank_there(tokens, source, n_bytes, start, previous, i, end)
            n = _push(heap, n, integer(ranks[previous]), previous)
    i = 0
    while i < length:
        end = integer(ends[i])
        before[n] = _place(tokens, source, n_bytes, start + i, end - i)
        ends[n] = i
        n += 1
        i = end
    ends[n] = length
    return n


@helper
def _rank_there(
    tokens: Vocabulary, source: Bytes, n_bytes: int, start: int, i: int, middle: int, end: int
) -> int:
    """Return the rank at which the tokens starting at `i` and `middle` merge."""
    if tokens.numbers[BY_RANKS]:
        return find(tokens, source, n_bytes, start + i, end - i)
    left = _place(tokens, source, n_bytes, start + i, middle - i)
    right = _place(tokens, source, n_bytes, start + middle, end - middle)
    return rank_of_pair(tokens, left, right)


@helper
def _place(tokens: Vocabulary, source: Bytes, n_bytes: int, start: int, length: int) -> int:
    if length == 1:
        return integer(tokens.first_ranks[SINGLE + source[start]])
    return find(tokens, source, n_bytes, start, length)


@helper
def merge(
    tokens: Vocabulary, source: Bytes, n_bytes: int, start: int, length: int, room: Scratch
) -> int:
    """Merge a pre-token, and return its number of tokens."""
    if length <= _SHORT:
        return _merge_short(tokens, source, n_bytes, start, length, room)
    return _merge_long(tokens, source, n_bytes, start, length, room)
