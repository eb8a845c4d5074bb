r"""Lossless splitting: every character belongs to exactly one pre-token, whatever the regex does.

Where a regex leaves a stretch of text unmatched, the stretch becomes a pre-token of its own and is
flagged as a gap. Matches of no width cut nothing and are only counted. Groups mean nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from operator import methodcaller
from typing import TYPE_CHECKING, NamedTuple

from tokviz.errors import PatternError
from tokviz.tokenizer.pretokenize import skeleton
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
        """Take the pre-tokens."""
        self.ends = ends
        self.gaps = gaps
        self.n_zero_width = n_zero_width

    def __len__(self) -> int:
        """Count the pre-tokens."""
        return len(self.ends)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Give each pre-token's character span."""
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


def split(pattern: SplitPattern, text: str) -> Split:
    r"""Cut text into pre-tokens.

    Args:
        pattern: The split pattern.
        text: Any text, also byte text.

    Raises:
        PatternError: If the regex is invalid, or (guarded, and nobody tolerates it) takes too long.

    >>> from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
    >>> list(split(get_split_pattern("gpt2"), "I can't").spans())
    [(0, 1), (1, 5), (5, 7)]
    >>> split(get_split_pattern("[a-z]+"), "ab1cd").gaps
    (1,)
    """
    if pattern.guarded:
        from tokviz.tokenizer.pretokenize.guard import guarded_split

        return guarded_split(pattern, text)
    if pattern.gapless:
        return Split(array("q", accumulate(map(len, _gapless_pre_tokens(pattern, text)))))
    return join_steps(split_in_steps(pattern, text))


def join_steps(steps: Iterable[SplitProgress]) -> Split:
    """Put the parts of a split together."""
    ends: array[int] = array("q")
    gaps: list[int] = []
    n_zero_width = 0
    for part in steps:
        gaps.extend(len(ends) + index for index in part.gaps)
        ends.extend(part.ends)
        n_zero_width += part.n_zero_width
    return Split(ends, tuple(gaps), n_zero_width)


def _gapless_pre_tokens(pattern: SplitPattern, text: str) -> list[str]:
    """Give pre-tokens that are as long as those of the text."""
    if not pattern.unicode_of_tiktoken:
        return pattern.compile().findall(text)
    found = skeleton.pre_tokens(pattern.regex, text)
    return pattern.compile().findall(as_tiktoken_sees(text)) if found is None else found


_EVERYDAY = (
    "It's 2024!\r\n\n\tnaïve e\u0301 世界 🙂 \x00"
    + "".join(map(chr, range(32, 127)))
    + "".join(f" {chr(code)} " for code in range(33, 127))
)


def gap_warning(pattern: SplitPattern) -> str:
    r"""Say that a regex leaves some of everyday text out, or takes too long; empty if neither.

    >>> from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
    >>> gap_warning(get_split_pattern(r"\w+|[^\w-]"))
    "the split pattern leaves gaps, '-' for one: each gap is a pre-token of its own"
    """
    if pattern.gapless:
        return ""
    try:
        found = split(pattern, _EVERYDAY)
    except PatternError as error:
        return str(error)
    if not found.gaps:
        return ""
    first = found.gaps[0]
    gap = _EVERYDAY[found.ends[first - 1] if first else 0]
    words = f"the split pattern leaves gaps, {gap!r} for one: each gap is a pre-token of its own"
    return words


_SPAN: Callable[[Match[str]], tuple[int, int]] = methodcaller("span")


def split_in_steps(
    pattern: SplitPattern,
    text: str,
    *,
    n_chars: int = 65_536,
    begin: int = 0,
    watch: Callable[[Pattern[str], str], Iterator[tuple[int, int] | None]] | None = None,
) -> Iterator[SplitProgress]:
    """Cut text into pre-tokens, here and now, and report after every `n_chars` characters or so.

    The whole is the same as `split` gives: the regex always sees the whole text.

    Args:
        pattern: The split pattern.
        text: Any text.
        n_chars: How often to report.
        begin: The character to begin at: where a pre-token of this very text ends. `watch` begins
            there by itself.
        watch: Gives the spans of the matches in place of `finditer`; it may leave some out, and
            give None to have a report of what there is.

    Raises:
        PatternError: If the regex is invalid or fails on this text.
    """
    seen = as_tiktoken_sees(text) if pattern.unicode_of_tiktoken else text
    ends: array[int] = array("q")
    gaps: list[int] = []
    n_zero_width = 0
    start = position = reported = begin
    try:
        find = pattern.compile()
        for span in map(_SPAN, find.finditer(seen, begin)) if watch is None else watch(find, seen):
            if span is None:
                yield SplitProgress(start, ends, tuple(gaps), n_zero_width)
                start, ends, gaps, n_zero_width = position, array("q"), [], 0
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
                yield SplitProgress(start, ends, tuple(gaps), n_zero_width)
                start, ends, gaps, n_zero_width = position, array("q"), [], 0
                reported = last
    except (MemoryError, RecursionError) as error:
        reason = "needs too much memory on this text"
        raise PatternError(pattern.regex, reason) from error
    if position < len(text):
        gaps.append(len(ends))
        ends.append(len(text))
    yield SplitProgress(start, ends, tuple(gaps), n_zero_width)
