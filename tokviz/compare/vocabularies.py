"""Shared tokens of two vocabularies, and tokens that only one of them has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tokviz.explain.vocabulary.index import VocabularyIndex

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class VocabularyDifference:
    """Comparison of two vocabularies.

    Tokens are the same if they have the same bytes and are special in both or none. If a token has
    several ids, the lowest counts. Tokens are given as rows of their index.

    Attributes:
        a: The first vocabulary.
        b: The second one.
        in_a: The shared tokens, rows of A, ascending; shape (n,).
        in_b: Their rows of B; shape (n,).
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
        """The shared tokens whose ids differ, as indexes into `in_a` and `in_b`."""
        return np.flatnonzero(self.a.ids[self.in_a] != self.b.ids[self.in_b])


def diff_vocabularies(a: VocabularyIndex, b: VocabularyIndex) -> VocabularyDifference:
    """Match the tokens of two vocabularies."""
    rows_a, rows_b = _rows_by_token(a), _rows_by_token(b)
    shared = [(row, rows_b[token]) for token, row in rows_a.items() if token in rows_b]
    only_in_a = [row for token, row in rows_a.items() if token not in rows_b]
    only_in_b = [row for token, row in rows_b.items() if token not in rows_a]
    in_a, in_b = np.array(shared, np.int64).reshape(-1, 2).T
    only = (np.array(rows, np.int64) for rows in (only_in_a, only_in_b))
    return VocabularyDifference(a, b, in_a, in_b, *only)


def _rows_by_token(index: VocabularyIndex) -> dict[tuple[bytes, bool], int]:
    """Return the first row of each token, by its bytes and whether it is special."""
    rows: dict[tuple[bytes, bool], int] = {}
    for row, token in enumerate(zip(index.tokens, index.special.tolist(), strict=True)):
        rows.setdefault(token, row)
    return rows
