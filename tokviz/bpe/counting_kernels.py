"""The compiled hash table of pieces: an open-addressing table of words, over bytes kept in order.

| array | content |
|---|---|
| `slots` | shape (a power of two, 2): a piece's key and its index plus one, 0 for a free slot |
| `counts` | how often each piece occurred, by index |
| `offsets` | where each piece starts in `data`; the next one's start is its end |
| `data` | the bytes of all pieces, in the order of their first occurrence |

The key of a piece shorter than eight bytes is its bytes and its length, so that two pieces with
one key are one piece; the key of a longer one is a hash, and its bytes are compared.

Nothing grows in here: a kernel returns when an array is full, and the caller makes room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokviz.compiled import helper, kernel
from tokviz.pretokenize.pointers import Pointer, load_word, pointer_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD = 8
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_LONG = np.uint64(0xFF << 56)  # in the place of a short piece's length
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIXER = np.uint64(0x9FB21C651E98DF25)
_SEED = np.uint64(0x243F6A8885A308D3)
_HALF = np.uint64(32)
_LENGTH_AT = np.uint64(56)


@kernel
def count(
    buffer: NDArray[np.uint8],
    pieces: NDArray[np.int64],
    first: int,
    n_unique: int,
    slots: NDArray[np.uint64],
    counts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    data: NDArray[np.uint8],
) -> tuple[int, int]:
    """Count pieces until all are done or an array is full.

    Invariant: at least half of the slots are free, because `counts` has room for half of them.

    Args:
        buffer: Holds the pieces; eight bytes behind the last one may be read.
        pieces: Shape (n, 2): where each piece starts and ends in the buffer.
        first: The piece to begin with.
        n_unique: How many different pieces the table holds.
        slots: See above.
        counts: See above.
        offsets: See above.
        data: See above.

    Returns:
        The piece to go on with (n when all are done) and the new `n_unique`.
    """
    source = pointer_to(buffer)
    table = pointer_to(slots)
    kept = pointer_to(data)
    starts = pointer_to(offsets)
    tally = pointer_to(counts)
    mask = len(slots) - 1
    shift = _shift(len(slots))
    for piece in range(first, len(pieces)):
        start = pieces[piece, 0]
        length = pieces[piece, 1] - start
        key = _key(source, start, length)
        slot = np.int64((key * _GOLDEN) >> shift)
        while True:
            entry = np.int64(table[2 * slot + 1])
            if entry == 0:
                end = starts[n_unique] + length
                if n_unique == len(counts) or end > len(data):
                    return piece, n_unique
                for i in range(length):
                    kept[starts[n_unique] + i] = source[start + i]
                tally[n_unique] = 1
                n_unique += 1
                starts[n_unique] = end
                table[2 * slot] = key
                table[2 * slot + 1] = np.uint64(n_unique)
                break
            if table[2 * slot] == key and (
                length < _WORD
                or (
                    starts[entry] - starts[entry - 1] == length
                    and _same(source, start, kept, starts[entry - 1], length)
                )
            ):
                tally[entry - 1] += 1
                break
            slot = (slot + 1) & mask
    return len(pieces), n_unique


@kernel
def number(
    buffer: NDArray[np.uint8],
    pieces: NDArray[np.int64],
    first: int,
    n_unique: int,
    slots: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    data: NDArray[np.uint8],
    numbers: NDArray[np.int64],
) -> tuple[int, int]:
    """Number pieces by their first occurrence until all are done or an array is full.

    Invariant: at least half of the slots are free, because `offsets` has room for half of them.

    Args:
        buffer: Holds the pieces; eight bytes behind the last one may be read.
        pieces: Shape (n, 2): where each piece starts and ends in the buffer.
        first: The piece to begin with.
        n_unique: How many different pieces the table holds.
        slots: See above.
        offsets: See above.
        data: See above.
        numbers: Takes the index of each piece; shape (n or more,).

    Returns:
        The piece to go on with (n when all are done) and the new `n_unique`.
    """
    source = pointer_to(buffer)
    table = pointer_to(slots)
    kept = pointer_to(data)
    starts = pointer_to(offsets)
    mask = len(slots) - 1
    shift = _shift(len(slots))
    for piece in range(first, len(pieces)):
        start = pieces[piece, 0]
        length = pieces[piece, 1] - start
        key = _key(source, start, length)
        slot = np.int64((key * _GOLDEN) >> shift)
        while True:
            entry = np.int64(table[2 * slot + 1])
            if entry == 0:
                end = starts[n_unique] + length
                if n_unique + 1 == len(offsets) or end > len(data):
                    return piece, n_unique
                for i in range(length):
                    kept[starts[n_unique] + i] = source[start + i]
                numbers[piece] = n_unique
                n_unique += 1
                starts[n_unique] = end
                table[2 * slot] = key
                table[2 * slot + 1] = np.uint64(n_unique)
                break
            if table[2 * slot] == key and (
                length < _WORD
                or (
                    starts[entry] - starts[entry - 1] == length
                    and _same(source, start, kept, starts[entry - 1], length)
                )
            ):
                numbers[piece] = entry - 1
                break
            slot = (slot + 1) & mask
    return len(pieces), n_unique


@kernel
def move(slots: NDArray[np.uint64], larger: NDArray[np.uint64]) -> None:
    """Put the entries of a table into a larger, empty one."""
    mask = len(larger) - 1
    shift = _shift(len(larger))
    for old in range(len(slots)):
        if slots[old, 1] == 0:
            continue
        new = np.int64((slots[old, 0] * _GOLDEN) >> shift)
        while larger[new, 1] != 0:
            new = (new + 1) & mask
        larger[new, 0] = slots[old, 0]
        larger[new, 1] = slots[old, 1]


@helper
def _shift(n_slots: int) -> np.uint64:
    """How far to shift a product so that its highest bits number the slots."""
    shift = 64
    while n_slots > 1:
        n_slots >>= 1
        shift -= 1
    return np.uint64(shift)


@helper
def _key(source: Pointer, start: int, length: int) -> np.uint64:
    """Make the key of a piece."""
    if length < _WORD:
        bits = load_word(source, start) & (_ALL_BITS >> np.uint64(64 - 8 * length))
        return bits | (np.uint64(length) << _LENGTH_AT)
    mixed = _SEED
    last = start + length - _WORD
    while start < last:
        mixed = (mixed ^ load_word(source, start)) * _MIXER
        mixed ^= mixed >> _HALF
        start += _WORD
    mixed = (mixed ^ load_word(source, last)) * _MIXER
    mixed ^= mixed >> _HALF
    return mixed | _LONG


@helper
def _same(one: Pointer, at_one: int, other: Pointer, at_other: int, length: int) -> bool:
    """Compare two stretches of at least eight bytes."""
    last = length - _WORD
    i = 0
    while i < last:
        if load_word(one, at_one + i) != load_word(other, at_other + i):
            return False
        i += _WORD
    return bool(load_word(one, at_one + last) == load_word(other, at_other + last))
