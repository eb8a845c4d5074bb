"""Encoded texts: ids in arrays, and where tokens and pieces end."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import accumulate, islice
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tokviz import bytetext
from tokviz.pretokenize.patterns import SplitPattern
from tokviz.pretokenize.split import split

if TYPE_CHECKING:
    from tokviz.encoding.bulk import BulkEncoder

SHORT_TEXT = 4096
"""Characters up to which a text is not worth loading compiled code or building tables."""

_WORTH_COMPILING = 1 << 26  # characters: any other way takes as long
_SECONDS_BETWEEN_LOOKS = 10.0

Segments = Iterable[tuple[str, bool]]
"""Byte texts one behind another, and whether each is a special token."""


class Columns(NamedTuple):
    """A vocabulary as compiled code takes it.

    Attributes:
        blob: The bytes of all tokens, one behind another, in the order of their ids.
        starts: Where each starts, and the end of the last; 32 bits.
        ids: The id of each; None if it is its place.
        pairs: The places of the two tokens of every merge; None if ranks are the tokens' places.
    """

    blob: bytes
    starts: array[int]
    ids: array[int] | None = None
    pairs: array[int] | None = None


class Encoded(NamedTuple):
    """The tokens of texts that lie one behind another, as bytes, with special tokens between them.

    Attributes:
        ids: The ids of all; typecode "I".
        after: How many ids there are behind each text, counted from the first; typecode "q".
        token_ends: The byte at which each token ends; empty if not wanted; typecode "q".
        piece_ends: The same for pieces.
    """

    ids: array[int]
    after: array[int]
    token_ends: array[int]
    piece_ends: array[int]

    @classmethod
    def none(cls) -> Encoded:
        """Make what others are added to."""
        return cls(array("I"), array("q"), array("q"), array("q"))

    def add(self, other: Encoded) -> None:
        """Add what is behind this."""
        n = len(self.ids)
        self.after.extend(array("q", [n + count for count in other.after]) if n else other.after)
        self.ids.extend(other.ids)
        self.token_ends.extend(other.token_ends)
        self.piece_ends.extend(other.piece_ends)


class Source(Protocol):
    """A vocabulary."""

    def columns(self) -> Columns:
        """Give it as compiled code takes it."""
        ...


class Bulk:
    """A vocabulary's compiled encoder, made when it is first worth it and nobody has to wait."""

    def __init__(self, source: Source, *, whole: bool) -> None:
        """Take the vocabulary, and whether a piece that is a token becomes it without merging."""
        self._source, self._whole = source, whole
        self._lock = Lock()
        self._made: BulkEncoder | None = None
        self._next_look = 0.0

    def get(self, n_chars: int) -> BulkEncoder | None:
        """Give the encoder for a text of this length; None if another way is to be taken.

        For a very long text the loops are compiled if they are not yet.
        """
        if self._made is None and n_chars > SHORT_TEXT:
            with self._lock:
                self._look(n_chars >= _WORTH_COMPILING)
        return self._made

    def prepare(self) -> bool:
        """Make the encoder now if nothing has to be compiled, and tell whether there is one."""
        return self.get(SHORT_TEXT + 1) is not None

    def _look(self, worth_compiling: bool) -> None:
        if self._made is not None or not (worth_compiling or time.monotonic() >= self._next_look):
            return
        from tokviz.encoding import bulk

        if worth_compiling or bulk.KERNELS.are_compiled():
            self._made = bulk.BulkEncoder.of(self._source.columns(), whole=self._whole)
        self._next_look = time.monotonic() + _SECONDS_BETWEEN_LOOKS


def encode_plainly(
    encode: Callable[[str], Sequence[int]],
    token: Callable[[int], bytes],
    pattern: SplitPattern,
    segments: Segments,
    *,
    with_ends: bool = False,
) -> Encoded:
    """Encode texts one by one; see `BulkEncoder.encode`."""
    encoded = Encoded.none()
    length = cache(lambda token_id: len(token(token_id)))
    at = 0
    for text, special in segments:
        if not special:
            ids = encode(text)
            encoded.ids.extend(ids)
            encoded.after.append(len(encoded.ids))
            if with_ends:
                ends = accumulate(map(length, ids), initial=at)
                encoded.token_ends.extend(islice(ends, 1, None))
                encoded.piece_ends.extend(piece_ends(pattern, text, at))
        at += bytetext.n_bytes(text)
    return encoded


def piece_ends(pattern: SplitPattern, text: str, at: int = 0) -> array[int]:
    """Give the byte at which each piece of a text ends that begins at byte `at`; typecode "q"."""
    ends = split(pattern, text).ends
    if text.isascii():
        return array("q", [at + end for end in ends]) if at else ends
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    before = np.cumsum(bytetext.utf8_sizes(codes), dtype=np.int64) + at
    found = array("q")
    found.frombytes(before[np.asarray(ends, np.int64) - 1].tobytes())
    return found
