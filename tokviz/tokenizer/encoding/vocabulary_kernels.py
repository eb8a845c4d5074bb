"""Compiled tables of a vocabulary: lookup of tokens by their bytes, and of ranks of pairs.

A token is identified by its *place*: its index among all tokens in the order of their ids. Of two
tokens with the same bytes, only the first is found.
"""

from __future__ import annotations

from typing import NamedTuple

from tokviz.kernels import Bytes, Int32s, Int64s, helper, integer, kernel, word
from tokviz.tokenizer.pretokenize.pre_token_keys import WORD, key_of, same, slot_of

NEVER = 1 << 30
"""The rank of a pair that does not merge, and the place of bytes that are not a token."""

N_BLOB, TOKEN_SHIFT, PAIR_SHIFT, BY_RANKS, WHOLE, SPARSE, LONGEST, N_NUMBERS = range(8)
"""Indexes into `Vocabulary.numbers`."""

SINGLE = 1 << 16
"""Start of the places of single bytes in `Vocabulary.first_ranks`."""

FILTER_BITS = 21
CONTEXT_BITS = 22
CROSSINGS = 1 << 12
LEAD = 0xC0
"""The lowest first byte of a non-ASCII character."""

_MOST_STEPS = 4096  # some hundred occur by chance; crafted tokens could need any number
_SIDE = 3  # bytes on each side of a place where text is cut
_NOT_ASCII, _LOW = 0x80, 0x3F


class Vocabulary(NamedTuple):
    """A vocabulary and its merges.

    Attributes:
        blob: The bytes of all tokens, concatenated.
        starts: Start of each token there; the next start is its end.
        ids: The id of each token.
        lengths: The length of each token, at most 255.
        slots: Shape (a power of two, 2): a token's key and its place plus one, 0 for a free slot.
        filter: One bit per value that the key of some token has.
        first_ranks: The rank at which each pair of bytes merges; then the place of each byte.
        pair_slots: Like `slots`, for merges: left and right place, rank plus one. Empty if ranks
            are the places of concatenations.
        products: The place of the product of each merge.
        contexts: One bit per value of the bytes around a place inside a token that lies between
            two non-ASCII characters; see `is_cut`.
        crossings: By the last byte before such a place and the first after it, one bit per pair of
            byte counts with which `contexts` was filled.
        numbers: The length of the blob; the shifts of keys for `slots` and for `pair_slots`;
            whether ranks are places; whether a pre-token that is a token is not merged; whether ids
            differ from places; the length of the longest token.
    """

    blob: Bytes
    starts: Int32s
    ids: Int32s
    lengths: Bytes
    slots: Int64s
    filter: Int64s
    first_ranks: Int32s
    pair_slots: Int64s
    products: Int32s
    contexts: Int64s
    crossings: Int32s
    numbers: Int64s


@helper
def _set(bits: Int64s, bit: int) -> None:
    bits[bit >> 6] = integer(word(bits[bit >> 6]) | word(1) << (bit & 63))


@helper
def _has(bits: Int64s, bit: int) -> int:
    return integer((word(bits[bit >> 6]) >> (bit & 63)) & word(1))


@helper
def find(tokens: Vocabulary, source: Bytes, n_bytes: int, start: int, length: int) -> int:
    """Return the place of the token with the given bytes, NEVER if there is none.

    Args:
        tokens: The vocabulary.
        source: Memory that contains the bytes.
        n_bytes: The size of `source`.
        start: Start of the bytes.
        length: Number of bytes.
    """
    if length > tokens.numbers[LONGEST]:
        return NEVER
    key = key_of(source, n_bytes, start, length)
    if not _has(tokens.filter, slot_of(key, 64 - FILTER_BITS)):
        return NEVER
    shift = tokens.numbers[TOKEN_SHIFT]
    slot = slot_of(key, shift)
    while True:
        entry = tokens.slots[2 * slot + 1]
        if entry == 0:
            return NEVER
        if word(tokens.slots[2 * slot]) == key:
            at = tokens.starts[entry - 1]
            if length < WORD or (
                tokens.starts[entry] - at == length and same(source, start, tokens.blob, at, length)
            ):
                return entry - 1
        slot = (slot + 1) & ((1 << (64 - shift)) - 1)


@helper
def rank_of_pair(tokens: Vocabulary, left: int, right: int) -> int:
    """Return the rank at which two tokens merge by the merge list, NEVER if they do not."""
    if left == NEVER or right == NEVER:
        return NEVER
    key = left << 32 | right
    shift = tokens.numbers[PAIR_SHIFT]
    slot = slot_of(word(key), shift)
    while True:
        entry = tokens.pair_slots[2 * slot + 1]
        if entry == 0:
            return NEVER
        if tokens.pair_slots[2 * slot] == key:
            return entry - 1
        slot = (slot + 1) & ((1 << (64 - shift)) - 1)


