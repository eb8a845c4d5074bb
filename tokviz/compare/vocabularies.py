"""What the vocabularies of two tokenizers share, and what only one of them has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tokviz.vocabulary.index import Cancelled, VocabularyIndex, never
from tokviz.vocabulary.scripts import SCRIPTS
from tokviz.vocabulary.search import LENGTHS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Int64s = npt.NDArray[np.int64]

_SLICE = 4096


class Group(NamedTuple):
    """Tokens of a script, or of some lengths: how many there are only in A, in both, only in B."""

    name: str
    only_in_a: int
    in_both: int
    only_in_b: int


@dataclass(frozen=True, eq=False)
class VocabularyDifference:
    """Two vocabularies side by side.

    The same tokens are those of the same bytes, special in both or in none. Of several ids for the
    same token, the lowest counts. Tokens are rows of their index.

    Attributes:
        a: The first vocabulary.
        b: The second one.
        in_a: Where the shared tokens stand in A, ascending; shape (n,).
        in_b: Where each of them stands in B; shape (n,).
        only_in_a: Tokens that B lacks, rows of A, ascending.
        only_in_b: Tokens that A lacks, rows of B, ascending.
    """

    a: VocabularyIndex
    b: VocabularyIndex
    in_a: Int64s
    in_b: Int64s
    only_in_a: Int64s
    only_in_b: Int64s

    @cached_property
    def under_other_ids(self) -> Int64s:
        """The shared tokens whose ids differ, as places in `in_a` and `in_b`."""
        import numpy as np

        return np.flatnonzero(self.a.ids[self.in_a] != self.b.ids[self.in_b])

    @cached_property
    def by_script(self) -> tuple[Group, ...]:
        """The tokens by the script of their letters, the largest groups first."""
        import numpy as np

        def count(index: VocabularyIndex, rows: Int64s) -> list[int]:
            counts: list[int] = np.bincount(index.scripts[rows], minlength=len(SCRIPTS)).tolist()
            return counts

        return tuple(sorted(self._groups(SCRIPTS, count), key=lambda one: -sum(one[1:])))

    @cached_property
    def by_length(self) -> tuple[Group, ...]:
        """The tokens by their length in bytes."""
        import numpy as np

        names = [f"{first}" if first == last else f"{first}–{last}" for first, last in LENGTHS[:-1]]
        firsts = np.array([first for first, _ in LENGTHS])

        def count(index: VocabularyIndex, rows: Int64s) -> list[int]:
            places = np.searchsorted(firsts, index.lengths[rows], side="right") - 1
            counts: list[int] = np.bincount(places, minlength=len(firsts)).tolist()
            return counts

        return tuple(self._groups([*names, f"{LENGTHS[-1][0]}+"], count))

    def _groups(
        self, names: Iterable[str], count: Callable[[VocabularyIndex, Int64s], list[int]]
    ) -> list[Group]:
        counts = (
            count(self.a, self.only_in_a),
            count(self.a, self.in_a),
            count(self.b, self.only_in_b),
        )
        rows = zip(names, *counts, strict=True)
        return [Group(*row) for row in rows if any(row[1:])]


def diff_vocabularies(
    a: VocabularyIndex, b: VocabularyIndex, cancelled: Callable[[], bool] = never
) -> VocabularyDifference:
    """Match the tokens of two vocabularies.

    Args:
        a: The first one.
        b: The second one.
        cancelled: Asked now and then; True ends the work.

    Raises:
        Cancelled: If it was.
    """
    import numpy as np

    rows_of_a, rows_of_b = _rows_by_token(a, cancelled), _rows_by_token(b, cancelled)
    shared = [(row, rows_of_b[token]) for token, row in rows_of_a.items() if token in rows_of_b]
    in_a, in_b = np.array(shared, np.int64).reshape(-1, 2).T
    only = [
        np.array([row for token, row in own.items() if token not in others], np.int64)
        for own, others in ((rows_of_a, rows_of_b), (rows_of_b, rows_of_a))
    ]
    return VocabularyDifference(a, b, in_a, in_b, *only)


def _rows_by_token(
    index: VocabularyIndex, cancelled: Callable[[], bool]
) -> dict[tuple[bytes, bool], int]:
    """Give the first row of every token, in the order of their ids."""
    rows: dict[tuple[bytes, bool], int] = {}
    special = index.special.tolist()
    for row, token in enumerate(index.tokens):
        if row % _SLICE == 0 and cancelled():
            raise Cancelled
        rows.setdefault((token, special[row]), row)
    return rows
