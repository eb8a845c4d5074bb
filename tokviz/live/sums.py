"""The list of chunks, with sums over any prefix of it, cheap to look up and to change.

The chunks are kept in blocks of up to some hundred. Each block remembers the running sums over its
chunks, the list those over its blocks, and a change forgets only the sums it touches. So with n
chunks a look-up bisects and a change costs about the square root of n.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from operator import attrgetter
from typing import Final, NamedTuple

from tokviz.live.chunks import Chunk

CHARS: Final = 0
BYTES: Final = 1
NEWLINES: Final = 2
TOKENS: Final = 3
RAW_BYTES: Final = 4
_SIZE_OF: tuple[Callable[[Chunk], int], ...] = (
    attrgetter("n_chars"),
    attrgetter("n_bytes"),
    attrgetter("n_newlines"),
    attrgetter("n_tokens"),
    attrgetter("n_raw_bytes"),
)

_USUAL_BLOCK = 128
_LARGEST_BLOCK = 256


class ChunkPlace(NamedTuple):
    """Where a chunk is: the number of its block and its number in the block."""

    block: int
    slot: int


class Block:
    """Consecutive chunks with running sums of their sizes."""

    __slots__ = ("_sums", "chunks")

    def __init__(self, chunks: list[Chunk]) -> None:
        """Take the chunks and tell them where they are."""
        self.chunks = chunks
        self._sums: list[list[int] | None] = [None] * len(_SIZE_OF)
        for chunk in chunks:
            chunk.block = self

    def sums(self, measure: int) -> list[int]:
        """Give the sums over the first 0, 1, 2, … chunks."""
        sums = self._sums[measure]
        if sums is None:
            sums = list(accumulate(map(_SIZE_OF[measure], self.chunks), initial=0))
            self._sums[measure] = sums
        return sums

    def forget(self, measure: int) -> None:
        """Notice that a chunk's size changed."""
        self._sums[measure] = None


class ChunkList:
    """A list of at least one chunk. A *measure* is one of the numbers above, such as CHARS."""

    __slots__ = ("_blocks", "_sums")

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        """Take at least one chunk."""
        self._blocks = _in_blocks(chunks)
        self._sums: list[list[int] | None] = [None] * len(_SIZE_OF)

    def __iter__(self) -> Iterator[Chunk]:
        """Walk over all chunks."""
        return chain.from_iterable(block.chunks for block in self._blocks)

    def total(self, measure: int) -> int:
        """Give the sum over all chunks."""
        return self._block_sums(measure)[-1]

    def locate(self, measure: int, offset: int) -> ChunkPlace:
        """Find the chunk that holds the unit number `offset` (≥ 0), the last one if none does."""
        before = self._block_sums(measure)
        block = min(bisect_right(before, offset), len(self._blocks)) - 1
        chunks = self._blocks[block]
        slot = min(bisect_right(chunks.sums(measure), offset - before[block]), len(chunks.chunks))
        return ChunkPlace(block, slot - 1)

    def start(self, place: ChunkPlace, measure: int) -> int:
        """Give the sum over all chunks before a place."""
        block = self._blocks[place.block]
        return self._block_sums(measure)[place.block] + block.sums(measure)[place.slot]

    def chunk(self, place: ChunkPlace) -> Chunk:
        """Give the chunk at a place."""
        return self._blocks[place.block].chunks[place.slot]

    def place_of(self, chunk: Chunk) -> ChunkPlace:
        """Find a chunk of the list."""
        assert chunk.block is not None
        return ChunkPlace(self._blocks.index(chunk.block), chunk.block.chunks.index(chunk))

    def walk(self, place: ChunkPlace) -> Iterator[Chunk]:
        """Walk forwards, beginning with the chunk at a place."""
        yield from self._blocks[place.block].chunks[place.slot :]
        for block in self._blocks[place.block + 1 :]:
            yield from block.chunks

    def walk_back(self, place: ChunkPlace) -> Iterator[Chunk]:
        """Walk backwards, beginning with the chunk before a place."""
        yield from reversed(self._blocks[place.block].chunks[: place.slot])
        for block in reversed(self._blocks[: place.block]):
            yield from reversed(block.chunks)

    def neighbours(self, chunk: Chunk) -> tuple[Chunk | None, Chunk | None]:
        """Give the chunks before and after a chunk of the list."""
        assert chunk.block is not None
        chunks = chunk.block.chunks
        slot = chunks.index(chunk)
        if 0 < slot < len(chunks) - 1:
            return chunks[slot - 1], chunks[slot + 1]
        block = self._blocks.index(chunk.block)
        before = next(self.walk_back(ChunkPlace(block, slot)), None)
        behind = self.walk(ChunkPlace(block, slot))
        next(behind)
        return before, next(behind, None)

    def splice(self, first: ChunkPlace, last: ChunkPlace, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Replace the chunks from `first` up to and with `last`; at least one chunk must remain.

        Returns:
            The chunks that were taken out; their `block` is None from now on.
        """
        head, tail = self._blocks[first.block], self._blocks[last.block]
        removed = list(self.between(first, last))
        for chunk in removed:
            chunk.block = None
        kept_before, kept_after = head.chunks[: first.slot], tail.chunks[last.slot + 1 :]
        stop = last.block + 1
        if len(kept_before) + len(chunks) + len(kept_after) < _USUAL_BLOCK // 4:
            # Blocks must not dwindle: take the next one in.
            kept_after += chain.from_iterable(b.chunks for b in self._blocks[stop : stop + 1])
            stop += 1
        self._blocks[first.block : stop] = _in_blocks([*kept_before, *chunks, *kept_after])
        self._sums = [None] * len(_SIZE_OF)
        return removed

    def between(self, first: ChunkPlace, last: ChunkPlace) -> Iterator[Chunk]:
        """Walk over the chunks from `first` up to and with `last`."""
        for number in range(first.block, last.block + 1):
            chunks = self._blocks[number].chunks
            start = first.slot if number == first.block else 0
            stop = last.slot + 1 if number == last.block else len(chunks)
            yield from chunks[start:stop]

    def tokens_changed(self, chunk: Chunk) -> None:
        """Notice that the number of a chunk's tokens changed."""
        assert chunk.block is not None
        chunk.block.forget(TOKENS)
        self._sums[TOKENS] = None

    def _block_sums(self, measure: int) -> list[int]:
        """Give the sums over the first 0, 1, 2, … blocks."""
        sums = self._sums[measure]
        if sums is None:
            totals = (block.sums(measure)[-1] for block in self._blocks)
            sums = list(accumulate(totals, initial=0))
            self._sums[measure] = sums
        return sums


def _in_blocks(chunks: Sequence[Chunk]) -> list[Block]:
    if len(chunks) <= _LARGEST_BLOCK:
        return [Block(list(chunks))] if chunks else []
    starts = range(0, len(chunks), _USUAL_BLOCK)
    return [Block(list(chunks[start : start + _USUAL_BLOCK])) for start in starts]
