"""Causes of differences between two tokenizers, found by experiment, with explanations.

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
from tokviz.explain.trace import EncodeTrace, TraceStep, encode_trace, listed
from tokviz.formats.registry import short_name
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence
from tokviz.tokenizer.encoding.specials import AllowedSpecial, SpecialTokens
from tokviz.tokenizer.pretokenize.alternatives import cut_of
from tokviz.tokenizer.tokenizer import Tokenizer

Cause = Literal["normalization", "specials", "split", "ignore_merges", "merges"]
"""A part of a tokenizer."""
CAUSES: tuple[Cause, ...] = ("normalization", "specials", "split", "ignore_merges", "merges")
"""The causes in the order in which encoding applies the parts."""


MOST_PRE_TOKENS = 6
"""Maximum number of pre-tokens and tokens listed in a sentence."""
_SHOWN = 64
"""Maximum number of bytes of a long pre-token shown in a sentence."""
_CONTEXT = 4096
"""Number of bytes before a pre-token used to find the alternative that matches it."""

ByteSpan = tuple[int, int]


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


# -- explanations


def why_other(data: bytes, span: ByteSpan, first: Side, other: Side, cause: Cause) -> Sentence:
    """Explain the effect of a cause.

    Args:
        data: The bytes of the text.
        span: The stretch.
        first: Encoding of the text by the first tokenizer.
        other: Encoding by the other one.
        cause: The part of the tokenizers that is the cause.
    """
    return _SENTENCES[cause](data, span, first, other)


def _name(side: Side, beside: Side) -> str:
    """Return a tokenizer's short name if it differs from the other one's, or the full name."""
    own, other = (short_name(each.tokenizer.name) for each in (side, beside))
    return own if own != other else side.tokenizer.name


def _normalization(data: bytes, span: ByteSpan, first: Side, other: Side) -> Sentence:
    parts: list[str | bytes] = []
    sides = ((first, other), (other, first))
    for side, beside in sides:
        changed = [mark for mark in _marks_in(side, span) if not mark[1]]
        if changed:
            parts += ["; " if parts else "", f"{_name(side, beside)} normalizes the text to "]
            parts.append(b"".join(token for _, _, token in changed))
    still = [_name(side, beside) for side, beside in sides if not _marks_in(side, span)]
    if still and parts:
        parts.append(f"; {still[0]} does not change it")
    return (*(parts or ["They normalize the text differently"]), ".")


def _marks_in(side: Side, span: ByteSpan) -> list[tuple[int, bool, bytes]]:
    return sorted(mark for mark in side.marks if span[0] < mark[0] <= span[1])


def _specials(data: bytes, span: ByteSpan, first: Side, other: Side) -> Sentence:
    parts: list[str | bytes] = []
    for side, without in ((first, other), (other, first)):
        others = _marks_in(without, span)
        for mark in _marks_in(side, span):
            if mark[1] and mark not in others:
                parts += ["; " if parts else "", mark[2]]
                parts.append(f" is a special token of {_name(side, without)}, ")
                parts.append(f"and plain text in {_name(without, side)}")
                break
    return (*parts, ".")


def _split(data: bytes, span: ByteSpan, first: Side, other: Side) -> Sentence:
    parts: list[str | bytes] = []
    for side, beside in ((first, other), (other, first)):
        pre_tokens = side.pre_tokens_in(span)
        unlike = _first_unlike(pre_tokens, first, other)
        n, pattern = len(pre_tokens), side.tokenizer.split_pattern.name
        parts.append("; " if parts else "")
        parts.append(f"{_name(side, beside)} (pattern {pattern}) has ")
        parts.append("the pre-token " if n == 1 else f"{n:,} pre-tokens ")
        for number, pre_token in enumerate(pre_tokens[:MOST_PRE_TOKENS]):
            parts += [" | " if number else "", data[slice(*pre_token)]]
            parts.append(_taken(data, side, pre_token) if pre_token == unlike else "")
        parts.append(" | …" if n > MOST_PRE_TOKENS else "")
    return (*parts, ".")


def _first_unlike(pre_tokens: list[ByteSpan], first: Side, other: Side) -> ByteSpan | None:
    """Return the first of a tokenizer's pre-tokens that the two do not share."""
    for pre_token in pre_tokens:
        if not (first.has_pre_token(pre_token) and other.has_pre_token(pre_token)):
            return pre_token
    return None


