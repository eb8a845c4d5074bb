"""Search a text for words or a regular expression."""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tokviz.errors import JobError, PatternError
from tokviz.text.glyphs import UNSAFE
from tokviz.tokenizer.pretokenize import interactive_regex, regex_process

MAX_MATCHES = 100_000
"""The search stops at this many matches."""
MAX_PATTERN = 1_000
"""Maximum length of a search text or regular expression, in characters."""
WORDS_SECONDS = 2.0
_TOO_LONG = f"The pattern is too long: the limit is {MAX_PATTERN:,} characters."


@dataclass(frozen=True, slots=True)
class FindQuery:
    """A search text and its options."""

    text: str
    regex: bool = False
    """True if the text is a regular expression."""
    case: bool = False
    """True if the search is case-sensitive."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches of a search, in order; empty matches are omitted."""

    starts: array[int] = field(default_factory=lambda: array("q"))
    """First character of each match."""
    ends: array[int] = field(default_factory=lambda: array("q"))
    """Character after each match."""
    complete: bool = True
    """False if there may be more matches."""
    problem: str = ""
    """A sentence if the search failed or stopped early."""
    texts: Sequence[str] = ()
    """The replacement of each match, if replacements were requested."""

    def __len__(self) -> int:
        """Return the number of matches."""
        return len(self.starts)

    def nearest(self, offset: int) -> int | None:
        """Return the index of the first match at or after a character; wrap around at the end."""
        if not self.starts:
            return None
        return bisect_left(self.starts, offset) % len(self.starts)

    def replaced_in(self, text: str, *which: int) -> tuple[int, int, str]:
        """Replace matches, by default all of them.

        Args:
            text: The text that was searched.
            which: The indices of one match, or of consecutive matches.

        Returns:
            Start of the first match, end of the last one, and the new text between them.
        """
        chosen = which or range(len(self))
        at = first = self.starts[chosen[0]]
        parts = []
        for index in chosen:
            parts += [text[at : self.starts[index]], self.texts[index]]
            at = self.ends[index]
        return first, at, "".join(parts)


def find_all(
    text: str,
    query: FindQuery,
    *,
    put: str | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Matches:
    r"""Find all matches in a text. Call it from a thread: it limits its time and releases the GIL.

    A search for words returns its matches so far when its time is over. A regular expression runs
    in a child process (`tokviz.tokenizer.pretokenize.interactive_regex`).

    Args:
        text: The text to search.
        query: The search text and options.
        put: Replacement of each match; for a regular expression, `\1` inserts the first group and
            `\n` a line feed.
        stop: Called regularly; the search ends once it returns True.
    """
    if not query.text:
        return Matches()
    if len(query.text) > MAX_PATTERN and (query.regex or not query.case):
        return Matches(problem=_TOO_LONG)
    if query.regex:
        return _find_regex(text, query, put, stop)
    matches = Matches()
    until = time.monotonic() + WORDS_SECONDS
    problem = ""
    complete = True
    try:
        spans = _plain_spans if query.case else _folded_spans
        for start, end in spans(text, query.text):
            matches.starts.append(start)
            matches.ends.append(end)
            if len(matches) >= MAX_MATCHES:
                complete = False
                break
            if len(matches) % 1024 == 0 and (stop() or time.monotonic() > until):
                raise TimeoutError
    except TimeoutError:
        complete, problem = False, "Stopped: the search took too long."
    texts = [put or ""] * len(matches)
    return Matches(matches.starts, matches.ends, complete, problem, texts)


def _find_regex(text: str, query: FindQuery, put: str | None, stop: Callable[[], bool]) -> Matches:
    # Only searches need the `regex` package and child processes.
    import regex

    flags = regex.VERSION0 | regex.MULTILINE | (0 if query.case else regex.IGNORECASE)
    try:
        starts, ends, texts = interactive_regex.find(
            query.text, text, int(flags), MAX_MATCHES, put=put, stop=stop
        )
    except PatternError as error:
        return Matches(problem=f"The pattern does not work: {error.trouble}.")
    except JobError as error:
        return Matches(complete=False, problem=f"Stopped: {error}.")
    is_complete = len(ends) < MAX_MATCHES
    return Matches(array("q", starts), array("q", ends), is_complete, texts=texts)


def forget_text() -> None:
    """Close the child process that keeps the text for the next expression."""
    regex_process.close("find")


def _plain_spans(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    at = text.find(wanted)
    while at >= 0:
        yield at, at + len(wanted)
        at = text.find(wanted, at + len(wanted))


def _folded_spans(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    import regex

    pattern = regex.compile(escaped(wanted), regex.VERSION0 | regex.IGNORECASE)
    regex.purge()  # its cache keeps 500 patterns, and one of 3,000 letters takes 80 KB
    for match in pattern.finditer(text, timeout=WORDS_SECONDS, concurrent=True):
        yield match.span()


def escaped(text: str) -> str:
    r"""Escape a text as a regular expression without invisible characters.

    >>> escaped("a.b\u200b")
    'a\\.b\\u200b'
    """
    import regex

    return UNSAFE.sub(_escape, regex.escape(text, special_only=True, literal_spaces=True))


def _escape(match: re.Match[str]) -> str:
    named = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
    code = ord(match[0])
    return named.get(match[0]) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
