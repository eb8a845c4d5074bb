"""Snapshots of an edited text as lists of immutable parts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice
from typing import TypeVar

from tokviz.text import bytetext
from tokviz.text.common_prefix import n_common

_T = TypeVar("_T")


def changed_range(old: Sequence[_T], new: Sequence[_T]) -> tuple[int, int, int]:
    """Compare two lists: return `first, old_last, new_last` of the range that differs.

    `old[first:old_last]` became `new[first:new_last]`. Comparing identical objects is fast.

    >>> changed_range(["a", "b", "c"], ["a", "x", "y", "c"])
    (1, 2, 3)
    """
    first = n_common(old, new)
    same_end = n_common(old[first:][::-1], new[first:][::-1])
    return first, len(old) - same_end, len(new) - same_end


class TextPart:
    """A part of a text with its sizes. Parts with the same text are equal.

    Attributes:
        n_chars: Number of characters.
        n_bytes: Number of bytes.
        n_newlines: Number of line feeds.
        n_raw_bytes: Number of bytes that are not valid UTF-8.
    """

    __slots__ = ("_newlines", "_stored", "n_bytes", "n_chars", "n_newlines", "n_raw_bytes")

    def __init__(self, text: str, *, packed: bool = False) -> None:
        """Create a part from byte text.

        Args:
            text: The byte text.
            packed: Whether to store it as UTF-8 to save memory. Text with raw bytes is never
                packed, because edits may have joined some that would decode differently.

        Raises:
            UnicodeEncodeError: If the text contains a surrogate that represents no byte.
        """
        self._stored: str | bytes = text
        self.n_chars = self.n_bytes = len(text)
        self.n_raw_bytes = 0
        self._newlines: array[int] | None = None
        if text.isascii():
            self.n_newlines = text.count("\n")
            return
        try:
            data = text.encode()
        except UnicodeEncodeError:  # searching for surrogates first is several times slower
            data = bytetext.to_bytes(text)
            self.n_raw_bytes = len(bytetext.RAW_BYTES.findall(text))
        self.n_bytes = len(data)
        self.n_newlines = data.count(b"\n")
        if packed and not self.n_raw_bytes:
            self._stored = data

    def __eq__(self, other: object) -> bool:
        """Compare the texts."""
        if not isinstance(other, TextPart):
            return NotImplemented
        return self is other or (self.n_bytes == other.n_bytes and self.text == other.text)

    __hash__ = None  # type: ignore[assignment]

    @property
    def text(self) -> str:
        """The byte text."""
        stored = self._stored
        return stored if isinstance(stored, str) else stored.decode()

    def unpack(self) -> str:
        """Return the byte text, and store it unpacked for the next access."""
        self._stored = text = self.text
        return text

    @property
    def data(self) -> bytes:
        """The bytes."""
        stored = self._stored
        return stored if isinstance(stored, bytes) else bytetext.to_bytes(stored)

    def byte_of_char(self, char: int) -> int:
        """Return the byte offset at which a character starts."""
        if self.n_bytes == self.n_chars:
            return char
        return bytetext.n_bytes(self.text[:char])

    def char_of_byte(self, byte: int) -> int:
        """Return the character that contains a byte."""
        if self.n_bytes == self.n_chars:
            return byte
        return bytetext.char_starts(self.text)[: byte + 1].count(1) - 1

    def newlines_before(self, char: int) -> int:
        """Count the line feeds before a character offset."""
        return self.text.count("\n", 0, char)

    def newline(self, number: int) -> int:
        """Return the character offset of a line feed, numbered from 0."""
        if self._newlines is None:
            line_lengths = map(len, self.text.split("\n")[:-1])
            ends = accumulate(line_lengths, lambda end, length: end + 1 + length, initial=-1)
            self._newlines = array("I", islice(ends, 1, None))
        return self._newlines[number]


def joined(parts: Iterable[TextPart]) -> str:
    """Return the byte text of parts."""
    return "".join([part.text for part in parts])


def parts_of(text: str, size: int) -> list[TextPart]:
    """Divide a text into parts of about `size` characters; an empty text is one part."""
    step = -(-len(text) // max(round(len(text) / size), 1)) or 1
    return [TextPart(text[at : at + step]) for at in range(0, len(text) or 1, step)]
