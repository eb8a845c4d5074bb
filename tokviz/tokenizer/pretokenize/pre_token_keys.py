"""Parts of compiled hash tables of byte strings: a key of eight bytes, and where it is looked for.

The key of a string shorter than eight bytes is its bytes and its length, so that two strings with
one key are one string; the key of a longer one is a hash, and its bytes are compared.
"""

from __future__ import annotations

from tokviz.kernels import Bytes, helper, integer, word
from tokviz.tokenizer.pretokenize.character_kernels import load_word

WORD = 8
"""From this length on bytes have to be compared where keys are equal."""

GOLDEN = 0x9E3779B97F4A7C15
MIXER = 0x9FB21C651E98DF25
_SEED = 0x243F6A8885A308D3
_LONG = 0xFF << 56  # in the place of a short string's length


@helper
def shift_for(n_slots: int) -> int:
    """How far to shift a product so that its highest bits number the slots."""
    shift = 64
    while n_slots > 1:
        n_slots >>= 1
        shift -= 1
    return shift


@helper
def slot_of(key: int, shift: int) -> int:
    """Where to look for a key first."""
    return integer((key * GOLDEN) >> shift)


@helper
def key_of(source: Bytes, n_bytes: int, start: int, length: int) -> int:
    """Make the key of a string; `n_bytes` is the size of what it lies in."""
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
    """Tell whether two strings of at least eight bytes are equal."""
    last = length - WORD
    i = 0
    while i < last:
        if load_word(one, at_one + i) != load_word(other, at_other + i):
            return 0
        i += WORD
    return int(load_word(one, at_one + last) == load_word(other, at_other + last))
