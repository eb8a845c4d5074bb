r"""Splitting in this process: every character belongs to exactly one pre-token.

If the regex leaves some text unmatched, that text becomes a pre-token, flagged as a gap. Matches of
zero width split nothing and are only counted. Groups have no effect.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from operator import methodcaller
from typing import TYPE_CHECKING

from tokviz.errors import PatternError
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, SplitStep, compiled_regex
from tokviz.tokenizer.pretokenize.unicode_classes import as_rust_sees_numbers, as_tiktoken_sees

if TYPE_CHECKING:
    from regex import Match, Pattern


class Split:
    """The pre-tokens of a text, or some of them while it is still being split.

    Attributes:
        ends: The character offset at which each pre-token ends; typecode "q".
        gaps: Indexes of the pre-tokens that the regex did not match, ascending.
        n_zero_width: Number of matches without any character.
        start: The character offset of the first pre-token.
        near: True for a guess from only a part of the text.
    """

    __slots__ = "ends", "gaps", "n_zero_width", "near", "start"

    def __init__(
        self,
        ends: array[int],
        gaps: tuple[int, ...] = (),
        n_zero_width: int = 0,
        start: int = 0,
        near: bool = False,
    ) -> None:
        """Create from the attributes."""
        # Not a dataclass: importing `dataclasses` takes as long as a short training.
        self.ends, self.gaps, self.n_zero_width = ends, gaps, n_zero_width
        self.start, self.near = start, near

    def __len__(self) -> int:
        """Return the number of pre-tokens."""
        return len(self.ends)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield the character span of each pre-token."""
        start = self.start
        for end in self.ends:
            yield start, end
            start = end


def join_steps(steps: Iterable[Split]) -> Split:
    """Combine the steps of a split."""
    ends: array[int] = array("q")
    gaps: list[int] = []
    n_zero_width = 0
    for step in steps:
        gaps.extend(len(ends) + index for index in step.gaps)
        ends.extend(step.ends)
        n_zero_width += step.n_zero_width
    return Split(ends, tuple(gaps), n_zero_width)


FindSpans = Callable[["Pattern[str]", str], Iterator[tuple[int, int] | None]]

_JOINED: dict[str, Callable[[bool, bool], bool]] = {
    "Isolated": lambda before, after: False,
    "Contiguous": lambda before, after: before == after,
    "MergedWithPrevious": lambda before, after: after and not before,
    "MergedWithNext": lambda before, after: before and not after,
}
"""Whether two neighbors stay together, of which each is a match or the text between matches.

Source: huggingface/tokenizers `tokenizers/src/tokenizer/normalizer.rs` (`split`)."""

BEHAVIORS = frozenset(_JOINED)
"""The behaviors of a step that keep all text."""


def _split_by_steps(
    pattern: SplitPattern, text: str, n_chars: int, find_spans: FindSpans | None
) -> Iterator[Split]:
    """Split text step by step; only the last step reports its progress."""
    *first, last = pattern.steps
    borders = [0, len(text)]
    for step in first:
        borders = [0, *chain.from_iterable(_divided(step, text, borders, find_spans))]
    start, ends = 0, array("q")
    for part in _divided(last, text, borders, find_spans):
        ends.extend(part)
        if ends[-1] - start >= n_chars:
            yield Split(ends, start=start)
            start, ends = ends[-1], array("q")
    yield Split(ends, start=start)


def _divided(
    step: SplitStep, text: str, borders: list[int], find_spans: FindSpans | None
) -> Iterator[list[int]]:
    """Yield the ends of the parts of each stretch of text between two borders."""
    compiled, joined = compiled_regex(step.regex), _JOINED[step.behavior]
    seen = seen_by(step, text)
    for start, stop in pairwise(borders):
        stretch = seen[start:stop]
        matches = map(_SPAN, compiled.finditer(stretch))
        spans = filter(None, find_spans(compiled, stretch) if find_spans else matches)
        parts: list[tuple[int, bool]] = []
        position = 0
        for first, last in spans:
            if first > position:
                parts.append((start + first, step.inverted))
            if last > first:
                parts.append((start + last, not step.inverted))
                position = last
        if position < len(stretch):
            parts.append((stop, step.inverted))
        ends = [end for (end, one), (_, other) in pairwise(parts) if not joined(one, other)]
        yield [*ends, stop] if parts else ends


def seen_by(step: SplitStep, text: str) -> str:
    """Return text as a step's regex sees it: with the classes of the library's Unicode version."""
    if step.type == "Digits":
        return as_rust_sees_numbers(text)
    return as_tiktoken_sees(text) if READS_CLASSES.search(step.regex) else text


READS_CLASSES = re.compile(r"\\[pPsS]")
"""Matches a regex whose matches depend on Unicode's classes."""

_SPAN: Callable[[Match[str]], tuple[int, int]] = methodcaller("span")


def split_in_steps(
    pattern: SplitPattern,
    text: str,
    *,
    n_chars: int = 65_536,
    start: int = 0,
    find_spans: FindSpans | None = None,
) -> Iterator[Split]:
    """Split text in this process, and yield a step about every `n_chars` characters.

    All steps together equal the result of `split`, because the regex always sees the whole text.

    Args:
        pattern: The split pattern.
        text: Any text.
        n_chars: Number of characters per step.
        start: The first character to split: the end of a pre-token of this text. `find_spans` has
            to start there too.
        find_spans: Replaces `finditer`: yields the spans of matches, and None to end a step early.

    Raises:
        PatternError: If the regex is invalid or fails on this text.
    """
    if pattern.in_steps:
        yield from _split_by_steps(pattern, text, n_chars, find_spans)
        return
    seen = as_tiktoken_sees(text) if pattern.unicode_of_tiktoken else text
    ends: array[int] = array("q")
    gaps: list[int] = []
    n_zero_width = 0
    step_start = position = reported = start
    try:
        compiled = pattern.compile()
        if find_spans is None:
            spans: Iterable[tuple[int, int] | None] = map(_SPAN, compiled.finditer(seen, start))
        else:
            spans = find_spans(compiled, seen)
        for span in spans:
            if span is None:
                yield Split(ends, tuple(gaps), n_zero_width, step_start)
                step_start, ends, gaps, n_zero_width = position, array("q"), [], 0
                continue
            first, last = span
            if first == last:
                n_zero_width += 1
            else:
                if first > position:
                    gaps.append(len(ends))
                    ends.append(first)
                ends.append(last)
                position = last
            if last - reported >= n_chars:
                yield Split(ends, tuple(gaps), n_zero_width, step_start)
                step_start, ends, gaps, n_zero_width = position, array("q"), [], 0
                reported = last
    except (MemoryError, RecursionError) as error:
        reason = "needs too much memory on this text"
        raise PatternError(pattern.regex, reason) from error
    if position < len(text):
        gaps.append(len(ends))
        ends.append(len(text))
    yield Split(ends, tuple(gaps), n_zero_width, step_start)
