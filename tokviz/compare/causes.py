"""Causes of differences between two tokenizers, found by experiment.

A tokenizer has five parts: normalization, special tokens, split pattern, `ignore_merges`, and
merges (with the vocabulary). Hybrids of two tokenizers show which parts are the cause: those that
one tokenizer must take from the other to produce the same tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from tokviz.compare.tokenized_text import Int64s, Side
from tokviz.tokenizer.encoding.specials import AllowedSpecial, SpecialTokens
from tokviz.tokenizer.tokenizer import Tokenizer

Cause = Literal["normalization", "specials", "split", "ignore_merges", "merges"]
"""A part of a tokenizer."""
CAUSES: tuple[Cause, ...] = ("normalization", "specials", "split", "ignore_merges", "merges")
"""The causes in the order in which encoding applies the parts."""


class Reason(NamedTuple):
    """The reason why two tokenizers disagree about a stretch.

    Attributes:
        causes: The smallest set of parts that one of the two must take from the other to agree
            with it; empty if they agree.
        first_takes: Whether the first one must take them. Otherwise only the other one can agree,
            by taking these parts from the first.
    """

    causes: tuple[Cause, ...] = ()
    first_takes: bool = True


def reasons_of(
    text: str, spans: Int64s, first: Side, other: Side, *, allowed: AllowedSpecial | bool
) -> list[Reason]:
    """Find the reasons why two tokenizers disagree.

    Args:
        text: Byte text.
        spans: Byte spans where these or other tokenizers disagree, ascending; shape (n, 2).
        first: Encoding of the text by the first tokenizer.
        other: Encoding by the other one.
        allowed: Special tokens that were recognized.

    Returns:
        One reason per disagreement, without causes where these two agree.
    """
    reasons = [Reason()] * len(spans)
    left = np.flatnonzero(~first.same_in(spans, other))
    if first.tokenizer.remote or other.tokenizer.remote:
        for index in left.tolist():
            reasons[index] = Reason((_observed_cause(spans[index], first, other),))
        return reasons
    parts = _unlike_parts(text, first, other)
    hybrids: dict[tuple[Cause, ...], Side] = {(): first, tuple(parts): other}
    for taken, first_takes in _tries(parts):
        if not len(left):
            break
        # The other tokenizer with parts of the first is the first with all remaining parts.
        own = taken if first_takes else tuple(part for part in parts if part not in taken)
        if own not in hybrids:
            hybrid = combined(first.tokenizer, other.tokenizer, own)
            hybrids[own] = Side.of(hybrid, text, allowed)
        agree = hybrids[own].same_in(spans[left], other if first_takes else first)
        for index in left[agree].tolist():
            reasons[index] = Reason(taken, first_takes)
        left = left[~agree]
    return reasons


def _tries(parts: Sequence[Cause]) -> Iterator[tuple[tuple[Cause, ...], bool]]:
    """Yield the sets of parts to take, smallest first, by the first tokenizer or by the other."""
    for number in range(1, len(parts) + 1):
        for first_takes in (True, False):
            for taken in combinations(parts, number):
                yield taken, first_takes


def _unlike_parts(text: str, first: Side, other: Side) -> list[Cause]:
    """Return the parts that differ, and so may matter for this text."""
    a, b = first.tokenizer, other.tokenizer
    unlike: dict[Cause, bool] = {
        "normalization": a.byte_text.changes(text) != b.byte_text.changes(text),
        "specials": first.special_marks != other.special_marks,
        "split": (a.split_pattern.regex, a.split_pattern.steps)
        != (b.split_pattern.regex, b.split_pattern.steps),
        "ignore_merges": a.ignore_merges != b.ignore_merges,
        "merges": a.tables is not b.tables,
    }
    return [cause for cause in CAUSES if unlike[cause]]


def combined(first: Tokenizer, other: Tokenizer, taken: tuple[Cause, ...]) -> Tokenizer:
    """Return a hybrid of two tokenizers, with new ids for its special tokens.

    Args:
        first: A tokenizer that is not `remote`.
        other: Another such tokenizer.
        taken: The parts to take from `other`.
    """
    normalization, specials, split, ignoring, merges = (
        other if cause in taken else first for cause in CAUSES
    )
    tokens = specials.specials
    ids = {text: merges.n_vocab + number for number, text in enumerate(tokens.ids)}
    return merges.with_parts(
        split.split_pattern,
        SpecialTokens(ids, tokens.normalized, tokens.non_special),
        normalization.normalizer,
        ignore_merges=ignoring.ignore_merges,
    )


def _observed_cause(span: Int64s, first: Side, other: Side) -> Cause:
    """Return the visible difference, for tokenizers of libraries, which cannot be combined."""
    start, end = span.tolist()

    def inside(ends: Int64s) -> list[int]:
        first, last = np.searchsorted(ends, (start, end), side="right")
        inner: list[int] = ends[first:last].tolist()
        return inner

    unlike = {special for place, special, _ in first.marks ^ other.marks if start < place <= end}
    if unlike:
        return "specials" if True in unlike else "normalization"
    return "merges" if inside(first.pre_token_ends) == inside(other.pre_token_ends) else "split"
