r"""Starts of the pre-tokens of 64 bytes at once, as a part of the compiled scanner.

A *mask* is a word whose bit k describes byte k. If all characters are ASCII, a few operations on
the masks of the classes decide for all bytes what `scan_kernels` decides for one pre-token at a
time. Rare cases, such as contractions, are left to it: the masks then give only the pre-tokens that
start before them.
"""

from __future__ import annotations

from tokviz.kernels import Bytes, bytes_between, helper, integer, trailing_zeros, word

BLOCK = 64
"""Number of bytes that are scanned together."""

GPT2, GPT4, GPT4O, WORDS, WHOLE, DEEPSEEK = range(6)
"""The families of split patterns."""

BY_BLOCK = (GPT2, GPT4, GPT4O, WORDS)
"""The families that `block_starts` supports."""

_TAB, _LF, _CR, _BLANK, _APOSTROPHE, _SLASH = b"\t\n\r '/"
_ALL = (1 << 64) - 1
_ASCII_CASE = 0x20
_AFTER_APOSTROPHE = sum(1 << (letter - ord("a")) for letter in b"dlmrstv")


@helper
def block_starts(data: Bytes, at: int, family: int, max_digits: int) -> int:
    """Return the starts of pre-tokens in a block, as far as its bytes determine them.

    Args:
        data: Bytes that contain the text.
        at: Start of the block and of a pre-token.
        family: The family of the pattern.
        max_digits: Maximum number of digits in a pre-token (GPT4 only).

    Returns:
        A mask whose bit k is set if a pre-token starts at `at + k`; bit 0 is undefined. The end of
        the last of these pre-tokens is unknown.
    """
    blank = bytes_between(data, at, _BLANK, _BLANK)
    space = bytes_between(data, at, _TAB, _CR) | blank
    unknown = bytes_between(data, at, 0x80, 0xFF)
    if family == WORDS:
        return _known(space ^ _after(space), unknown)
    upper = bytes_between(data, at, ord("A"), ord("Z"))
    lower = bytes_between(data, at, ord("a"), ord("z"))
    number = bytes_between(data, at, ord("0"), ord("9"))
    letter = upper | lower
    symbol = ~(space | unknown | letter | number)
    opening = symbol & ~_after(symbol | blank)  # symbols at which a pre-token starts
    # The last white space character before other text starts a pre-token, which may include it.
    last_space = space & ~(space >> word(1))
    if family == GPT2:
        starts = (letter & ~_after(letter | blank)) | (number & ~_after(number | blank)) | opening
        starts |= space & (~_after(space) | last_space)
        unknown |= _after(_contractions(data, at, opening))
        return _known(starts, unknown)
    breaks = bytes_between(data, at, _LF, _LF) | bytes_between(data, at, _CR, _CR)
    gaps = space & ~breaks
    # A letter continues a pre-token that starts with any character but a number or break.
    starts = opening | (letter & _after(number | breaks | (symbol & ~opening)))
    starts |= _number_starts(number, max_digits)
    starts |= breaks & ~_after(space | symbol)
    starts |= gaps & (~_after(gaps) | last_space)
    # White space between breaks belongs to them, unless the breaks belong to symbols.
    between = gaps & _after(breaks)
    ends = between + gaps
    if ends & (breaks | unknown) or ends < gaps:
        unknown |= (between & (~between + word(1))) << word(1)
    if family == GPT4O:
        starts |= upper & _after(lower)
        slashes = bytes_between(data, at, _SLASH, _SLASH) & _after(breaks)
        # Here they belong to the word before them, so it is unknown whether a pre-token starts.
        contractions = _contractions(data, at, opening & _after(letter))
        return _known(starts, unknown | slashes | contractions)
    return _known(starts, unknown | _after(_contractions(data, at, opening)))


@helper
def _after(mask: int) -> int:
    """Return the mask of the bytes after those of a mask."""
    return mask << word(1)


@helper
def _known(starts: int, unknown: int) -> int:
    """Keep the starts whose next byte is before all unknown bytes."""
    before = (unknown & (~unknown + word(1))) - word(1)  # all, if nothing is unknown
    return starts & before >> word(1)


@helper
def _number_starts(number: int, max_digits: int) -> int:
    """Return the digits that start a pre-token: every `max_digits`-th digit of a number."""
    starts = number & ~_after(number)
    inside = number
    for _ in range(max_digits):
        inside = number & _after(inside)
    new = starts
    while new:
        new = (new << word(max_digits)) & inside
        starts |= new
    return starts


@helper
def _contractions(data: Bytes, at: int, symbols: int) -> int:
    """Return the byte after the first of `symbols` that may start a contraction."""
    left = symbols & bytes_between(data, at, _APOSTROPHE, _APOSTROPHE) & word(_ALL >> 1)
    while left:
        k = integer(trailing_zeros(left))
        left &= left - word(1)
        place = (data[at + k + 1] | _ASCII_CASE) - ord("a")
        if 0 <= place < 26 and _AFTER_APOSTROPHE >> place & 1:
            return word(2) << word(k)
    return word(0)