@helper
def _insert(slots: Int64s, shift: int, key: int, entry: int) -> int:
    """Put an entry into the next free slot; 0 if none is near."""
    slot = slot_of(word(key), shift)
    for _ in range(_MOST_STEPS):
        if slots[2 * slot + 1] == 0:
            slots[2 * slot] = key
            slots[2 * slot + 1] = entry
            return 1
        slot = (slot + 1) & ((1 << (64 - shift)) - 1)
    return 0


@kernel
def build_tokens(tokens: Vocabulary, n: int) -> int:
    """Fill the tables except those of merges; 0 if tokens were crafted to make this slow."""
    blob = tokens.blob
    n_blob = tokens.numbers[N_BLOB]
    for i in range(SINGLE + 256):
        tokens.first_ranks[i] = NEVER
    for place in range(n):
        at = tokens.starts[place]
        length = tokens.starts[place + 1] - at
        if length == 0:
            continue
        tokens.lengths[place] = min(length, 255)
        tokens.numbers[LONGEST] = max(tokens.numbers[LONGEST], length)
        if find(tokens, blob, n_blob, at, length) != NEVER:
            continue
        if length == 1:
            tokens.first_ranks[SINGLE + blob[at]] = place
        if length == 2 and tokens.numbers[BY_RANKS]:
            tokens.first_ranks[integer(blob[at]) << 8 | blob[at + 1]] = place
        key = key_of(blob, n_blob, at, length)
        _set(tokens.filter, slot_of(key, 64 - FILTER_BITS))
        if not _insert(tokens.slots, tokens.numbers[TOKEN_SHIFT], integer(key), place + 1):
            return 0
        for k in range(1, length):
            if blob[at + k] >= LEAD and blob[at + k - 1] >= _NOT_ASCII:
                before = min(k, _SIDE)
                after = min(length - k, _SIDE)
                _set(tokens.contexts, _context(blob, at + k, before, after))
                tokens.crossings[_crossing(blob, at + k)] |= 1 << _SIDE * before + after
    return 1


@kernel
def build_pairs(tokens: Vocabulary, pairs: Int32s, n: int, buffer: Bytes) -> int:
    """Fill the tables of merges; 0 if merges were crafted to make this slow.

    Args:
        tokens: The vocabulary.
        pairs: Shape (n, 2): the places of the two tokens of each merge.
        n: Number of merges.
        buffer: Memory for the longest token.
    """
    for rank in range(n):
        length = 0
        for side in range(2):
            place = pairs[2 * rank + side]
            for k in range(tokens.starts[place], tokens.starts[place + 1]):
                if length < tokens.numbers[LONGEST]:
                    buffer[length] = tokens.blob[k]
                length += 1
            if side == 0:
                middle = length
        tokens.products[rank] = find(tokens, buffer, tokens.numbers[LONGEST], 0, length)
        left = pairs[2 * rank]
        right = pairs[2 * rank + 1]
        if tokens.products[rank] == NEVER:
            return 0
        if rank_of_pair(tokens, left, right) != NEVER:
            continue
        if not _insert(tokens.pair_slots, tokens.numbers[PAIR_SHIFT], left << 32 | right, rank + 1):
            return 0
        if middle == 1 and length == 2:
            tokens.first_ranks[integer(buffer[0]) << 8 | buffer[1]] = rank
    return 1


@helper
def _context(data: Bytes, at: int, before: int, after: int) -> int:
    """Return the bit of `contexts` for the given numbers of bytes before and after a place."""
    key = word(before << 2 | after)
    for k in range(at - before, at + after):
        key = key << 8 | word(data[k])
    return slot_of(key, 64 - CONTEXT_BITS)


@helper
def _crossing(data: Bytes, at: int) -> int:
    return (integer(data[at - 1]) & _LOW) << 6 | integer(data[at]) & _LOW


@helper
def is_cut(tokens: Vocabulary, source: Bytes, start: int, at: int, end: int) -> int:
    """Return whether no token can span a place in a pre-token where a character starts.

    A token that spans it has at least one byte on either side; this checks the bits for one to
    three bytes on each side that any token with these two bytes has set.
    """
    if source[at - 1] < _NOT_ASCII:
        return 0
    known = tokens.crossings[_crossing(source, at)]
    if known == 0:
        return 1
    for before in range(1, min(_SIDE, at - start) + 1):
        for after in range(1, min(_SIDE, end - at) + 1):
            if known >> _SIDE * before + after & 1 and _has(
                tokens.contexts, _context(source, at, before, after)
            ):
                return 0
    return 1
