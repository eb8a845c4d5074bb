r"""Parts of the compiled scanner: where the pre-tokens of 64 bytes start, all at once.

A *mask* is a word whose bit k tells something of byte k. A few operations on the masks of the
classes decide for all bytes what `scan_kernels` decides for one pre-token after the other, where
every character is one of ASCII. What is rarer, such as contractions, is left to it: the masks say
where the pre-tokens start before that.
"""

from __future__ import annotations

from tokviz.kernels import Bytes, bytes_between, helper, integer, trailing_zeros, word

BLOCK = 64
"""Bytes that are looked at together."""

GPT2, GPT4, GPT4O, WORDS, WHOLE = range(5)
"""The families of patterns."""

BY_BLOCK = (GPT2, GPT4, GPT4O, WORDS)
"""Those that `block_starts` knows."""

_TAB, _LF, _CR, _BLANK, _APOSTROPHE, _SLASH = b"\t\n\r '/"
_ALL = (1 << 64) - 1
_ASCII_CASE = 0x20
_AFTER_APOSTROPHE = sum(1 << (letter - ord("a")) for letter in b"dlmrstv")


@helper
def block_starts(data: Bytes, at: int, family: int, max_digits: int) -> int:
    """Find where pre-tokens start within a block, as far as its bytes tell.

    Args:
        data: Holds the text.
        at: Where the block starts, and a pre-token with it.
        family: Which family's pre-tokens.
        max_digits: How many digits a pre-token may hold (GPT4 only).

    Returns:
        A mask: bit k tells that a pre-token starts at `at + k`; bit 0 is not to be looked at. Where
        the pre-token that starts last ends is not known.
    """
    blank = bytes_between(data, at, _BLANK, _BLANK)
    space = bytes_between(data, at, _TAB, _CR) | blank
    unknown = bytes_between(data, at, 0x80, 0xFF)
    if family == WORDS:
        return _known(space ^ _behind(space), unknown)
    upper = bytes_between(data, at, ord("A"), ord("Z"))
    lower = bytes_between(data, at, ord("a"), ord("z"))
    number = bytes_between(data, at, ord("0"), ord("9"))
    letter = upper | lower
    symbol = ~(space | unknown | letter | number)
    opening = symbol & ~_behind(symbol | blank)  # symbols at which a pre-token starts
    # The last of white space before something else starts a pre-token, which that may belong to.
    last_space = space & ~(space >> word(1))
    if family == GPT2:
        starts = (letter & ~_behind(letter | blank)) | (number & ~_behind(number | blank)) | opening
        starts |= space & (~_behind(space) | last_space)
        unknown |= _behind(_contractions(data, at, opening))
        return _known(starts, unknown)
    breaks = bytes_between(data, at, _LF, _LF) | bytes_between(data, at, _CR, _CR)
    gaps = space & ~breaks
    # A letter goes on with what is no letter, number or break, if a pre-token starts there.
    starts = opening | (letter & _behind(number | breaks | (symbol & ~opening)))
    starts |= _number_starts(number, max_digits)
    starts |= breaks & ~_behind(space | symbol)
    starts |= gaps & (~_behind(gaps) | last_space)
    # White space between breaks belongs to them, as long as these do not belong to symbols.
    between = gaps & _behind(breaks)
    ends = between + gaps
    if ends & (breaks | unknown) or ends < gaps:
        unknown |= (between & (~between + word(1))) << word(1)
    if family == GPT4O:
        starts |= upper & _behind(lower)
        slashes = bytes_between(data, at, _SLASH, _SLASH) & _behind(breaks)
        # Here they belong to the word before them: not even whether a pre-token starts is known.
        contractions = _contractions(data, at, opening & _behind(letter))
        return _known(starts, unknown | slashes | contractions)
    return _known(starts, unknown | _behind(_contractions(data, at, opening)))


@helper
def _behind(mask: int) -> int:
    """The bytes behind those of a mask."""
    return mask << word(1)


@helper
def _known(starts: int, unknown: int) -> int:
    """Leave the starts at which the byte behind is before all that is unknown."""
    before = (unknown & (~unknown + word(1))) - word(1)  # all, if nothing is unknown
    return starts & before >> word(1)


@helper
def _number_starts(number: int, max_digits: int) -> int:
    """Return the digits at which a pre-token starts: every `max_digits` in a number."""
    starts = number & ~_behind(number)
    inside = number
    for _ in range(max_digits):
        inside = number & _behind(inside)
    new = starts
    while new:
        new = (new << word(max_digits)) & inside
        starts |= new
    return starts


@helper
def _contractions(data: Bytes, at: int, symbols: int) -> int:
    """The byte behind the first apostrophe of some symbols with which a contraction may begin."""
    left = symbols & bytes_between(data, at, _APOSTROPHE, _APOSTROPHE) & word(_ALL >> 1)
    while left:
        k = integer(trailing_zeros(left))
        left &= left - word(1)
        place = (data[at + k + 1] | _ASCII_CASE) - ord("a")
        if 0 <= place < 26 and _AFTER_APOSTROPHE >> place & 1:
            return word(2) << word(k)
    return word(0)
