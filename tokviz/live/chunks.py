"""Chunks: short stretches of the text with their tokens, the unit of re-encoding.

A chunk's text never changes. Its tokens are filled in once, by whoever encoded it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple

from tokviz import bytetext

if TYPE_CHECKING:
    from tokviz.live.sums import Block
    from tokviz.tokenizer import Tokenizer

_STRIDE = 1024
"""Characters between two byte offsets that a chunk remembers."""

_SLICE = 16_384
"""Tokens handled in one go: other threads get their turn in between."""


class TokenLengths(dict[int, int]):
    """Token id → its length in bytes, asked of the tokenizer once per id."""

    __slots__ = ("_tokenizer",)

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take the tokenizer whose tokens to measure."""
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, token_id: int) -> int:
        """Ask for a token that was not seen before."""
        length = len(self._tokenizer.token_bytes(token_id))
        self[token_id] = length
        return length


class ChunkTokens:
    """The tokens of a chunk.

    Attributes:
        ids: Token ids, n of them, typecode "I".
        hues: One hue per token; empty until the chunk is filled.
        counts: How often each id occurs, kept only where counting anew would take long.
        counted: Whether they are in the counts of the document.
        wanted: Whether they are not removed from the document.
        changed: Whether they lie elsewhere than their lengths say: the text was changed first.
    """

    __slots__ = ("_borders", "_lengths", "changed", "counted", "counts", "hues", "ids", "wanted")

    def __init__(
        self, ids: array[int], lengths: TokenLengths, borders: array[int] | None = None
    ) -> None:
        """Take the ids and the table of token lengths, or where the tokens lie if these do not say.

        Args:
            ids: The token ids.
            lengths: Token id → bytes.
            borders: The n + 1 byte offsets between the tokens; None to add up their lengths.
        """
        self.ids = ids
        self.hues = bytearray()
        self.counts: Counter[int] | None = None
        self.counted = False
        self.wanted = True
        self._lengths = lengths
        self._borders = borders
        self.changed = borders is not None

    def prepare(self) -> None:
        """Do now, in a thread that may take its time, what is long for a large chunk."""
        self._borders = self.borders
        self.counts = Counter()
        for first in range(0, len(self.ids), _SLICE):
            self.counts.update(self.ids[first : first + _SLICE])

    def part(self, first: int, last: int, borders: array[int]) -> ChunkTokens:
        """Take some of the tokens with their hues, to lie between other borders."""
        tokens = ChunkTokens(self.ids[first:last], self._lengths, borders)
        tokens.hues = self.hues[first:last]
        return tokens

    @property
    def borders(self) -> array[int]:
        """The n + 1 byte offsets between the tokens, from 0 to the length of the chunk."""
        if self._borders is None:
            self._borders = _borders(self.ids, self._lengths)
        return self._borders


def _borders(ids: array[int], lengths: TokenLengths) -> array[int]:
    borders = array("I", (0,))
    for first in range(0, len(ids), _SLICE):
        sizes = map(lengths.__getitem__, ids[first : first + _SLICE])
        borders.extend(islice(accumulate(sizes, initial=borders[-1]), 1, None))
    return borders


class OldTokens(NamedTuple):
    """Consecutive tokens from before an edit, and where their bytes are in a newer text.

    Token k, for first <= k < last, now starts at byte `tokens.borders[k] + shift`.
    """

    tokens: ChunkTokens
    first: int
    last: int
    shift: int

    @property
    def start(self) -> int:
        """Byte offset at which the first token starts."""
        return self.tokens.borders[self.first] + self.shift

    @property
    def end(self) -> int:
        """Byte offset at which the last token ends."""
        return self.tokens.borders[self.last] + self.shift

    def clip(self, start: int, end: int) -> OldTokens | None:
        """Keep the tokens that lie wholly in a byte span; None if there are none."""
        borders, shift = self.tokens.borders, self.shift
        first = bisect_left(borders, start - shift, self.first, self.last + 1)
        last = bisect_right(borders, end - shift, self.first, self.last + 1) - 1
        return OldTokens(self.tokens, first, last, shift) if first < last else None

    def moved(self, shift: int) -> OldTokens:
        """Count bytes from elsewhere: add `shift` to every offset."""
        return self._replace(shift=self.shift + shift)


