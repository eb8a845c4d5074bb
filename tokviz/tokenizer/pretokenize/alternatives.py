r"""The alternative of a split pattern that matches a pre-token, with a description.

>>> from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
>>> gpt4 = SPLIT_PATTERNS["gpt4"]
>>> cut = cut_of(gpt4, "in 12345", 3, 6)
>>> gpt4.regex[slice(*cut.alternative.span)], cut.alternative.words
('\\p{N}{1,3}', 'one to three digits')
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from tokviz.errors import PatternError
from tokviz.tokenizer.pretokenize.patterns import (
    WORDS,
    SplitPattern,
    has_intersection,
    stepped,
)
from tokviz.tokenizer.pretokenize.split_steps import join_steps, seen_by, split_in_steps
from tokviz.tokenizer.pretokenize.unicode_classes import as_tiktoken_sees

if TYPE_CHECKING:
    from regex import Pattern

_GLOBAL_FLAGS = re.compile(r"\(\?[a-zA-Z0-9]+\)")
_LOOK_AHEAD = re.compile(r"\(\?[!=](?:[^()\[\]\\]|\\.|\[(?:[^\]\\]|\\.)*\])*\)$")
"""A lookahead at the end of an alternative, without groups inside."""
_MOST = re.compile(r"\{\d*,?\d+\}[+?]?$")
"""A quantifier with a maximum, at the end of an alternative."""
_ONE_ATOM = re.compile(r"\\[pP]\{\^?\w+\}|\\[dDwWsS]|\[(?:[^\[\]\\]|\\.)+\]")
"""An alternative that matches one character."""

Limit = Literal["", "most", "look"]


class Alternative(NamedTuple):
    """The alternative of a pattern that matches a pre-token.

    Attributes:
        span: Its span in the regex.
        number: Its number among the alternatives, from 1.
        n_alternatives: Number of alternatives.
        words: A description of what it matches; may be empty.
    """

    span: tuple[int, int]
    number: int
    n_alternatives: int
    words: str


class Cut(NamedTuple):
    """The match of a pattern on a pre-token, and why it ended.

    Attributes:
        alternative: The alternative that matched it; None if unknown.
        limit: What ended the match although the next character would match too: "most" for a
            maximum count, "look" for a lookahead that gives characters back; else empty.
        limited_by: The part of the regex that ended it, such as `{1,3}`, or empty.
        reach: The character at which the match would have ended without that part.
        longer: The number of a later alternative that would match more, 0 for none. The first
            alternative that matches wins.
        longer_end: The character at which that alternative would end.
        step: The number of the step that made it a pre-token, from 1; 0 without steps.
        ended_by: The number of the step that cut the text at its end; 0 at the end of the text.
    """

    alternative: Alternative | None
    limit: Limit = ""
    limited_by: str = ""
    reach: int = 0
    longer: int = 0
    longer_end: int = 0
    step: int = 0
    ended_by: int = 0


def cut_of(pattern: SplitPattern, text: str, start: int, end: int) -> Cut:
    r"""Return how a pattern matched a pre-token.

    Args:
        pattern: A pattern that is not guarded, because it runs in this process.
        text: The text as it was split.
        start: The first character of the pre-token.
        end: The character after it.

    Returns:
        The first alternative that matches there; none if that does not end with the pre-token, for
        example because the alternatives depend on each other.

    >>> from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
    >>> cut = cut_of(SPLIT_PATTERNS["gpt4"], "in 12345", 3, 6)
    >>> cut.limit, cut.limited_by, cut.reach
    ('most', '{1,3}', 8)
    """
    if pattern.in_steps:
        return _cut_in_steps(pattern, text, start, end)
    if pattern.unicode_of_tiktoken:
        text = as_tiktoken_sees(text)
    spans = top_level(pattern.regex)
    parts = [pattern.regex[slice(*span)] for span in spans]
    flags = "".join(_GLOBAL_FLAGS.findall(pattern.regex))

    def end_of(part: str) -> int:
        """Return the end of a part's match at the pre-token's start, or the start if none."""
        compiled = _compiled(flags, part)
        match = None if compiled is None else compiled.match(text, start)
        return start if match is None else match.end()

    ends = map(end_of, parts)
    number = next((n for n, reached in enumerate(ends, 1) if reached > start), 0)
    if not number or end_of(parts[number - 1]) != end:
        return Cut(None)
    part = parts[number - 1]
    words = WORDS.get(part, _literally(part))
    taken = Alternative(spans[number - 1], number, len(spans), words)
    limit, limited_by, reach = _limit(part, end, end_of)
    for later, other in enumerate(parts[number:], number + 1):
        reached = end_of(other)
        if reached > end:
            return Cut(taken, limit, limited_by, reach, later, reached)
    return Cut(taken, limit, limited_by, reach)


def _cut_in_steps(pattern: SplitPattern, text: str, start: int, end: int) -> Cut:
    """Return how the last step that divides the text around a pre-token matched it."""
    low, high, line = 0, len(text), 0
    made, ended_by = Cut(None), 0
    for number, (step, shown) in enumerate(
        zip(pattern.steps, pattern.regex.split("\n"), strict=True), 1
    ):
        stretch = text[low:high]
        alone = stepped([step], guarded=False)
        ends = join_steps(split_in_steps(alone, stretch)).ends
        index = bisect_right(ends, start - low)
        first, last = low + ends[index - 1] if index else low, low + ends[index]
        if (first, last) != (low, high):
            one = SplitPattern("custom", step.regex, "a step")
            made = cut_of(one, seen_by(step, stretch), start - low, end - low)
            if made.alternative is not None:
                a, b = made.alternative.span
                made = made._replace(
                    alternative=made.alternative._replace(span=(line + a, line + b))
                )
            made = made._replace(
                reach=low + made.reach, longer_end=low + made.longer_end, step=number
            )
            ended_by = number if last != high else ended_by
        low, high, line = first, last, line + len(shown) + 1
    return made._replace(ended_by=ended_by)


def _limit(part: str, end: int, end_of: Callable[[str], int]) -> tuple[Limit, str, int]:
    """Return the fields `limit`, `limited_by` and `reach` of a `Cut`."""
    look = _LOOK_AHEAD.search(part)
    if look is not None and (reach := end_of(part[: look.start()])) > end:
        return "look", look.group(), reach
    most = _MOST.search(part)
    if most is not None and (reach := end_of(f"{part[: most.start()]}{{1,}}")) > end:
        return "most", most.group(), reach
    if _ONE_ATOM.fullmatch(part) and (reach := end_of(f"{part}+")) > end:
        return "most", part, reach
    return "", "", end


def _literally(part: str) -> str:
    return f"“{part}” itself" if re.fullmatch(r"[\w' ]+", part) else ""


@lru_cache(maxsize=256)
def _compiled(flags: str, part: str) -> Pattern[str] | None:
    try:
        whole = f"{flags}(?:{_GLOBAL_FLAGS.sub('', part)})"
        return SplitPattern("custom", whole, "an alternative").compile()
    except PatternError:
        return None


@lru_cache(maxsize=64)
def top_level(regex_text: str) -> tuple[tuple[int, int], ...]:
    r"""Return the spans of the top-level alternatives of a regex.

    >>> [r"a\||[|]|(b|c)"[slice(*span)] for span in top_level(r"a\||[|]|(b|c)")]
    ['a\\|', '[|]', '(b|c)']
    """
    spans: list[tuple[int, int]] = []
    start = depth = at = 0
    while at < len(regex_text):
        char = regex_text[at]
        if char == "\\":
            at += 1
        elif char == "[":
            at = _end_of_class(regex_text, at)
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "|" and not depth:
            spans.append((start, at))
            start = at + 1
        at += 1
    return (*spans, (start, len(regex_text)))


def _end_of_class(regex_text: str, start: int) -> int:
    """Return the position of the bracket that ends a character class, or of the last character."""
    is_nested = has_intersection(regex_text)
    at = start + 1 + regex_text.startswith("^", start + 1)
    at += regex_text.startswith("]", at)
    while at < len(regex_text) and regex_text[at] != "]":
        if regex_text[at] == "\\":
            at += 1
        elif regex_text.startswith("[:", at):
            at = max(at, regex_text.find(":]", at))
        elif is_nested and regex_text[at] == "[":
            at = _end_of_class(regex_text, at)
        at += 1
    return min(at, len(regex_text) - 1)
