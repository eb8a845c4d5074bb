"""What of a tokenizer makes it cut a text otherwise than another one: found by trying.

A tokenizer is made of four parts: how it normalizes, its special tokens, its split pattern, and its
merges (with its vocabulary). Tokenizers that are part the one and part the other tell which parts
are the cause: those that the one has to take over so that it makes the tokens of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

from tokviz.compare.side import Side
from tokviz.encoding.specials import AllowedSpecial, SpecialTokens
from tokviz.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Int64s = npt.NDArray[np.int64]

Cause = Literal["normalization", "specials", "split", "merges"]
"""A part of a tokenizer."""
CAUSES: tuple[Cause, ...] = ("normalization", "specials", "split", "merges")
"""In the order in which a text meets them."""


class Reason(NamedTuple):
    """Why two tokenizers disagree somewhere.

    Attributes:
        causes: The parts that one of the two has to take over from the other so that they agree, as
            few as possible; none if they agree.
        first_takes: Whether it is the first one that has to take them over. Else only the other
            one can: it agrees once it has these parts of the first one.
    """

    causes: tuple[Cause, ...] = ()
    first_takes: bool = True


def reasons_of(
    text: str, spans: Int64s, one: Side, other: Side, *, allowed: AllowedSpecial | bool
) -> list[Reason]:
    """Find why two tokenizers disagree.

    Args:
        text: Byte text.
        spans: Where they or others disagree, in bytes, ascending; shape (n, 2).
        one: What the first tokenizer makes of the text.
        other: What the other one makes of it.
        allowed: Which special tokens were recognised.

    Returns:
        One reason for each disagreement, without causes where these two agree.
    """
    import numpy as np

    reasons = [Reason()] * len(spans)
    left = np.flatnonzero(~one.same_in(spans, other))
    if one.tokenizer.remote or other.tokenizer.remote:
        for index in left.tolist():
            reasons[index] = Reason((_by_looking(spans[index], one, other),))
        return reasons
    parts = _unlike_parts(text, one, other)
    hybrids: dict[tuple[Cause, ...], Side] = {(): one, tuple(parts): other}
    for taken, first_takes in _tries(parts):
        if not len(left):
            break
        # The other one with parts of the first is the first one with all the other parts.
        own = taken if first_takes else tuple(part for part in parts if part not in taken)
        if own not in hybrids:
            hybrid = combined(one.tokenizer, other.tokenizer, own)
            hybrids[own] = Side.of(hybrid, text, allowed)
        found = hybrids[own].same_in(spans[left], other if first_takes else one)
        for index in left[found].tolist():
            reasons[index] = Reason(taken, first_takes)
        left = left[~found]
    return reasons


def _tries(parts: Sequence[Cause]) -> Iterator[tuple[tuple[Cause, ...], bool]]:
    """Give what may be taken over, few parts first, by the first tokenizer or by the other one."""
    for number in range(1, len(parts) + 1):
        for first_takes in (True, False):
            for taken in combinations(parts, number):
                yield taken, first_takes


def _unlike_parts(text: str, one: Side, other: Side) -> list[Cause]:
    """List the parts that may matter: those that are not the same, as far as this text goes."""
    a, b = one.tokenizer, other.tokenizer
    unlike: dict[Cause, bool] = {
        "normalization": a.changes(text) != b.changes(text),
        "specials": one.special_marks != other.special_marks,
        "split": a.split_pattern.regex != b.split_pattern.regex,
        "merges": a.tables is not b.tables or a.ignore_merges != b.ignore_merges,
    }
    return [cause for cause in CAUSES if unlike[cause]]


def combined(one: Tokenizer, other: Tokenizer, taken: tuple[Cause, ...]) -> Tokenizer:
    """Make a tokenizer of one with parts of another; the ids of its special tokens are its own.

    Args:
        one: A tokenizer that is not `remote`.
        other: The same.
        taken: What it has of `other`.
    """
    merges, split, specials, normalization = (
        other if cause in taken else one
        for cause in ("merges", "split", "specials", "normalization")
    )
    said = specials.specials
    ids = {text: merges.n_vocab + number for number, text in enumerate(said.ids)}
    return merges.with_parts(
        split.split_pattern,
        SpecialTokens(ids, said.normalized, said.non_special),
        nfc=normalization.nfc,
    )


def _by_looking(span: npt.NDArray[np.int64], one: Side, other: Side) -> Cause:
    """Judge by what can be seen, where a library encodes that cannot be taken apart."""
    import numpy as np

    start, end = span.tolist()

    def inside(places: Int64s) -> list[int]:
        first, last = np.searchsorted(places, (start, end), side="right")
        found: list[int] = places[first:last].tolist()
        return found

    unlike = {special for place, special, _ in one.marks ^ other.marks if start < place <= end}
    if unlike:
        return "specials" if True in unlike else "normalization"
    return "merges" if inside(one.piece_ends) == inside(other.piece_ends) else "split"