class Chunk:
    """A stretch of the text.

    Attributes:
        text: The byte text.
        n_chars: Its characters.
        n_bytes: Its bytes.
        n_newlines: Its line feeds.
        n_raw_bytes: Its bytes that are not valid UTF-8.
        n_tokens: Its tokens, 0 until they are known.
        tokens: Its tokens, None until they are known.
        runs: Tokens that stood here before the edit that made the chunk, so that they can be given
            their old hues; ascending, not overlapping; only until the tokens are known.
        block: Where in the document's list the chunk is; None if it is not part of the document.
    """

    __slots__ = (
        "_marks",
        "_newlines",
        "block",
        "n_bytes",
        "n_chars",
        "n_newlines",
        "n_raw_bytes",
        "n_tokens",
        "runs",
        "text",
        "tokens",
    )

    def __init__(self, text: str) -> None:
        """Measure the text.

        Raises:
            UnicodeEncodeError: If the text holds a surrogate that stands for no byte.
        """
        self.text = text
        self.n_chars = len(text)
        self.n_bytes = bytetext.n_bytes(text)
        self.n_newlines = text.count("\n")
        self.n_raw_bytes = bytetext.n_raw_bytes(text)
        self.n_tokens = 0
        self.tokens: ChunkTokens | None = None
        self.runs: tuple[OldTokens, ...] = ()
        self.block: Block[Chunk] | None = None
        self._marks: list[int] | None = None
        self._newlines: array[int] | None = None

    def byte_of_char(self, char: int) -> int:
        """Give the byte offset at which a character starts."""
        if self.n_bytes == self.n_chars:
            return char
        mark = char // _STRIDE
        return self._byte_marks()[mark] + bytetext.n_bytes(self.text[mark * _STRIDE : char])

    def char_of_byte(self, byte: int) -> int:
        """Give the character that a byte, one of the chunk's, is part of."""
        if self.n_bytes == self.n_chars:
            return byte
        marks = self._byte_marks()
        mark = bisect_right(marks, byte) - 1
        first = mark * _STRIDE
        begun = char_starts(self.text[first : first + _STRIDE])[: byte - marks[mark] + 1]
        return first + begun.count(1) - 1

    def _byte_marks(self) -> list[int]:
        """Byte offset of every 1024th character."""
        if self._marks is None:
            sizes = (
                bytetext.n_bytes(self.text[first : first + _STRIDE])
                for first in range(0, self.n_chars, _STRIDE)
            )
            self._marks = list(accumulate(sizes, initial=0))
        return self._marks

    def newlines_before(self, char: int) -> int:
        """Count the line feeds before a character offset."""
        return bisect_left(self._newline_offsets(), char)

    def newline(self, number: int) -> int:
        """Give the character offset of a line feed, counted from 0."""
        return self._newline_offsets()[number]

    def _newline_offsets(self) -> array[int]:
        if self._newlines is None:
            line_lengths = map(len, self.text.split("\n")[:-1])
            ends = accumulate(line_lengths, lambda end, length: end + 1 + length, initial=-1)
            self._newlines = array("I", islice(ends, 1, None))
        return self._newlines


_IS_START = bytes(0 if 0x80 <= byte < 0xC0 else 1 for byte in range(256))


def char_starts(text: str) -> bytes:
    r"""Tell for every byte of byte text whether a character starts there (1) or not (0).

    >>> char_starts("aé\udca9")
    b'\x01\x01\x00\x01'
    """
    return bytetext.RAW_BYTES.sub("?", text).encode().translate(_IS_START)
