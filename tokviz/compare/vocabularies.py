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
    pairs, none = [np.zeros((2, 0), np.int64)], np.zeros(0, np.int64)
    firsts: list[list[Int64s]] = [[none], [none]]
    for length in np.union1d(a.lengths, b.lengths).tolist():
        tokens_a, tokens_b = (_of_length(index, length) for index in (a, b))
        for rows_so_far, (_, rows) in zip(firsts, (tokens_a, tokens_b), strict=True):
            rows_so_far.append(rows)
        _, in_a, in_b = np.intersect1d(
            tokens_a[0], tokens_b[0], assume_unique=True, return_indices=True
        )
        pairs.append(np.array([tokens_a[1][in_a], tokens_b[1][in_b]]))
    in_a, in_b = np.concatenate(pairs, axis=1)
    in_order = np.argsort(in_a)
    only = [
        np.setdiff1d(np.concatenate(rows), shared)
        for rows, shared in zip(firsts, (in_a, in_b), strict=True)
    ]
    return VocabularyDifference(a, b, in_a[in_order], in_b[in_order], *only)


def _of_length(index: VocabularyIndex, length: int) -> tuple[npt.NDArray[np.void], Int64s]:
    """Return the tokens of a length, with a byte for whether they are special, and their rows."""
    rows = np.flatnonzero(index.lengths == length)
    data = index.tokens.blob[index.tokens.starts[rows][:, None] + np.arange(length)]
    keys = np.column_stack([data, index.special[rows].astype(np.uint8)])
    tokens, firsts = np.unique(keys.view(f"V{length + 1}").ravel(), return_index=True)
    return tokens, rows[firsts]
