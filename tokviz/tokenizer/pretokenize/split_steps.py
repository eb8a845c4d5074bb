r"""Splitting in this process: every character belongs to exactly one pre-token.

If the regex leaves some text unmatched, that text becomes a pre-token, flagged as a gap. Matches of
zero width split nothing and are only counted. Groups have no effect.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from operator import methodcaller
from typing import TYPE_CHECKING, NamedTuple

from tokviz.errors import PatternError
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.unicode_classes import as_tiktoken_sees

if TYPE_CHECKING:
    from regex import Match, Pattern


class Split:
    """The pre-tokens of a text.

    Attributes:
        ends: The character offset at which each pre-token ends; the first starts at 0 and the last
            ends with the text. Typecode "q".
        gaps: Indexes of the pre-tokens that the regex did not match, ascending.
        n_zero_width: Number of matches without any character.
    """

    __slots__ = ("ends", "gaps", "n_zero_width")

    def __init__(self, ends: array[int], gaps: tuple[int, ...] = (), n_zero_width: int = 0) -> None:
        """Create a split from the ends of its pre-tokens."""
        self.ends = ends
        self.gaps = gaps
        self.n_zero_width = n_zero_width

    def __len__(self) -> int:
        """Return the number of pre-tokens."""
        return len(self.ends)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield the character span of each pre-token."""
        start = 0
        for end in self.ends:
            yield start, end
            start = end


class SplitProgress(NamedTuple):
    """Some pre-tokens of a text that is still being split: the fields of `Split`, from `start`."""

    start: int
    ends: array[int]
    gaps: tuple[int, ...]
    n_zero_width: int


def join_steps(steps: Iterable[SplitProgress]) -> Split:
    """Combine the steps of a split."""
    ends: array[int] = array("q")
    gaps: list[int] = []
    n_zero_width = 0
    for step in steps:
        gaps.extend(len(ends) + index for index in step.gaps)
        ends.extend(step.ends)
        n_zero_width += step.n_zero_width
    return Split(ends, tuple(gaps), n_zero_width)


_SPAN: Callable[[Match[str]], tuple[int, int]] = methodcaller("span")


def split_in_steps(
    pattern: SplitPattern,
    text: str,
    *,
    n_chars: int = 65_536,
    start: int = 0,
    find_spans: Callable[[Pattern[str], str], Iterator[tuple[int, int] | None]] | None = None,
) -> Iterator[SplitProgress]:
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
                yield SplitProgress(step_start, ends, tuple(gaps), n_zero_width)
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
                yield SplitProgress(step_start, ends, tuple(gaps), n_zero_width)
                step_start, ends, gaps, n_zero_width = position, array("q"), [], 0
                reported = last
    except (MemoryError, RecursionError) as error:
        reason = "needs too much memory on this text"
        raise PatternError(pattern.regex, reason) from error
    if position < len(text):
        gaps.append(len(ends))
        ends.append(len(text))
    yield SplitProgress(step_start, ends, tuple(gaps), n_zero_width)
