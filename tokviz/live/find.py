"""Searching a text for words or a regular expression."""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tokviz.glyphs import UNSAFE
from tokviz.pretokenize.patterns import why_not_forward

MAX_MATCHES = 100_000
"""More matches than this are not counted."""
MAX_PATTERN = 1_000
"""Longest regular expression in characters: compiling cannot be interrupted."""
_FIRST_STEP = 0.1
WORDS_SECONDS = 2.0
REGEX_SECONDS = 0.8
"""Nobody waits longer for an expression that can match in too many ways; it ends soon after."""


@dataclass(frozen=True, slots=True)
class FindQuery:
    """What is looked for."""

    text: str
    regex: bool = False
    """Whether the text is a regular expression."""
    case: bool = False
    """Whether upper and lower case differ."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Where a text matches, in order; matches of no length are left out."""

    starts: array[int] = field(default_factory=lambda: array("q"))
    """First character of each match."""
    ends: array[int] = field(default_factory=lambda: array("q"))
    """Character after each match."""
    complete: bool = True
    """False if there may be more."""
    problem: str = ""
    """A sentence if the search could not be done, or not to its end."""

    def __len__(self) -> int:
        """Count the matches."""
        return len(self.starts)

    def nearest(self, offset: int) -> int | None:
        """Return the index of the first match at or after a character, from the top if none is."""
        if not self.starts:
            return None
        return bisect_left(self.starts, offset) % len(self.starts)


def find_all(
    text: str,
    query: FindQuery,
    *,
    seconds: float | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Matches:
    """Find every place. Meant for a thread: its time is limited, and it sets the GIL free.

    Args:
        text: The text to search.
        query: What to look for.
        seconds: How long it may take, by default `REGEX_SECONDS` for a regular expression, else
            `WORDS_SECONDS`; what was found until then is returned.
        stop: Asked now and then; once it says True, the search ends.
    """
    if not query.text:
        return Matches()
    if seconds is None:
        seconds = REGEX_SECONDS if query.regex else WORDS_SECONDS
    matches = Matches()
    until = time.monotonic() + seconds
    problem = ""
    complete = True
    try:
        for start, end in _spans(text, query, seconds):
            matches.starts.append(start)
            matches.ends.append(end)
            if len(matches) >= MAX_MATCHES:
                complete = False
                break
            if len(matches) % 1024 == 0 and (stop() or time.monotonic() > until):
                raise TimeoutError
    except TimeoutError:
        hint = ": the expression can match in too many ways. Try a simpler one." * query.regex
        complete, problem = False, f"Stopped, since it took too long{hint or '.'}"
    except _PatternProblem as error:
        problem = str(error)
    return Matches(matches.starts, matches.ends, complete, problem)


class _PatternProblem(Exception):
    """A regular expression that does not work, in a sentence."""


def _spans(text: str, query: FindQuery, seconds: float) -> Iterator[tuple[int, int]]:
    if query.case and not query.regex:
        return _plain_spans(text, query.text)
    return _regex_spans(text, query, seconds)


def _plain_spans(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    at = text.find(wanted)
    while at >= 0:
        yield at, at + len(wanted)
        at = text.find(wanted, at + len(wanted))


def _regex_spans(text: str, query: FindQuery, seconds: float) -> Iterator[tuple[int, int]]:
    import regex

    source = query.text if query.regex else escaped(query.text)
    if len(source) > MAX_PATTERN:
        raise _PatternProblem(f"The pattern is too long: the limit is {MAX_PATTERN:,} characters.")
    flags = regex.VERSION0 | regex.MULTILINE | (0 if query.case else regex.IGNORECASE)
    try:
        pattern = regex.compile(source, flags)
    except regex.error as error:
        raise _PatternProblem(f"The pattern does not work: {error}.") from None
    except (RecursionError, MemoryError, OverflowError, ValueError) as error:
        raise _PatternProblem(f"The pattern does not work: {error}.") from None
    reason, _ = why_not_forward(pattern)
    if reason:
        raise _PatternProblem(f"The pattern does not work: {reason}.")
    at, until = 0, time.monotonic() + seconds
    # The limit of a call counts the processor's time; on a busy machine that takes several times
    # as long. So it goes on in steps, each longer than the one before.
    step = _FIRST_STEP if query.regex else seconds
    while True:
        try:
            for match in pattern.finditer(text, at, timeout=step, concurrent=True):
                start, at = match.span()
                if at > start:
                    yield start, at
            return
        except TimeoutError:
            left = until - time.monotonic()
            if left <= 0:
                raise
            step = max(_FIRST_STEP, min(2 * step, left))


def escaped(text: str) -> str:
    r"""Write a text as a regular expression in which nothing is invisible.

    >>> escaped("a.b\u200b")
    'a\\.b\\u200b'
    """
    import regex

    return UNSAFE.sub(_escape, regex.escape(text, special_only=True, literal_spaces=True))


def _escape(match: re.Match[str]) -> str:
    named = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
    code = ord(match[0])
    return named.get(match[0]) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
