"""Unigram: the most probable path through the lattice of all tokens that occur in a pre-token.

It follows `tokenizers`, file `models/unigram/model.rs`, whose Viterbi search adds log-probabilities
from left to right; of equal paths, the one whose last token is longer wins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from tokviz.explain.algorithms.story import (
    MAX_STORY_CHARS,
    Piece,
    Show,
    Story,
    StoryRow,
    byte_pieces,
    joined,
    story_of,
    too_long,
)
from tokviz.text.sentences import Sentence

N_BEST = 10
"""Number of paths that are found."""
_UNKNOWN_PENALTY = 10.0
"""An unknown character is less probable than the least probable token by this much."""
_MOST_COUNTED = 1_000_000


class Edge(NamedTuple):
    """A token or an unknown character in the lattice, with its log-probability."""

    start: int
    end: int
    id: int | None
    score: float


class Path(NamedTuple):
    """A path through the lattice, with the sum of its log-probabilities."""

    score: float
    edges: tuple[Edge, ...]


_Way = tuple[float, Edge | None, int]


def _back(best: list[list[_Way]], edge: Edge | None, rank: int) -> Iterator[Edge]:
    """Yield the edges of a path, the last first."""
    while edge is not None:
        yield edge
        _, edge, rank = best[edge.start][rank]


@dataclass(frozen=True, slots=True)
class UnigramModel:
    """A Unigram model.

    Attributes:
        tokens: The id and the log-probability of each token.
        longest: The number of characters of the longest token.
        unk_id: The id of the unknown token.
        unk_score: The log-probability of an unknown character.
        byte_fallback: Whether unknown characters become tokens of their bytes.
        show: Converts the spelling of a token to the bytes to show.
    """

    tokens: Mapping[str, tuple[int, float]]
    longest: int
    unk_id: int | None
    unk_score: float
    byte_fallback: bool = False
    show: Show = str.encode

    @classmethod
    def of(
        cls,
        vocab: list[tuple[str, float]],
        unk_id: int | None,
        byte_fallback: bool,
        hidden: frozenset[str] = frozenset(),
        show: Show = str.encode,
    ) -> UnigramModel:
        """Create the model.

        Args:
            vocab: The tokens with their log-probabilities; the index is the id.
            unk_id: The id of the unknown token.
            byte_fallback: Whether unknown characters become tokens of their bytes.
            hidden: Tokens that never occur in text.
            show: Converts the spelling of a token to the bytes to show.
        """
        tokens = {
            text: (token_id, score)
            for token_id, (text, score) in enumerate(vocab)
            if text and text not in hidden
        }
        least = min((score for _, score in vocab), default=0.0)
        longest = max(map(len, tokens), default=0)
        return cls(tokens, longest, unk_id, least - _UNKNOWN_PENALTY, byte_fallback, show)

    def encode(self, text: str) -> list[Piece]:
        """Encode a pre-token."""
        best = next(iter(self.n_best(text, 1)), Path(0.0, ()))
        return list(self._pieces(text, best))

    def story(self, text: str, *, is_part: bool = False) -> Story:
        """Explain the best paths of a pre-token, or of some of its tokens."""
        pieces = self.encode(text)
        if len(text) > MAX_STORY_CHARS:
            return too_long(pieces, text, self.show)
        paths = self.n_best(text, N_BEST)
        rows = tuple(
            StoryRow(f"{path.score:.2f}", tuple(self._spelled(text, path.edges))) for path in paths
        )
        whole = self.tokens.get(text)
        reason: Sentence = ()
        if whole is not None:
            reason = (f"its log-probability {whole[1]:.2f} is below the best path's",)
        sentences = tuple(self._sentences(text, paths))
        return story_of(
            pieces, text, self.show, rows=rows, sentences=sentences, reason=reason,
            whole=None if whole is None else whole[0], n_rows=2,
        )  # fmt: skip

    def edges_from(self, text: str, start: int) -> Iterator[Edge]:
        """Yield the lattice's edges that start at a character, the shortest first."""
        has_single = False
        for end in range(start + 1, min(len(text), start + self.longest) + 1):
            if (found := self.tokens.get(text[start:end])) is not None:
                has_single |= end == start + 1
                yield Edge(start, end, *found)
        if not has_single:
            yield Edge(start, start + 1, None, self.unk_score)

    def n_best(self, text: str, n: int) -> list[Path]:
        """Find the most probable paths, the best first."""
        # Each entry: score, edge into this place, and rank of the path among those to its start.
        best: list[list[_Way]] = [[] for _ in range(len(text) + 1)]
        best[0] = [(0.0, None, 0)]
        for start in range(len(text)):
            for edge in self.edges_from(text, start):
                ways = [(edge.score + way[0], edge, k) for k, way in enumerate(best[start])]
                # A stable sort: of equal paths, the one that was found first wins.
                best[edge.end] = sorted([*best[edge.end], *ways], key=lambda way: -way[0])[:n]
        return [
            Path(score, tuple(reversed(list(_back(best, edge, rank)))))
            for score, edge, rank in (best[-1] if text else [])
        ]

    def n_paths(self, text: str) -> int:
        """Count the paths through the lattice."""
        counts = [1] + [0] * len(text)
        for start in range(len(text)):
            for edge in self.edges_from(text, start):
                counts[edge.end] += counts[start]
        return counts[-1]

    def _pieces(self, text: str, path: Path) -> Iterator[Piece]:
        """Yield the tokens of a path: adjacent unknown characters are one token, or their bytes."""
        unknown = -1
        for at, edge in enumerate(path.edges):
            is_unknown = edge.id is None or edge.id == self.unk_id
            start = edge.start if unknown < 0 else unknown
            follows = at + 1 < len(path.edges) and path.edges[at + 1].id in (None, self.unk_id)
            if is_unknown and follows and self.unk_id is not None:
                unknown = start
                continue
            unknown = -1
            spelling = text[start : edge.end]
            token = self.tokens.get(spelling)
            if token is not None:
                yield Piece(spelling, token[0], start, edge.end)
                continue
            fallback = [(byte, self.tokens.get(byte)) for byte in byte_pieces(spelling)]
            if self.byte_fallback and all(token for _, token in fallback):
                yield from (
                    Piece(byte, token[0], start, edge.end) for byte, token in fallback if token
                )
            else:
                yield Piece(spelling, self.unk_id or 0, start, edge.end)

    def _spelled(self, text: str, edges: tuple[Edge, ...]) -> list[bytes]:
        return [self.show(text[edge.start : edge.end]) for edge in edges]

    def _sentences(self, text: str, paths: list[Path]) -> Iterator[Sentence]:
        if not paths:
            return
        best = paths[0]
        scores: list[str | bytes] = []
        for edge, token in zip(best.edges, self._spelled(text, best.edges), strict=True):
            scores += [", " if scores else "", token, f" {edge.score:.2f}"]
        n = self.n_paths(text)
        many = f"{n:,}" if n < _MOST_COUNTED else f"more than {_MOST_COUNTED:,}"
        if n == 1:
            yield ("The lattice has only one path: ", *scores, ".")
        else:
            yield (f"The best of the lattice's {many} paths: ", *scores, ".")
            yield from self._gap(text, best, paths[1])
        unknown = [edge for edge in best.edges if edge.id is None]
        for spelling in dict.fromkeys(text[edge.start : edge.end] for edge in unknown):
            becomes = "its bytes" if self.byte_fallback else "the unknown token"
            yield (
                "The vocabulary lacks ", self.show(spelling), f", which becomes {becomes} and "
                f"counts as {self.unk_score:.2f}.",
            )  # fmt: skip

    def _gap(self, text: str, best: Path, second: Path) -> Iterator[Sentence]:
        """Compare the best path and the runner-up where they differ."""
        pairs = list(zip(best.edges, second.edges, strict=False))
        same = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
        ends = list(zip(reversed(best.edges[same:]), reversed(second.edges[same:]), strict=False))
        tail = len(list(takewhile(lambda pair: pair[0] == pair[1], ends)))
        parts: list[str | bytes] = []
        for path in (best, second):
            edges = path.edges[same : len(path.edges) - tail]
            total = sum(edge.score for edge in edges)
            parts += [*joined(self._spelled(text, edges)), f" ({total:.2f})"]
            parts += [" instead of "] if path is best else []
        gap = best.score - second.score
        times = f"{math.exp(gap):,.1f} times" if gap < math.log(1e6) else "over 1,000,000 times"
        yield (
            f"The runner-up's log-probability is lower by {gap:.2f}: the best path is {times} as "
            "probable. The best path has ", *parts, ".",
        )  # fmt: skip
