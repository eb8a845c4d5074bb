"""Chunks: stretches of text with their tokens, the unit of re-encoding.

A chunk's text never changes, and its tokens are filled in once. A chunk is short except where no
cut is safe, as in a run of spaces. A long chunk stores its text in parts, so that an edit creates a
new chunk that shares all parts except those at the edit.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from tokviz.live.prefix_sums import Block, BlockList, BlockPlace, Measures
from tokviz.text.snapshots import TextPart, joined

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

SLICE = 16_384
"""Tokens processed before other threads get a turn."""


def yield_gil() -> None:
    """Release the interpreter to another thread; a sleep of zero seconds would not."""
    time.sleep(0.0001)


class TokenLengths(dict[int, int]):
    """Token id → length in bytes, looked up in the tokenizer once per id."""

    __slots__ = ("_tokenizer",)

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Create an empty table for a tokenizer."""
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, token_id: int) -> int:
        """Look up a token that was not seen before."""
        length = len(self._tokenizer.token_bytes(token_id))
        self[token_id] = length
        return length


class ChunkTokens:
    """The tokens of a chunk.

    Attributes:
        ids: Token ids, n of them, typecode "I".
        hues: One hue per token; empty until the chunk is filled.
        counts: Occurrences of each id, cached only for long chunks.
        counted: Whether they are included in the counts of the document.
        wanted: Whether they are still part of the document.
        changed: Whether the text was normalized first, so that token lengths do not add up to
            their positions.
    """

    __slots__ = ("_borders", "_lengths", "changed", "counted", "counts", "hues", "ids", "wanted")

    def __init__(
        self, ids: array[int], lengths: TokenLengths, borders: array[int] | None = None
    ) -> None:
        """Create the tokens from ids and either their lengths or explicit borders.

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
        """Compute the borders and counts of a large chunk, in a thread that may take its time."""
        self._borders = self.borders
        self.counts = Counter()
        for first in range(0, len(self.ids), SLICE):
            self.counts.update(self.ids[first : first + SLICE])
            yield_gil()

    def part(self, first: int, last: int, borders: array[int] | None) -> ChunkTokens:
        """Return some of the tokens with their hues, at the given borders."""
        tokens = ChunkTokens(self.ids[first:last], self._lengths, borders)
        tokens.hues = self.hues[first:last]
        return tokens

    def divided(self, sizes: Iterable[int]) -> list[ChunkTokens] | None:
        """Divide the tokens among texts of the given byte sizes; None if a token spans two."""
        borders, parts = self.borders, []
        first = start = 0
        for size in sizes:
            last = bisect_left(borders, start + size, first)
            if borders[last] != start + size:
                return None
            own = None
            if self.changed:
                own = array("I", (border - start for border in borders[first : last + 1]))
            parts.append(self.part(first, last, own))
            first, start = last, start + size
        return parts

    @property
    def borders(self) -> array[int]:
        """The n + 1 byte offsets between the tokens, from 0 to the length of the chunk."""
        if self._borders is None:
            self._borders = _borders(self.ids, self._lengths)
        return self._borders


def _borders(ids: array[int], lengths: TokenLengths) -> array[int]:
    borders = array("I", (0,))
    for first in range(0, len(ids), SLICE):
        sizes = map(lengths.__getitem__, ids[first : first + SLICE])
        borders.extend(islice(accumulate(sizes, initial=borders[-1]), 1, None))
        if len(borders) <= len(ids):
            yield_gil()
    return borders


class OldTokens(NamedTuple):
    """Consecutive tokens from before an edit, and the position of their bytes in a newer text.

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
        """Keep the tokens that lie entirely within a byte span; None if there are none."""
        borders, shift = self.tokens.borders, self.shift
        first = bisect_left(borders, start - shift, self.first, self.last + 1)
        last = bisect_right(borders, end - shift, self.first, self.last + 1) - 1
        return OldTokens(self.tokens, first, last, shift) if first < last else None

    def moved(self, shift: int) -> OldTokens:
        """Add `shift` to every offset."""
        return self._replace(shift=self.shift + shift)


Measure = Callable[[TextPart], int]
"""A size of a part that can be summed."""

_n_chars: Measure = attrgetter("n_chars")
_n_bytes: Measure = attrgetter("n_bytes")
_n_newlines: Measure = attrgetter("n_newlines")
_n_raw_bytes: Measure = attrgetter("n_raw_bytes")


