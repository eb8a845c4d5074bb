"""Keys and slots for compiled hash tables of byte strings.

The key of a string shorter than eight bytes consists of its bytes and its length, so that equal
keys mean equal strings. The key of a longer string is a hash, so its bytes must be compared too.
"""

from __future__ import annotations

from tokviz.kernels import Bytes, helper, integer, word
from tokviz.tokenizer.pretokenize.character_kernels import load_word

WORD = 8
"""From this length on, strings with equal keys must be compared."""

GOLDEN = 0x9E3779B97F4A7C15
MIXER = 0x9FB21C651E98DF25
_SEED = 0x243F6A8885A308D3
_LONG = 0xFF << 56  # in the byte that holds the length of a short string


@helper
def shift_for(n_slots: int) -> int:
    """Return the shift that turns the highest bits of a product into a slot number."""
    shift = 64
    while n_slots > 1:
        n_slots >>= 1
        shift -= 1
    return shift


@helper
def slot_of(key: int, shift: int) -> int:
    """Return the first slot to search for a key."""
    return integer((key * GOLDEN) >> shift)


@helper
def key_of(source: Bytes, n_bytes: int, start: int, length: int) -> int:
    """Return the key of a string; `n_bytes` is the size of the buffer that contains it."""
    if length < WORD:
        if start + WORD <= n_bytes:
            bits = load_word(source, start) & (word(1 << 8 * length) - word(1))
        else:
            bits = word(0)
            for i in range(length):
                bits |= word(source[start + i]) << 8 * i
        return bits | word(length) << 56
    mixed = word(_SEED)
    last = start + length - WORD
    while start < last:
        mixed = (mixed ^ load_word(source, start)) * MIXER
        mixed ^= mixed >> 32
        start += WORD
    mixed = (mixed ^ load_word(source, last)) * MIXER
    mixed ^= mixed >> 32
    return mixed | _LONG


@helper
def same(one: Bytes, at_one: int, other: Bytes, at_other: int, length: int) -> int:
    """Return whether two strings of at least eight bytes are equal."""
    last = length - WORD
    i = 0
    while i < last:
        if load_word(one, at_one + i) != load_word(other, at_other + i):
            return 0
        i += WORD
    return int(load_word(one, at_one + last) == load_word(other, at_other + last))
