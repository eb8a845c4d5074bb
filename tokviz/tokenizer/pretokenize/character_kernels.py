"""UTF-8 characters and runs of characters of a class, as a part of the compiled scanner."""

from __future__ import annotations

from tokviz.kernels import Bytes, helper, integer, trailing_zeros, word
from tokviz.tokenizer.pretokenize.scan_table import (
    CASELESS,
    FLAGS_AT,
    LOWER,
    NOT_ASCII,
    PAGE_BITS,
    PAGE_SIZE,
    PAGES_AT,
    PLAIN,
    SYMBOL,
    UPPER,
)

LETTER = UPPER | LOWER | CASELESS
"""The flags of letters."""

_LAST_IN_PAGE = PAGE_SIZE - 1

_WORD = 8
_EACH = 0x0101010101010101
_CASES = 0x20 * _EACH
_ASCII = 0x7F * _EACH
_HIGHEST = 0x80 * _EACH
_FROM_A = (0x80 - ord("a")) * _EACH
_ABOVE_Z = (0x7F - ord("z")) * _EACH


@helper
def decode(data: Bytes, i: int, end: int, table: Bytes) -> tuple[int, int]:
    """Return the flags and the width in bytes of the character at `i`, which is not ASCII."""
    lead = data[i]
    if lead < 0xC2 or lead > 0xF4:
        return SYMBOL | PLAIN, 1
    width = 2 + (lead >= 0xE0) + (lead >= 0xF0)
    if i + width > end:
        return SYMBOL | PLAIN, 1
    code = lead & (0x7F >> width)
    for k in range(i + 1, i + width):
        following = data[k]
        if following & 0xC0 != 0x80:
            return SYMBOL | PLAIN, 1
        code = code << 6 | following & 0x3F
    if (width == 3 and code < 0x800) or (width == 4 and not 0x10000 <= code < 0x110000):
        return SYMBOL | PLAIN, 1
    page = table[PAGES_AT + (code >> PAGE_BITS)]
    flags = table[FLAGS_AT + (page << PAGE_BITS | code & _LAST_IN_PAGE)]
    if flags == 0:
        return SYMBOL | PLAIN, 1
    return flags, width


@helper
def character(data: Bytes, i: int, end: int, table: Bytes) -> tuple[int, int]:
    """Return the flags and the width in bytes of the character at `i`."""
    flags = table[data[i]]
    if flags == NOT_ASCII:
        return decode(data, i, end, table)
    return flags, 1


@helper
def run(data: Bytes, i: int, end: int, wanted: int, table: Bytes) -> int:
    """Skip characters with any of the wanted flags."""
    while i < end:
        flags = table[data[i]]
        if flags & wanted:
            i += 1
            continue
        if flags != NOT_ASCII:
            return i
        flags, width = decode(data, i, end, table)
        if not flags & wanted:
            return i
        i += width
    return i


@helper
def load_word(data: Bytes, at: int) -> int:
    """Read eight bytes as one number; the compiler turns this into one load."""
    low = data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24
    high = data[at + 4] | data[at + 5] << 8 | data[at + 6] << 16 | data[at + 7] << 24
    return word(low) | word(high) << 32


@helper
def letters(data: Bytes, i: int, end: int, table: Bytes) -> int:
    """Skip letters, ASCII letters eight at a time."""
    return _by_eight(data, i, end, _CASES, LETTER, table)


@helper
def lower_letters(data: Bytes, i: int, end: int, wanted: int, table: Bytes) -> int:
    """Skip characters with any of the wanted flags, which must include those of a to z."""
    return _by_eight(data, i, end, 0, wanted, table)


@helper
def _by_eight(data: Bytes, i: int, end: int, cases: int, wanted: int, table: Bytes) -> int:
    n = _WORD
    while n == _WORD and i + _WORD <= end:
        eight = load_word(data, i)
        lower = (eight | word(cases)) & word(_ASCII)
        # The highest bit of a byte is set if it is from "a" on, not above "z", not beyond ASCII.
        found = (lower + word(_FROM_A)) & ~(lower + word(_ABOVE_Z)) & ~eight & word(_HIGHEST)
        n = integer(trailing_zeros(found ^ word(_HIGHEST)) >> 3)
        i += n
    return run(data, i, end, wanted, table)
