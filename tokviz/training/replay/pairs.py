"""The pairs of a corpus as they were before a merge, the best first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import sub
from typing import TYPE_CHECKING, NamedTuple

from tokviz.training import ties
from tokviz.training.ties import TieBreak

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Int32s = npt.NDArray[np.int32]
    Int64s = npt.NDArray[np.int64]
    Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class CorpusTimes:
    """The pre-tokens of a corpus, and when their bytes come together.

    Tokens have numbers here: a byte its value, and the token of merge k 255 + k.

    Attributes:
        data: The bytes of all pre-tokens, one behind another. Shape (total,).
        offsets: Where each pre-token starts, and at last where the last one ends. Shape (m + 1,).
        counts: How often each pre-token occurs. Shape (m,).
        joined: For every byte, the number of the merge that joins it to the byte before, one more
            than there are merges if none does or a pre-token begins. Shape (total,).
        n_merges: The number of merges.
    """

    data: Bytes
    offsets: Int64s
    counts: Int64s
    joined: Int32s
    n_merges: int


class CountedPair(NamedTuple):
    """A pair of token numbers, and how many times it occurs."""

    left: int
    right: int
    n: int


class TieOrder:
    """The order of pairs with equal counts, as numbers: of two pairs the lower is merged first."""

    def __init__(self, rule: TieBreak, tokens: list[bytes], offsets: Int64s) -> None:
        """Take the rule, the bytes of every token by number, and where each pre-token starts."""
        self._rule = rule
        self._tokens = tokens
        self._offsets = offsets
        self._places: Int64s | None = None

    def keys(self, lefts: Int64s, rights: Int64s, positions: Callable[[], Int64s]) -> Int64s:
        """Give the keys of pairs.

        Args:
            lefts: The left tokens.
            rights: The right tokens.
            positions: Finds where the right token of each pair occurs first, in the bytes of all
                pre-tokens.
        """
        n = len(self._tokens)
        match self._rule.compiled:
            case ties.FIRST:
                return positions()
            case ties.SMALLEST_ID:
                return lefts * n + rights
            case ties.LEXICOGRAPHIC:
                places = self._from_greatest()
                keys: Int64s = places[lefts] * n + places[rights]
                return keys
        return self._by_order(lefts.tolist(), rights.tolist(), positions)

    def _by_order(
        self, lefts: list[int], rights: list[int], positions: Callable[[], Int64s]
    ) -> Int64s:
        """Number pairs by the rule as plain Python knows it."""
        import numpy as np

        firsts = [(0, 0)] * len(lefts)
        if self._rule.needs_position:
            places = positions()
            pre_tokens = np.searchsorted(self._offsets, places, side="right") - 1
            starts = (places - self._offsets[pre_tokens]).tolist()
            before = [len(self._tokens[left]) for left in lefts]
            firsts = list(zip(pre_tokens.tolist(), map(sub, starts, before), strict=True))
        pairs = zip(lefts, rights, strict=True)
        by_pair = [
            self._rule.order(pair, self._tokens, first)
            for pair, first in zip(pairs, firsts, strict=True)
        ]
        keys = np.empty(len(by_pair), np.int64)
        keys[sorted(range(len(by_pair)), key=by_pair.__getitem__)] = np.arange(len(by_pair))
        return keys

    def _from_greatest(self) -> Int64s:
        """Number the tokens by their bytes, from the greatest down."""
        import numpy as np

        if self._places is None:
            order = sorted(range(len(self._tokens)), key=self._tokens.__getitem__, reverse=True)
            self._places = np.empty(len(order), np.int64)
            self._places[order] = np.arange(len(order))
        return self._places
