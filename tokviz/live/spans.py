"""Positions and appearance of a chunk's tokens in the text."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import accumulate, count, pairwise, repeat
from typing import NamedTuple

from tokviz.live.chunks import Chunk, ChunkTokens
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.specials import SpecialTokens
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tokenizer.tokenizer import Tokenizer

UNKNOWN = -1
"""Index, id and hue of a stretch of text whose tokens are not known yet."""

BEGINS_INSIDE = 1
"""Bit of `TokenSpan.split`: the token starts inside a character."""

ENDS_INSIDE = 2
"""Bit of `TokenSpan.split`: the token ends inside a character."""


class TokenSpan(NamedTuple):
    """A token, as the range of characters that contain any of its bytes.

    Attributes:
        start: Offset of the first character.
        end: Offset after the last character, more than `start`.
        index: The token's number among the known tokens, or `UNKNOWN`.
        id: The token id, or `UNKNOWN`.
        hue: 0 to 5, or `UNKNOWN`.
        split: `BEGINS_INSIDE` and `ENDS_INSIDE`, or 0.
    """

    start: int
    end: int
    index: int  # type: ignore[assignment]  # hides tuple.index
    id: int
    hue: int
    split: int


class TokenInfo(NamedTuple):
    """The characters, bytes and hue of one token of a document."""

    index: int  # type: ignore[assignment]  # hides tuple.index
    id: int
    start: int
    end: int
    byte_start: int
    byte_end: int
    hue: int


class TextSize(NamedTuple):
    """The size of a stretch of text; tokens partly inside it count too."""

    chars: int
    bytes: int
    tokens: int


_token_span = partial(tuple.__new__, TokenSpan)
"""Makes a TokenSpan from a tuple, three times as fast as a call of the class."""


def unknown_span(start: int, end: int) -> TokenSpan:
    """Return a span for a stretch of text whose tokens are not known yet."""
    return TokenSpan(start, end, UNKNOWN, UNKNOWN, UNKNOWN, 0)


def touching(chunk: Chunk, tokens: ChunkTokens, lo: int, hi: int) -> tuple[int, int]:
    """Return the range (first, end) of tokens with any byte in the chunk's characters lo to hi."""
    borders = tokens.borders
    first = bisect_right(borders, chunk.byte_of_char(lo)) - 1
    return first, bisect_left(borders, chunk.byte_of_char(hi), first)


def token_spans(
    chunk: Chunk, tokens: ChunkTokens, first: int, last: int, char: int, index: int
) -> list[TokenSpan]:
    """Return the spans of consecutive tokens of a chunk.

    Args:
        chunk: The chunk.
        tokens: Its tokens.
        first: Number of the first token in the chunk.
        last: Number after the last one.
        char: Character offset of the chunk in the document.
        index: Number of the chunk's first token in the document.
    """
    if first >= last:
        return []
    borders = tokens.borders[first : last + 1]
    starts: Iterable[int]
    ends: Iterable[int]
    splits: Iterable[int]
    if chunk.n_bytes == chunk.n_chars:
        at = [border + char for border in borders]
        starts, ends, splits = at, at[1:], repeat(0)
    else:
        starts, ends, splits = _char_spans(chunk, list(borders), char)
    columns = zip(
        starts,
        ends,
        count(index + first),
        tokens.ids[first:last],
        tokens.hues[first:last],
        splits,
        strict=False,
    )
    return list(map(_token_span, columns))


def remembered_spans(chunk: Chunk, lo: int, hi: int, char: int) -> list[TokenSpan]:
    """Return spans with previous hues for the characters lo to hi of a pending chunk.

    Args:
        chunk: The chunk.
        lo: The first character, counted from the chunk's start.
        hi: The character after the last one.
        char: Character offset of the chunk in the document.

    Returns:
        Adjacent spans whose index and id are `UNKNOWN`; new text also has an unknown hue.
    """
    first_byte, last_byte = chunk.byte_of_char(lo), chunk.byte_of_char(hi)
    spans: list[TokenSpan] = []
    at, end = char + lo, char + hi
    for run in chunk.runs:
        old, shift = run.tokens, run.shift
        first = max(run.first, bisect_right(old.borders, first_byte - shift) - 1)
        last = min(run.last, bisect_left(old.borders, last_byte - shift))
        if first >= last:
            continue
        borders = array("I", (border + shift for border in old.borders[first : last + 1]))
        part = old.part(first, last, borders)
        for start, stop, _, _, hue, _ in token_spans(chunk, part, 0, last - first, char, 0):
            if start > at:
                spans.append(unknown_span(at, start))
                at = start
            stop = stop if stop < end else end
            if at < stop:
                spans.append(_token_span((at, stop, UNKNOWN, UNKNOWN, hue, 0)))
                at = stop
    if at < end:
        spans.append(unknown_span(at, end))
    return spans


@lru_cache(maxsize=8192)
def starts_within(tokenizer: Tokenizer, pre_token: str) -> tuple[int, ...]:
    """Return the character positions within a pre-token at which tokens start, except the first.

    The result does not depend on the split pattern, because it is disabled for this.
    """
    alone = _uncut(tokenizer)
    ends = accumulate(
        len(alone.token_bytes(token_id)) for token_id in alone.encode_byte_text(pre_token, False)
    )
    borders = set(ends)
    places = accumulate(len(bytetext.to_bytes(char)) for char in pre_token)
    return tuple(n for n, place in enumerate(places, 1) if place in borders and n < len(pre_token))


@lru_cache(maxsize=4)
def _uncut(tokenizer: Tokenizer) -> Tokenizer:
    return tokenizer.with_parts(SPLIT_PATTERNS["none"], SpecialTokens({}))


def _char_spans(
    chunk: Chunk, borders: list[int], char: int
) -> tuple[list[int], list[int], Iterable[int]]:
    """Convert the byte borders of tokens to character starts and ends, and split bits."""
    first_char = chunk.char_of_byte(borders[0])
    last_char = chunk.char_of_byte(borders[-1] - 1)
    first_byte = chunk.byte_of_char(first_char)
    begins = bytetext.char_starts(chunk.text_in(first_char, last_char + 1))
    # For every byte, and the position after the last: how many characters start before it, and
    # whether one starts at it.
    started = list(accumulate(begins, initial=char + first_char))
    begins += b"\x01"
    at = [border - first_byte for border in borders]
    chars = list(map(started.__getitem__, at))
    whole = bytes(map(begins.__getitem__, at))
    if 0 not in whole:
        return chars, chars[1:], repeat(0)
    starts = [char - 1 + is_start for char, is_start in zip(chars, whole, strict=True)]
    splits = [
        (0 if is_start else BEGINS_INSIDE) | (0 if is_end else ENDS_INSIDE)
        for is_start, is_end in pairwise(whole)
    ]
    return starts, chars[1:], splits
