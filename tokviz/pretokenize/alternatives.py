r"""Which alternative of a split pattern takes a piece, and what it means in words.

>>> from tokviz.pretokenize.patterns import SPLIT_PATTERNS
>>> gpt4 = SPLIT_PATTERNS["gpt4"]
>>> taken = alternative_of(gpt4, "in 12345", 3, 6)
>>> gpt4.regex[slice(*taken.span)], taken.words
('\\p{N}{1,3}', 'one to three digits')
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tokviz.errors import PatternError
from tokviz.pretokenize.patterns import SplitPattern

if TYPE_CHECKING:
    from regex import Pattern

WORDS = {
    r" ?\p{L}+": "letters, with the space before them",
    r" ?\p{N}+": "digits, with the space before them",
    r" ?[^\s\p{L}\p{N}]+": "punctuation and symbols, with the space before them",
    r"\s+(?!\S)": "white space; its last character is left to a word behind it",
    r"\s+": "white space",
    r"'(?:[sdmt]|ll|ve|re)": "the ending of a contraction",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)": "the ending of a contraction, small or capital",
    r"[^\r\n\p{L}\p{N}]?\p{L}+": (
        "letters, with one character before them that is not a letter, a digit or a line end"
    ),
    r"\p{N}{1,3}": "one to three digits",
    r"\p{N}{1,2}": "one or two digits",
    r"\p{N}": "one digit",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*": (
        "punctuation and symbols, with the space before them and the line ends behind them"
    ),
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*": (
        "punctuation and symbols, with the space before them and the line ends and slashes behind"
    ),
    r"\s*[\r\n]+": "line ends, with the white space before them",
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    ): "a word whose capitals, if any, come first, with one character before it",
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    ): "a word that begins with capitals, with one character before it",
    r"\S+": "anything but white space",
    r"[\s\S]+": "the whole text",
}
"""What the alternatives of the named patterns take, in words."""

_GLOBAL_FLAGS = re.compile(r"\(\?[a-zA-Z0-9]+\)")


class Alternative(NamedTuple):
    """The alternative of a pattern that takes a piece.

    Attributes:
        span: Where it stands in the regex.
        number: Its number among the alternatives, from 1.
        n_alternatives: How many there are.
        words: What it takes, in words; empty if there are none.
    """

    span: tuple[int, int]
    number: int
    n_alternatives: int
    words: str


def alternative_of(pattern: SplitPattern, text: str, start: int, end: int) -> Alternative | None:
    """Find the alternative that takes a piece.

    Args:
        pattern: A pattern that is not guarded: it runs in this process.
        text: The text as it was split.
        start: The character at which the piece starts.
        end: The character behind it.

    Returns:
        The first alternative that matches there; None if it does not end where the piece does, as
        in a regex whose parts depend on each other.
    """
    spans = top_level(pattern.regex)
    for number, span in enumerate(spans, 1):
        compiled = _compiled(pattern.regex, span)
        match = None if compiled is None else compiled.match(text, start)
        if match is None or match.end() == match.start():
            continue
        if match.end() != end:
            return None
        part = pattern.regex[slice(*span)]
        return Alternative(span, number, len(spans), WORDS.get(part, _literally(part)))
    return None


def _literally(part: str) -> str:
    return f"“{part}” itself" if re.fullmatch(r"[\w' ]+", part) else ""


@lru_cache(maxsize=128)
def _compiled(regex_text: str, span: tuple[int, int]) -> Pattern[str] | None:
    flags = "".join(_GLOBAL_FLAGS.findall(regex_text))
    try:
        part = f"{flags}(?:{_GLOBAL_FLAGS.sub('', regex_text[slice(*span)])})"
        return SplitPattern("custom", part, "an alternative").compile()
    except PatternError:
        return None


@lru_cache(maxsize=64)
def top_level(regex_text: str) -> tuple[tuple[int, int], ...]:
    r"""Find the alternatives of a regex: the stretches between its bars outside of any brackets.

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
    """Find the bracket that ends a character class; the last character if none does."""
    at = start + 1 + regex_text.startswith("^", start + 1)
    at += regex_text.startswith("]", at)
    while at < len(regex_text) and regex_text[at] != "]":
        if regex_text[at] == "\\":
            at += 1
        elif regex_text.startswith("[:", at):
            at = max(at, regex_text.find(":]", at))
        at += 1
    return min(at, len(regex_text) - 1)