def _taken(data: bytes, side: Side, pre_token: ByteSpan) -> str:
    """Describe, in brackets, the alternative of the pattern that matches a pre-token."""
    pattern = side.tokenizer.split_pattern
    if pattern.guarded or side.tokenizer.remote or side.tokenizer.normalizer:
        return ""
    first = max(0, pre_token[0] - _CONTEXT)
    text, before, own = (
        bytetext.from_bytes(data[start:end])
        for start, end in ((first, pre_token[1] + _CONTEXT), (first, pre_token[0]), pre_token)
    )
    alternative = cut_of(pattern, text, len(before), len(before) + len(own)).alternative
    if alternative is None:
        return ""
    return f" ({alternative.words or pattern.regex[slice(*alternative.span)]})"


def _ignore_merges(data: bytes, span: ByteSpan, first: Side, other: Side) -> Sentence:
    own, lacking = (first, other) if first.tokenizer.ignore_merges else (other, first)
    pre_token = _unlike_pre_token(span, first, other)
    made = data[slice(*pre_token)], " is one token without merging", *_made(lacking, own, pre_token)
    return (f"{_name(own, lacking)} has ignore_merges, so the pre-token ", *made, ".")


def _unlike_pre_token(span: ByteSpan, first: Side, other: Side) -> ByteSpan:
    """Return a pre-token that the two share and encode differently, otherwise the last one."""
    pre_token = next(iter(first.pre_tokens_in(span)), span)
    for pre_token in first.pre_tokens_in(span):
        if other.has_pre_token(pre_token) and first.tokens_of(pre_token) != other.tokens_of(
            pre_token
        ):
            break
    return pre_token


def _merges(data: bytes, span: ByteSpan, first: Side, other: Side) -> Sentence:
    pre_token = _unlike_pre_token(span, first, other)
    token = data[slice(*pre_token)]
    if first.tokenizer.remote or other.tokenizer.remote:
        # A library does not report its merges, and may not have any.
        made = *_made(first, other, pre_token), *_made(other, first, pre_token)
        return ("For the pre-token ", token[:_SHOWN], *made, ".")
    traces = [encode_trace(side.tokenizer, token) for side in (first, other)]
    if not all(trace.tokens for trace in traces):
        return ("The pre-token ", token[:_SHOWN], "… is encoded as different tokens.")
    merge = _first_merge(traces, first, other)
    return ("In the pre-token ", token, ", ", *merge, ".")


def _made(side: Side, beside: Side, pre_token: ByteSpan) -> Sentence:
    ids = side.ids_in(np.array([pre_token]))[0]
    tokens = listed(side.tokenizer, ids, MOST_PRE_TOKENS) or ("no token",)
    return (f", {_name(side, beside)} makes ", *tokens)


def _first_merge(traces: list[EncodeTrace], first: Side, other: Side) -> Sentence:
    """Describe the first merge that only one of the two applies."""
    for trace, others, own, lacking in (
        (traces[1], traces[0], other, first),
        (traces[0], traces[1], first, other),
    ):
        made = {(step.start, step.end) for step in others.steps}
        step = next((s for s in trace.steps if (s.start, s.end) not in made), None)
        if step is not None:
            return _one_merge(step, others, own, lacking)
    names = f"{_name(first, other)} and {_name(other, first)}"
    return (f"only one of {names} uses it as a whole token",)


def _one_merge(step: TraceStep, others: EncodeTrace, own: Side, lacking: Side) -> Sentence:
    joined: Sentence = (step.left, " + ", step.right)
    start: Sentence = (f"{_name(own, lacking)} merges ", *joined, f" (merge {step.number:,}); ")
    number = lacking.tokenizer.pair_number(step.left, step.right)
    if number is None:
        return (*start, f"{_name(lacking, own)} has no such merge")
    taken = next(
        (s for s in others.steps if s.start < step.end and step.start < s.end
         and not (step.start <= s.start and s.end <= step.end)), None
    )  # fmt: skip
    late = (*start, f"in {_name(lacking, own)}, that is merge {number:,}")
    if taken is None:
        return late
    first: Sentence = (
        taken.left,
        " + ",
        taken.right,
        f" (merge {taken.number:,}) is applied first",
    )
    return (*late, ", so ", *first)


_SENTENCES = {
    "normalization": _normalization,
    "specials": _specials,
    "split": _split,
    "ignore_merges": _ignore_merges,
    "merges": _merges,
}
