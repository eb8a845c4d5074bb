r"""Which alternative of a split pattern takes a pre-token, and what it means in words.

>>> from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
>>> gpt4 = SPLIT_PATTERNS["gpt4"]
>>> taken = alternative_of(gpt4, "in 12345", 3, 6)
>>> gpt4.regex[slice(*taken.span)], taken.words
('\\p{N}{1,3}', 'one to three digits')
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from tokviz.errors import PatternError
from tokviz.tokenizer.pretokenize.patterns import CHINESE_OR_JAPANESE, SplitPattern
from tokviz.tokenizer.pretokenize.unicode_classes import as_tiktoken_sees

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

_DEEPSEEK3 = {
    r"(?:(?=@)[^\p{L}\p{P}\p{S}])?(?:(?=@)[\p{L}\p{M}])+": "Chinese and Japanese letters",
    r"(?:(?=@)[\p{P}\p{S}])+": "Japanese punctuation and symbols",
    r"(?:(?=@)[^\p{L}\p{M}\p{P}\p{S}])+(?!(?=@)[\p{L}\p{M}])": (
        "code points among the Japanese letters that are not assigned"
    ),
    r"""[!"#$%&'()*+,\-./:;<=>?\x40\[\\\]^_`{|}~][A-Za-z]+""": (
        "ASCII letters, with the punctuation mark or symbol before them"
    ),
    r"(?:(?!@)[^\r\n\p{L}\p{N}\p{P}\p{S}])?(?:(?!@)[\p{L}\p{M}])+": (
        "letters that are not Chinese or Japanese, with one character before them that is not a "
        "letter, a digit, punctuation, a symbol or a line end"
    ),
    r" ?(?:(?!@)[\p{P}\p{S}])+[\r\n]*": (
        "punctuation and symbols, with the space before them and the line ends behind them"
    ),
    r"\s+(?!(?!@)[^\s\p{N}])": (
        "white space; its last character is left to what follows, unless that is a digit, Chinese "
        "or Japanese"
    ),
    r"(?:(?!@)[^\s\p{L}\p{M}\p{N}\p{P}\p{S}])+(?!(?!@)[\p{L}\p{M}])": (
        "characters that are not letters, marks, digits, punctuation, symbols or white space"
    ),
}
WORDS |= {part.replace("@", CHINESE_OR_JAPANESE): words for part, words in _DEEPSEEK3.items()}

_GLOBAL_FLAGS = re.compile(r"\(\?[a-zA-Z0-9]+\)")
_LOOK_AHEAD = re.compile(r"\(\?[!=](?:[^()\[\]\\]|\\.|\[(?:[^\]\\]|\\.)*\])*\)$")
"""A look ahead at the end of an alternative, without groups inside."""
_MOST = re.compile(r"\{\d*,?\d+\}[+?]?$")
"""A quantifier at the end of an alternative that counts."""
_ONE_ATOM = re.compile(r"\\[pP]\{\^?\w+\}|\\[dDwWsS]|\[(?:[^\[\]\\]|\\.)+\]")
"""An alternative that takes one character."""

Limit = Literal["", "most", "look"]


class Alternative(NamedTuple):
    """The alternative of a pattern that takes a pre-token.

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


class Cut(NamedTuple):
    """How a pattern took a pre-token, and what kept it from going on.

    Attributes:
        alternative: The alternative that took it; None if that cannot be told.
        limit: What ended it although the next character would do: "most" for a number that it may
            not pass, "look" for a look ahead that gives characters back; else empty.
        limited_by: The part of the regex that does, such as `{1,3}`; empty where none does.
        reach: The character at which it would have ended without that.
        longer: The number of a later alternative that would take more and does not get its turn,
            0 for none.
        longer_end: The character at which that one would end.
    """

    alternative: Alternative | None
    limit: Limit = ""
    limited_by: str = ""
    reach: int = 0
    longer: int = 0
    longer_end: int = 0


def alternative_of(pattern: SplitPattern, text: str, start: int, end: int) -> Alternative | None:
    """Find the alternative that takes a pre-token.

    Args:
        pattern: A pattern that is not guarded: it runs in this process.
        text: The text as it was split.
        start: The character at which the pre-token starts.
        end: The character behind it.

    Returns:
        The first alternative that matches there; None if it does not end where the pre-token does,
        as in a regex whose parts depend on each other.
    """
    return cut_of(pattern, text, start, end).alternative


def cut_of(pattern: SplitPattern, text: str, start: int, end: int) -> Cut:
    r"""Find out how a pattern took a pre-token; the arguments are those of `alternative_of`.

    >>> from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
    >>> cut = cut_of(SPLIT_PATTERNS["gpt4"], "in 12345", 3, 6)
    >>> cut.limit, cut.limited_by, cut.reach
    ('most', '{1,3}', 8)
    """
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


def _limit(part: str, end: int, end_of: Callable[[str], int]) -> tuple[Limit, str, int]:
    """Find what in an alternative keeps it from going on, and where it would have ended."""
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
