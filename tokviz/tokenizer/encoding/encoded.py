"""Encoded texts: ids in arrays, and the ends of tokens and pre-tokens."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.split import split

Segments = Iterable[tuple[str, bool]]
"""Consecutive byte texts, each with whether it is a special token."""

ToBytes = Callable[[str], bytes]
"""Returns the bytes of a text or of any part of it."""


class Columns(NamedTuple):
    """A vocabulary in the form that compiled code uses.

    Attributes:
        blob: The bytes of all tokens, concatenated in the order of their ids.
        starts: Start of each token, and the end of the last; 32 bits.
        ids: The id of each; None if it equals its place.
        pairs: The places of the two tokens of every merge; None if ranks equal the tokens' places.
    """

    blob: bytes
    starts: array[int]
    ids: array[int] | None = None
    pairs: array[int] | None = None


class Encoded(NamedTuple):
    """The tokens of consecutive texts, as bytes, with special tokens between them.

    Attributes:
        ids: The ids of all tokens; typecode "I".
        after: Number of ids up to the end of each text, counted from the first; typecode "q".
        token_borders: 0, and the byte at which each token ends; only 0 if omitted; typecode "q".
        pre_token_borders: The same for pre-tokens.
    """

    ids: array[int]
    after: array[int]
    token_borders: Any
    pre_token_borders: Any

    @classmethod
    def none(cls) -> Encoded:
        """Return an empty result to append to."""
        return cls(array("I"), array("q"), array("q", [0]), array("q", [0]))


def pre_token_ends(pattern: SplitPattern, text: str, at: int = 0) -> array[int]:
    """Return the end of each pre-token, for a text that starts at byte `at`; typecode "q"."""
    ends = split(pattern, text).ends
    if text.isascii():
        return array("q", [at + end for end in ends]) if at else ends
    import numpy as np  # ASCII text does not need it

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    before = np.cumsum(bytetext.utf8_sizes(codes), dtype=np.int64) + at
    byte_ends = array("q")
    byte_ends.frombytes(before[np.asarray(ends, np.int64) - 1].tobytes())
    return byte_ends
