"""Snapshots of an edited text: its parts, which never change, and how to compare them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, compress, count, islice
from operator import ne
from typing import TypeVar

from tokviz.text import bytetext

_T = TypeVar("_T")


def changed_range(old: Sequence[_T], new: Sequence[_T]) -> tuple[int, int, int]:
    """Compare two lists of parts: `old[first:old_last]` became `new[first:new_last]`.

    Parts are compared by value, which costs next to nothing where they are the same objects.

    >>> changed_range(["a", "b", "c"], ["a", "x", "y", "c"])
    (1, 2, 3)
    """
    shorter = min(len(old), len(new))
    first = 0
    while first < shorter and old[first] == new[first]:
        first += 1
    same_end = 0
    while same_end < shorter - first and old[-1 - same_end] == new[-1 - same_end]:
        same_end += 1
    return first, len(old) - same_end, len(new) - same_end


def n_same(some: Sequence[_T], others: Sequence[_T]) -> int:
    """Count how many are the same up to the first that is not."""
    differs = compress(count(), map(ne, some, others))
    return next(differs, min(len(some), len(others)))


class TextPart:
    """Some characters of a text, measured once. Parts of the same text are equal.

    Attributes:
        n_chars: Its characters.
        n_bytes: Its bytes.
        n_newlines: Its line feeds.
        n_raw_bytes: Its bytes that are not valid UTF-8.
    """

    __slots__ = ("_kept", "_newlines", "n_bytes", "n_chars", "n_newlines", "n_raw_bytes")

    def __init__(self, text: str, *, packed: bool = False) -> None:
        """Measure the text.

        Args:
            text: The byte text.
            packed: Whether to keep it in little memory: as UTF-8, unless it is ASCII, or bytes of
                it are not UTF-8 (edits may have put some side by side that look as if they were).

        Raises:
            UnicodeEncodeError: If the text holds a surrogate that stands for no byte.
        """
        self._kept: str | bytes = text
        self.n_chars = self.n_bytes = len(text)
        self.n_raw_bytes = 0
        self._newlines: array[int] | None = None
        if text.isascii():
            self.n_newlines = text.count("\n")
            return
        try:
            data = text.encode()
        except UnicodeEncodeError:  # to look for them first takes several times as long
            data = bytetext.to_bytes(text)
            self.n_raw_bytes = len(bytetext.RAW_BYTES.findall(text))
        self.n_bytes = len(data)
        self.n_newlines = data.count(b"\n")
        if packed and not self.n_raw_bytes:
            self._kept = data

    def __eq__(self, other: object) -> bool:
        """Compare the texts."""
        if not isinstance(other, TextPart):
            return NotImplemented
        return self is other or (self.n_bytes == other.n_bytes and self.text == other.text)

    __hash__ = None  # type: ignore[assignment]

    @property
    def text(self) -> str:
        """The byte text."""
        kept = self._kept
        return kept if isinstance(kept, str) else kept.decode()

    def unpack(self) -> str:
        """Give the byte text, which will be asked for again."""
        self._kept = text = self.text
        return text

    @property
    def data(self) -> bytes:
        """The bytes."""
        kept = self._kept
        return kept if isinstance(kept, bytes) else bytetext.to_bytes(kept)

    def byte_of_char(self, char: int) -> int:
        """Give the byte offset at which a character starts."""
        if self.n_bytes == self.n_chars:
            return char
        return bytetext.n_bytes(self.text[:char])

    def char_of_byte(self, byte: int) -> int:
        """Give the character that a byte is part of."""
        if self.n_bytes == self.n_chars:
            return byte
        return bytetext.char_starts(self.text)[: byte + 1].count(1) - 1

    def newlines_before(self, char: int) -> int:
        """Count the line feeds before a character offset."""
        return self.text.count("\n", 0, char)

    def newline(self, number: int) -> int:
        """Give the character offset of a line feed, counted from 0."""
        if self._newlines is None:
            line_lengths = map(len, self.text.split("\n")[:-1])
            ends = accumulate(line_lengths, lambda end, length: end + 1 + length, initial=-1)
            self._newlines = array("I", islice(ends, 1, None))
        return self._newlines[number]


def joined(parts: Iterable[TextPart]) -> str:
    """Give the byte text of parts."""
    return "".join([part.text for part in parts])


def parts_of(text: str, size: int) -> list[TextPart]:
    """Cut a text into parts of about that many characters; an empty text is one part."""
    step = -(-len(text) // max(round(len(text) / size), 1)) or 1
    return [TextPart(text[at : at + step]) for at in range(0, len(text) or 1, step)]
