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


Path = tuple[float, tuple[Edge, ...]]
"""The sum of the log-probabilities of a path's edges, and the edges."""


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
        self._longest = max(map(len, self._tokens), default=1)
        self._unk_id = -1 if unk_id is None else unk_id
        self._unk_score = min((score for _, score in vocab), default=0.0) - _UNKNOWN_PENALTY
        self._byte_fallback = byte_fallback

    def story(self, text: str, is_part: bool = False) -> Story:
        """Explain the best paths of a pre-token, or of some of its tokens."""
        paths = self.n_best(text)
        rows = tuple(
            StoryRow(f"{score:.2f}", tuple(edge.text.encode() for edge in edges))
            for score, edges in paths
        )
        tokens, sentences = tuple(self._tokens_of(paths[0][1])), tuple(self._sentences(paths))
        whole, _ = self._tokens.get(text, (None, 0.0))
        return Story(text.encode(), tokens, rows, sentences, whole, n_rows=2)

    def n_best(self, text: str) -> list[Path]:
        """Find the `N_BEST` most probable paths, the best first."""
        best: list[list[Path]] = [[(0.0, ())], *([] for _ in text)]
        for start in range(len(text)):
            for edge in self._edges_from(text, start):
                paths = [(score + edge.score, (*edges, edge)) for score, edges in best[start]]
                # A stable sort: of equal paths, the one that was found first wins.
                paths = sorted(best[edge.end] + paths, key=lambda path: -path[0])
                best[edge.end] = paths[:N_BEST]
        return best[-1]

    def _edges_from(self, text: str, start: int) -> Iterator[Edge]:
        """Yield the lattice's edges that start at a character, the shortest first."""
        for end in range(start + 1, min(len(text), start + self._longest) + 1):
            part = text[start:end]
            if part in self._tokens or end == start + 1:
                found = self._tokens.get(part, (self._unk_id, self._unk_score))
                yield Edge(start, end, part, *found)

    def _tokens_of(self, edges: Sequence[Edge]) -> Iterator[tuple[bytes, int]]:
        """Yield the tokens of a path: adjacent unknown characters are one token, or their bytes."""
        for _, group in groupby(edges, lambda edge: -1 if edge.id == self._unk_id else edge.start):
            text = "".join(edge.text for edge in group)
            fallback = byte_tokens(text) if self._byte_fallback and text not in self._tokens else []
            is_known = fallback and all(byte in self._tokens for byte in fallback)
            for token in fallback if is_known else [text]:
                yield token.encode(), self._tokens.get(token, (self._unk_id,))[0]

    def _sentences(self, paths: list[Path]) -> Iterator[Sentence]:
        best = paths[0][1]
        scores: list[str | bytes] = []
        for edge in best:
            scores += [
                ", " if scores else "The best path: ",
                edge.text.encode(),
                f" {edge.score:.2f}",
            ]
        yield (*scores, ".")
        for score, second in paths[1:2]:
            gap = paths[0][0] - score
            yield (
                f"The runner-up is lower by {gap:.2f}, so it is {math.exp(min(gap, 700)):,.3g} "
                "times less probable. It has ", *_beyond(second, best), ", the best path ",
                *_beyond(best, second), ".",
            )  # fmt: skip
        for lacking in dict.fromkeys(edge.text for edge in best if edge.text not in self._tokens):
            becomes = "its bytes" if self._byte_fallback else "the unknown token"
            yield ("The vocabulary lacks ", lacking.encode(), f", which becomes {becomes}.")


def _beyond(edges: Sequence[Edge], others: Sequence[Edge]) -> Sentence:
    """Join the edges that other ones lack, with the sum of their log-probabilities."""
    own = [edge for edge in edges if edge not in others]
    return (
        *joined(edge.text.encode() for edge in own),
        f" ({sum(edge.score for edge in own):.2f})",
    )
