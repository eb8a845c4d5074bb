"""One tokenizer's encoding of a text, in a form that is fast to compare with another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tokviz.text import bytetext
from tokviz.tokenizer.encoding.specials import AllowedSpecial
from tokviz.tokenizer.tokenizer import Tokenizer

Bools = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The tokens of a text in one tokenizer.

    Attributes:
        tokenizer: The tokenizer.
        ids: The token ids, n of them.
        ends: The end of each token, in bytes of the text; shape (n,).
        borders: The token borders without duplicates, including the start and end of the text.
        pre_token_ends: The end of each pre-token; shape (m,).
        marks: Differences invisible in positions: for every token that is special, or whose bytes
            differ from the text, its end (at least 1), whether it is special, and its bytes.
    """

    tokenizer: Tokenizer
    ids: list[int]
    ends: Int64s
    borders: Int64s
    pre_token_ends: Int64s
    marks: frozenset[tuple[int, bool, bytes]]

    @classmethod
    def of(cls, tokenizer: Tokenizer, text: str, allowed: AllowedSpecial | bool) -> Side:
        """Tokenize byte text."""
        tokenization = tokenizer.byte_text.tokenize(text, allowed)
        ends = tokenization.byte_spans[:, 1]
        borders = borders_of(0, ends, bytetext.n_bytes(text))
        altered = tokenizer.remote or tokenizer.byte_text.changes(text)
        ids, spans, special = tokenization.ids, tokenization.byte_spans, tokenization.special
        marks = marks_of(tokenizer, ids, spans, special, text, altered=altered)
        pre_token_ends = tokenization.pre_tokens[:, 1]
        return cls(tokenizer, ids, ends, borders, pre_token_ends, frozenset(marks))

    def numbers_in(self, stretches: Int64s) -> tuple[Int64s, Int64s]:
        """Return, per stretch of bytes, the number of its first token and the one after its last.

        A token without bytes belongs to the stretch before it.

        Args:
            stretches: Byte spans that start and end at borders, ascending; shape (n, 2).
        """
        firsts = np.searchsorted(self.ends, stretches[:, 0], side="right")
        firsts[stretches[:, 0] == 0] = 0
        return firsts, np.searchsorted(self.ends, stretches[:, 1], side="right")

    def ids_in(self, stretches: Int64s) -> list[tuple[int, ...]]:
        """Return the ids of each stretch."""
        firsts, lasts = self.numbers_in(stretches)
        pairs = zip(firsts.tolist(), lasts.tolist(), strict=True)
        return [tuple(self.ids[first:last]) for first, last in pairs]

    @property
    def special_marks(self) -> set[tuple[int, bool, bytes]]:
        """The marks of special tokens."""
        return {mark for mark in self.marks if mark[1]}

    def pre_tokens_in(self, span: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the byte spans of the pre-tokens that touch a stretch of bytes."""
        first = int(np.searchsorted(self.pre_token_ends, span[0], side="right"))
        last = int(np.searchsorted(self.pre_token_ends, span[1], side="left"))
        ends = self.pre_token_ends[first : last + 1].tolist()
        start = int(self.pre_token_ends[first - 1]) if first else 0
        return list(zip([start, *ends], ends, strict=False))

    def has_pre_token(self, pre_token: tuple[int, int]) -> bool:
        """Return whether a stretch of bytes is one pre-token."""
        return self.pre_tokens_in(pre_token) == [pre_token]

    def tokens_of(self, span: tuple[int, int]) -> list[int]:
        """Return the ends of the tokens that end in a stretch of bytes."""
        first, last = np.searchsorted(self.ends, span, side="right")
        ends: list[int] = self.ends[first:last].tolist()
        return ends

    def same_in(self, stretches: Int64s, other: Side) -> Bools:
        """Return for each stretch of bytes whether another side has the same tokens there.

        Tokens are the same if they have the same bytes and position, and are both special or not.

        Args:
            stretches: Byte spans, ascending; shape (n, 2). If they do not end at borders of both
                sides, they are not the same.
            other: The encoding of the text by another tokenizer.
        """
        same = none_in(stretches, np.setxor1d(self.borders, other.borders, assume_unique=True))
        for end in (0, 1):
            same &= np.isin(stretches[:, end], self.borders)
            same &= np.isin(stretches[:, end], other.borders)
        unlike = sorted({place for place, _, _ in self.marks ^ other.marks})
        return same & none_in(stretches, np.array(unlike, np.int64))


def borders_of(start: int, ends: Int64s, end: int) -> Int64s:
    """Return ascending ends without duplicates, including the start and end of the text."""
    edges = np.concatenate([[start], ends, [end]])
    # They are already sorted, which `np.unique` would not exploit.
    borders: Int64s = edges[np.concatenate([[True], edges[1:] != edges[:-1]])]
    return borders


def marks_of(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    spans: Int64s,
    special: Bools,
    text: str,
    at: int = 0,
    *,
    altered: bool,
) -> set[tuple[int, bool, bytes]]:
    """Return the marks of tokens; see `Side.marks`.

    Args:
        tokenizer: The tokenizer.
        ids: The token ids, n of them.
        spans: The byte spans of the tokens; shape (n, 2).
        special: Whether each is special; shape (n,).
        text: The byte text.
        at: The byte at which it starts.
        altered: Whether the bytes of any token may differ from the text.
    """
    marks = set()
    numbers = range(len(ids)) if altered else np.flatnonzero(special).tolist()
    data = bytetext.to_bytes(text) if numbers else b""
    for number in numbers:
        start, end = spans[number].tolist()
        token = tokenizer.token_bytes(ids[number])
        if special[number] or token != data[start - at : end - at]:
            marks.add((max(end, 1), bool(special[number]), token))
    return marks


def shared_stretches(borders: Sequence[Int64s]) -> tuple[Int64s, Int64s]:
    """Find the positions that are token borders in all tokenizers.

    Args:
        borders: The borders of each tokenizer, without duplicates, ascending.

    Returns:
        The positions, shape (n,), and the stretches between neighbors, shape (n - 1, 2).
    """
    shared = borders[0]
    for others in borders[1:]:
        shared = np.intersect1d(shared, others, assume_unique=True)
    return shared, np.stack([shared[:-1], shared[1:]], axis=1)


def none_in(stretches: Int64s, places: Int64s) -> Bools:
    """Return for each stretch whether no position lies after its start, up to its end."""
    before = np.searchsorted(places, stretches[:, 0], side="right")
    none: Bools = before == np.searchsorted(places, stretches[:, 1], side="right")
    return none
