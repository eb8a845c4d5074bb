"""Lists with prefix sums, cheap to look up and to change.

The items are kept in blocks of up to a few hundred. Each block caches the running sums over its
items, the list those over its blocks, and a change invalidates only the sums it affects. So with n
items, a lookup is a bisection and a change takes about the square root of n.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from typing import ClassVar, Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
Measures = tuple[Callable[[T], int], ...]
"""The sizes of an item to sum up; a *measure* is an index into them."""


ITEMS: Final = -1
"""The measure of every list: the number of items."""


class BlockPlace(NamedTuple):
    """Position of an item: the number of its block, and its number in the block."""

    block: int
    slot: int


class Block(Generic[T]):
    """Consecutive items with running sums of their sizes."""

    __slots__ = ("_measures", "_sums", "_totals", "items")

    def __init__(
        self, items: list[T], measures: Measures[T], totals: Sequence[int] | None = None
    ) -> None:
        """Create a block of items; pass the sums over all items if they are known."""
        self.items = items
        self._measures = measures
        self._sums: list[list[int] | None] = [None] * len(measures)
        self._totals: list[int | None] = [None] * len(measures) if totals is None else [*totals]

    def sums(self, measure: int) -> list[int]:
        """Return the sums over the first 0, 1, 2, … items."""
        sums = self._sums[measure]
        if sums is None:
            sums = list(accumulate(map(self._measures[measure], self.items), initial=0))
            self._sums[measure] = sums
        return sums

    def total(self, measure: int) -> int:
        """Return the sum over all items, without computing the running sums."""
        total = self._totals[measure]
        if total is None:
            total = self._totals[measure] = sum(map(self._measures[measure], self.items))
        return total

    def forget(self, measure: int) -> None:
        """Invalidate the sums after an item's size changed."""
        self._sums[measure] = self._totals[measure] = None


class BlockList(Generic[T]):
    """A list of at least one item, with sums of some measures."""

    __slots__ = ("_blocks", "_measures", "_sums")

    usual_block: ClassVar[int] = 128
    """Number of items of a new block; a block may grow to twice as many."""

    def __init__(self, items: Sequence[T], measures: Measures[T]) -> None:
        """Create a list of at least one item."""
        self._measures = measures
        self._blocks = self._in_blocks(items)
        self._sums: list[list[int] | None] = []
        self._forget()

    def _forget(self) -> None:
        self._sums = [None] * (len(self._measures) + 1)

    def __iter__(self) -> Iterator[T]:
        """Iterate over all items."""
        return chain.from_iterable(block.items for block in self._blocks)

    def total(self, measure: int) -> int:
        """Return the sum over all items."""
        return self._block_sums(measure)[-1]

    def locate(self, measure: int, offset: int) -> BlockPlace:
        """Find the item that contains the unit number `offset` (≥ 0), or the last item."""
        before = self._block_sums(measure)
        block = min(bisect_right(before, offset), len(self._blocks)) - 1
        containing = self._blocks[block]
        slot = min(
            bisect_right(containing.sums(measure), offset - before[block]), len(containing.items)
        )
        return BlockPlace(block, slot - 1)

    def start(self, place: BlockPlace, measure: int) -> int:
        """Return the sum over all items before a place."""
        block = self._blocks[place.block]
        return self._block_sums(measure)[place.block] + block.sums(measure)[place.slot]

    def nth(self, number: int) -> BlockPlace:
        """Return the place of an item by its number."""
        before = self._block_sums(ITEMS)
        block = bisect_right(before, number, 0, len(self._blocks)) - 1
        return BlockPlace(block, number - before[block])

    def item(self, place: BlockPlace) -> T:
        """Return the item at a place."""
        return self._blocks[place.block].items[place.slot]

    def walk(self, place: BlockPlace) -> Iterator[T]:
        """Iterate forwards, starting with the item at a place."""
        yield from self._blocks[place.block].items[place.slot :]
        for block in self._blocks[place.block + 1 :]:
            yield from block.items

    def walk_back(self, place: BlockPlace) -> Iterator[T]:
        """Iterate backwards, starting with the item before a place."""
        yield from reversed(self._blocks[place.block].items[: place.slot])
        for block in reversed(self._blocks[: place.block]):
            yield from reversed(block.items)

    def between(self, first: BlockPlace, last: BlockPlace) -> Iterator[T]:
        """Iterate over the items from `first` to `last`, inclusive."""
        for number in range(first.block, last.block + 1):
            items = self._blocks[number].items
            start = first.slot if number == first.block else 0
            stop = last.slot + 1 if number == last.block else len(items)
            yield from items[start:stop]

    def splice(
        self,
        first: BlockPlace,
        last: BlockPlace,
        items: Sequence[T],
        blocks: Sequence[Block[T]] = (),
        after: Sequence[T] = (),
    ) -> None:
        """Replace the items from `first` to `last`, inclusive; at least one item must remain.

        Args:
            first: The first item to remove.
            last: The last item to remove.
            items: The items that replace them.
            blocks: More items, already in blocks, which the list takes over.
            after: Items to insert after the blocks.
        """
        kept_before = self._blocks[first.block].items[: first.slot]
        kept_after = self._blocks[last.block].items[last.slot + 1 :]
        stop = last.block + 1
        if blocks:
            self._blocks[first.block : stop] = [
                *self._in_blocks([*kept_before, *items]),
                *blocks,
                *self._in_blocks([*after, *kept_after]),
            ]
            self._forget()
            return
        if len(kept_before) + len(items) + len(kept_after) < self.usual_block // 4:
            # Merge with the next block, because blocks must not become too short.
            kept_after += chain.from_iterable(b.items for b in self._blocks[stop : stop + 1])
            stop += 1
        self._blocks[first.block : stop] = self._in_blocks([*kept_before, *items, *kept_after])
        self._forget()

    def extend(self, other: BlockList[T]) -> None:
        """Append all items of another list, and take over its blocks."""
        self._blocks += other._blocks
        self._forget()

    def _block_sums(self, measure: int) -> list[int]:
        """Return the sums over the first 0, 1, 2, … blocks."""
        sums = self._sums[measure]
        if sums is None:
            if measure == ITEMS:
                totals = [len(block.items) for block in self._blocks]
            else:
                totals = [block.total(measure) for block in self._blocks]
            sums = list(accumulate(totals, initial=0))
            self._sums[measure] = sums
        return sums

    def _in_blocks(self, items: Sequence[T]) -> list[Block[T]]:
        size = len(items) if len(items) <= 2 * self.usual_block else self.usual_block
        starts = range(0, len(items), size or 1)
        return [Block(list(items[start : start + size]), self._measures) for start in starts]
