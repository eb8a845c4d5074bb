"""The pre-tokens of a text as they arrive from the job `split`."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from tokviz.process.protocol import Body, unpack_numbers


class PreToken(NamedTuple):
    """A stretch of text that no merge leaves; `gap` if the regex did not match it."""

    start: int
    end: int
    gap: bool = False


@dataclass(frozen=True, slots=True)
class SplitPart:
    """Some pre-tokens of a text, in order.

    Attributes:
        start: Character offset of the first pre-token.
        ends: Ends of the pre-tokens, counted from `start`. Typecode "I".
        gaps: Indexes (within this part) of pre-tokens that the regex did not match, ascending.
        n_zero_width: Matches without any character.
        near: Whether only a part of the text was looked at, so that it is a guess.
    """

    start: int
    ends: array[int]
    gaps: tuple[int, ...]
    n_zero_width: int
    near: bool = False

    @classmethod
    def from_answer(cls, body: Body) -> SplitPart:
        """Read an answer of the job."""
        ends = unpack_numbers(body["ends"])
        near = body.get("near", False)
        return cls(body["start"], ends, tuple(body["gaps"]), body["n_zero_width"], near=near)


@dataclass(slots=True)
class SplitResult:
    """All pre-tokens known so far; they lie side by side and end at the character `n_chars`."""

    n_pre_tokens: int = 0
    n_gaps: int = 0
    n_zero_width: int = 0
    n_chars: int = 0
    complete: bool = False
    _parts: list[SplitPart] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    def add(self, part: SplitPart) -> None:
        """Take the next part."""
        self.n_pre_tokens += len(part.ends)
        self.n_gaps += len(part.gaps)
        self.n_zero_width += part.n_zero_width
        if part.ends:
            self.n_chars = part.start + part.ends[-1]
            self._parts.append(part)
            self._starts.append(part.start)

    def covers(self, lo: int, hi: int) -> bool:
        """Tell whether the pre-tokens of all characters `lo` to `hi` are known."""
        return bool(self._starts) and self._starts[0] <= lo and hi <= self.n_chars

    def pre_tokens_in(self, lo: int, hi: int) -> list[PreToken]:
        """List the known pre-tokens that touch the characters `lo` to `hi`, in order."""
        pre_tokens: list[PreToken] = []
        if lo >= hi:
            return pre_tokens
        for part in self._parts[max(0, bisect_right(self._starts, lo) - 1) :]:
            if part.start >= hi:
                break
            pre_tokens.extend(_pre_tokens_of_part(part, lo, hi))
        return pre_tokens


def _pre_tokens_of_part(part: SplitPart, lo: int, hi: int) -> list[PreToken]:
    first = bisect_right(part.ends, lo - part.start)
    last = min(bisect_left(part.ends, hi - part.start), len(part.ends) - 1)
    start = part.start + (part.ends[first - 1] if first else 0)
    pre_tokens = []
    for index in range(first, last + 1):
        end = part.start + part.ends[index]
        gap = _contains(part.gaps, index)
        pre_tokens.append(PreToken(start, end, gap))
        start = end
    return pre_tokens


def _contains(ascending: tuple[int, ...], value: int) -> bool:
    at = bisect_left(ascending, value)
    return at < len(ascending) and ascending[at] == value
