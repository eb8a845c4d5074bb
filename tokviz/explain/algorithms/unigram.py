"""Unigram: the most probable path through the lattice of all tokens that occur in a pre-token.

It follows `tokenizers`, file `models/unigram/model.rs`, whose Viterbi search adds log-probabilities
from left to right; of equal paths, the one whose last token is longer wins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from tokviz.explain.algorithms.story import Story, StoryRow, byte_tokens, joined
from tokviz.text.sentences import Sentence

N_BEST = 10
"""Number of paths that are found."""
_UNKNOWN_PENALTY = 10.0
"""An unknown character is less probable than the least probable token by this much."""


class Edge(NamedTuple):
    """A token or an unknown character in the lattice, with its log-probability."""

    start: int
    end: int
    text: str
    id: int
    score: float


class Path(NamedTuple):
    """A path through the lattice, with the sum of its log-probabilities."""

    score: float
    edges: tuple[Edge, ...]


class UnigramModel:
    """A Unigram model."""

    def __init__(
        self, vocab: Sequence[tuple[str, float]], unk_id: int | None, byte_fallback: bool = False
    ) -> None:
        """Create the model.

        Args:
            vocab: The tokens with their log-probabilities; the index is the id.
            unk_id: The id of the unknown token.
            byte_fallback: Whether unknown characters become tokens of their bytes.
        """
        self._tokens = {text: (id, score) for id, (text, score) in enumerate(vocab)}
        self._longest = max(map(len, self._tokens), default=0)
        self._unk_id = -1 if unk_id is None else unk_id
        self._unk_score = min((score for _, score in vocab), default=0.0) - _UNKNOWN_PENALTY
        self._byte_fallback = byte_fallback

    def story(self, text: str, is_part: bool = False) -> Story:
        """Explain the best paths of a pre-token, or of some of its tokens."""
        paths = self.n_best(text, N_BEST)
        rows = [
            StoryRow(f"{path.score:.2f}", tuple(e.text.encode() for e in path.edges))
            for path in paths
        ]
        tokens = tuple(self._tokens_of(paths[0].edges))
        whole, _ = self._tokens.get(text, (None, 0.0))
        sentences = tuple(self._sentences(text, paths))
        return Story(text.encode(), tokens, tuple(rows), sentences, whole, n_rows=2)

    def edges_from(self, text: str, start: int) -> Iterator[Edge]:
        """Yield the lattice's edges that start at a character, the shortest first."""
        for end in range(start + 1, min(len(text), start + max(1, self._longest)) + 1):
            part = text[start:end]
            if (found := self._tokens.get(part)) is not None:
                yield Edge(start, end, part, *found)
            elif end == start + 1:
                yield Edge(start, end, part, self._unk_id, self._unk_score)

    def n_best(self, text: str, n: int) -> list[Path]:
        """Find the most probable paths, the best first."""
        best: list[list[Path]] = [[] for _ in range(len(text) + 1)]
        best[0] = [Path(0.0, ())]
        for start in range(len(text)):
            for edge in self.edges_from(text, start):
                best[edge.end] += (
                    Path(edge.score + path.score, (*path.edges, edge)) for path in best[start]
                )
                # A stable sort: of equal paths, the one that was found first wins.
                best[edge.end].sort(key=lambda path: -path.score)
                del best[edge.end][n:]
        return best[-1]

    def n_paths(self, text: str) -> int:
        """Count the paths through the lattice."""
        counts = [1] + [0] * len(text)
        for start in range(len(text)):
            for edge in self.edges_from(text, start):
                counts[edge.end] += counts[start]
        return counts[-1]

    def _tokens_of(self, edges: Sequence[Edge]) -> Iterator[tuple[bytes, int]]:
        """Yield the tokens of a path: adjacent unknown characters are one token, or their bytes."""
        for _, group in groupby(edges, lambda edge: -1 if edge.id == self._unk_id else edge.start):
            text = "".join(edge.text for edge in group)
            spellings = [text]
            if text not in self._tokens and self._byte_fallback:
                spellings = [byte for byte in byte_tokens(text) if byte in self._tokens]
                spellings = spellings if len(spellings) == len(text.encode()) else [text]
            for spelling in spellings:
                yield spelling.encode(), self._tokens.get(spelling, (self._unk_id,))[0]

    def _sentences(self, text: str, paths: list[Path]) -> Iterator[Sentence]:
        best = paths[0].edges
        scores: list[str | bytes] = []
        for edge in best:
            scores += [", " if scores else "", edge.text.encode(), f" {edge.score:.2f}"]
        n = self.n_paths(text)
        yield (f"Best of {n:,} paths: " if n > 1 else "The only path: ", *scores, ".")
        for second in paths[1:2]:
            mine = [edge for edge in best if edge not in second.edges]
            theirs = [edge for edge in second.edges if edge not in best]
            gap = paths[0].score - second.score
            yield (
                f"The runner-up is lower by {gap:.2f}, so it is {math.exp(min(gap, 700)):,.3g} "
                "times less probable. It has ", *_summed(theirs), ", the best path ",
                *_summed(mine), ".",
            )  # fmt: skip
        for lacking in dict.fromkeys(edge.text for edge in best if edge.text not in self._tokens):
            becomes = "its bytes" if self._byte_fallback else "the unknown token"
            yield ("The vocabulary lacks ", lacking.encode(), f", which becomes {becomes}.")


def _summed(edges: Sequence[Edge]) -> Sentence:
    total = sum(edge.score for edge in edges)
    return (*joined(edge.text for edge in edges), f" ({total:.2f})")