class Chunk:
    """A stretch of the text.

    Attributes:
        parts: Its text in parts, at least one.
        n_chars: Number of characters.
        n_bytes: Number of bytes.
        n_newlines: Number of line feeds.
        n_raw_bytes: Number of bytes that are not valid UTF-8.
        n_tokens: Number of tokens, 0 until they are known.
        tokens: Its tokens, None until they are known.
        runs: Tokens at this place before the edit that made the chunk, from which its tokens
            recall their hues; ascending, not overlapping, dropped once the tokens are known.
        block: The block of the document's list that contains it; None outside the document.
        is_coarse: Whether it is a long chunk of a long text, which is cut into usual ones when it
            is shown or edited.
    """

    __slots__ = (
        "_starts",
        "block",
        "is_coarse",
        "n_bytes",
        "n_chars",
        "n_newlines",
        "n_raw_bytes",
        "n_tokens",
        "parts",
        "runs",
        "tokens",
    )

    def __init__(self, parts: Sequence[TextPart], *, is_coarse: bool = False) -> None:
        """Create a chunk from at least one part."""
        self.parts = parts
        self.is_coarse = is_coarse
        self.n_chars = sum(map(_n_chars, parts))
        self.n_bytes = sum(map(_n_bytes, parts))
        self.n_newlines = sum(map(_n_newlines, parts))
        self.n_raw_bytes = sum(map(_n_raw_bytes, parts))
        self.n_tokens = 0
        self.tokens: ChunkTokens | None = None
        self.runs: tuple[OldTokens, ...] = ()
        self.block: Block[Chunk] | None = None
        self._starts: dict[Measure, list[int]] | None = None

    def take(self, tokens: ChunkTokens) -> None:
        """Set the tokens."""
        self.tokens, self.n_tokens, self.runs = tokens, len(tokens.ids), ()

    @property
    def text(self) -> str:
        """The byte text, in time proportional to its length."""
        return joined(self.parts)

    def text_in(self, first: int, last: int) -> str:
        """Return the characters first to last of the chunk."""
        number, start = self._find(_n_chars, first)
        texts = []
        while start < last:
            texts.append(self.parts[number].unpack()[max(first - start, 0) : last - start])
            start += self.parts[number].n_chars
            number += 1
        return "".join(texts)

    def _find(self, measure: Measure, offset: int) -> tuple[int, int]:
        """Return the number and start of the part that contains a unit, or of the last part."""
        if len(self.parts) == 1:
            return 0, 0
        starts = self._starts_by(measure)
        number = bisect_right(starts, offset, 0, len(self.parts)) - 1
        return number, starts[number]

    def _starts_by(self, measure: Measure) -> list[int]:
        """Return the sums over the first 0, 1, 2, … parts."""
        if self._starts is None:
            self._starts = {}
        starts = self._starts.get(measure)
        if starts is None:
            starts = self._starts[measure] = list(accumulate(map(measure, self.parts), initial=0))
        return starts

    def byte_of_char(self, char: int) -> int:
        """Return the byte offset at which a character starts."""
        if self.n_bytes == self.n_chars:
            return char
        number, start = self._find(_n_chars, char)
        byte = self._starts_by(_n_bytes)[number]
        return byte + self.parts[number].byte_of_char(char - start)

    def char_of_byte(self, byte: int) -> int:
        """Return the offset of the character that contains a byte of the chunk."""
        if self.n_bytes == self.n_chars:
            return byte
        number, start = self._find(_n_bytes, byte)
        char = self._starts_by(_n_chars)[number]
        return char + self.parts[number].char_of_byte(byte - start)

    def newlines_before(self, char: int) -> int:
        """Count the line feeds before a character offset."""
        number, start = self._find(_n_chars, char)
        before = self._starts_by(_n_newlines)[number]
        return before + self.parts[number].newlines_before(char - start)

    def newline(self, number: int) -> int:
        """Return the character offset of a line feed, numbered from 0."""
        part, start = self._find(_n_newlines, number)
        return self._starts_by(_n_chars)[part] + self.parts[part].newline(number - start)


CHARS: Final = 0
BYTES: Final = 1
NEWLINES: Final = 2
TOKENS: Final = 3
RAW_BYTES: Final = 4
_CHUNK_MEASURES: Measures[Chunk] = (
    attrgetter("n_chars"),
    attrgetter("n_bytes"),
    attrgetter("n_newlines"),
    attrgetter("n_tokens"),
    attrgetter("n_raw_bytes"),
)


class ChunkList(BlockList[Chunk]):
    """The list of chunks; each chunk knows its block. Its measures are the constants above."""

    __slots__ = ()

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        """Create a list of at least one chunk."""
        super().__init__(chunks, _CHUNK_MEASURES)

    def count(self) -> None:
        """Compute all sums now, so that the first lookup need not."""
        for measure in range(len(_CHUNK_MEASURES)):
            self.total(measure)

    def neighbours(self, chunk: Chunk) -> tuple[Chunk | None, Chunk | None]:
        """Return the chunks before and after a chunk of the list."""
        place = self.place_of(chunk)
        before = next(self.walk_back(place), None)
        after = self.walk(place)
        next(after)
        return before, next(after, None)

    def place_of(self, chunk: Chunk) -> BlockPlace:
        """Return the place of a chunk of the list."""
        assert chunk.block is not None
        return BlockPlace(self._blocks.index(chunk.block), chunk.block.items.index(chunk))

    def splice(
        self,
        first: BlockPlace,
        last: BlockPlace,
        items: Sequence[Chunk],
        blocks: Sequence[Block[Chunk]] = (),
        after: Sequence[Chunk] = (),
    ) -> None:
        """Replace chunks; set the `block` of removed chunks to None."""
        for chunk in self.between(first, last):
            chunk.block = None
        super().splice(first, last, items, blocks, after)

    def tokens_changed(self, chunk: Chunk) -> None:
        """Invalidate the token sums after a chunk's number of tokens changed."""
        assert chunk.block is not None
        chunk.block.forget(TOKENS)
        self._sums[TOKENS] = None

    def _in_blocks(self, items: Sequence[Chunk]) -> list[Block[Chunk]]:
        """Divide chunks into blocks, and set the `block` of each chunk."""
        blocks = super()._in_blocks(items)
        for block in blocks:
            for chunk in block.items:
                chunk.block = block
        return blocks
