"""Special tokens in a text: which of them are recognised, and where.

A text is searched as Hugging Face's library does it, and every other where all tokens are of one
kind: the leftmost match wins, of these the longest. Source: huggingface/tokenizers
`tokenizers/src/tokenizer/added_vocabulary.rs` (`find_matches`, `extract_and_normalize`).
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal, NamedTuple

from tokviz.errors import SpecialTokenError

AllowedSpecial = Literal["all", "none", "huggingface"] | Collection[str]
"""Which special tokens are recognised in a text; the others are plain text. See `Tokenizer.encode`.
"""


MOST_COMPILED = 1_000
"""Special tokens of which a regex is made: `re` needs seconds for as many as some files have."""


class Match(NamedTuple):
    """What `re.Match` is to a regex."""

    text: str
    first: int

    def group(self) -> str:
        """Give the text that was found."""
        return self.text

    def start(self) -> int:
        """Give the offset of its first character."""
        return self.first

    def end(self) -> int:
        """Give the offset behind its last character."""
        return self.first + len(self.text)

    def span(self) -> tuple[int, int]:
        """Give both."""
        return self.first, self.end()


class ManyTexts:
    """Finds the leftmost of many texts in a text, of several there the longest."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Take the texts, none of them empty."""
        self._texts = frozenset(texts)
        lengths: dict[str, set[int]] = {}
        for text in self._texts:
            lengths.setdefault(text[0], set()).add(len(text))
        self._lengths = {first: sorted(found) for first, found in lengths.items()}
        self._first = re.compile(f"[{''.join(map(re.escape, sorted(lengths)))}]")

    def search(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> Match | None:
        """Find the first at `pos` or later which ends at `endpos` or before."""
        for start in self._first.finditer(text, pos, endpos):
            first = start.start()
            lengths = self._lengths[text[first]]
            # A file may list thousands of lengths, most of them longer than what is left.
            n_fit = bisect_right(lengths, min(len(text), endpos) - first)
            for number in range(n_fit - 1, -1, -1):
                found = text[first : first + lengths[number]]
                if found in self._texts:
                    return Match(found, first)
        return None

    def finditer(self, text: str) -> Iterator[Match]:
        """Find all that do not overlap, one after another."""
        match = self.search(text)
        while match is not None:
            yield match
            match = self.search(text, match.end())


Pattern = re.Pattern[str] | ManyTexts


class Search(NamedTuple):
    """How a text is searched for special tokens.

    Attributes:
        patterns: One after another; each is looked for in what those before it have left.
        as_text: Texts that are found, so that nothing is recognised inside them, and stay text.
    """

    patterns: tuple[Pattern, ...] = ()
    as_text: frozenset[str] = frozenset()


class PostProcessor(NamedTuple):
    """The special tokens that Hugging Face's library adds around a text.

    Attributes:
        before: Ids before the text, such as BOS.
        after: Ids after the text, such as EOS.
        problem: Why tokviz cannot add them; empty if it can.
        json: What the `tokenizer.json` says, to write it again; empty for nothing.
    """

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    problem: str = ""
    json: str = ""


class SpecialTokens:
    """The special tokens of a tokenizer.

    Attributes:
        ids: Special token text → id.
        normalized: The tokens with the flag `normalized` of Hugging Face's library: they are
            searched for after the others, in the rest of the text.
        non_special: The added tokens without the library's flag `special`, such as Qwen3's
            `<think>`.
        blank: Non-special tokens that are white space, such as GPT-NeoX's runs of spaces. They
            control nothing, so they are recognised also where special tokens are plain text.
        longest: Characters of the longest.
    """

    def __init__(
        self,
        ids: Mapping[str, int] | None = None,
        normalized: Collection[str] = (),
        non_special: Collection[str] = (),
    ) -> None:
        """Take the ids, and what a file says of the tokens."""
        self.ids = dict(ids or {})
        self.normalized = frozenset(normalized)
        self.non_special = frozenset(non_special)
        self.blank = frozenset(filter(str.isspace, non_special))
        self.longest = max(map(len, self.ids), default=0)

    @cached_property
    def pattern(self) -> Pattern | None:
        """Matches any special token, the longest first; None if there are none."""
        return pattern_of_specials(self.ids)

    @cached_property
    def skipped_ids(self) -> frozenset[int]:
        """The ids of the tokens that `skip_special_tokens` leaves out: those flagged `special`."""
        return frozenset(self.ids[text] for text in self.ids.keys() - self.non_special)

    @cached_property
    def _everything(self) -> Search:
        return search_for(self.ids, self.normalized)

    @cached_property
    def _white_space(self) -> Search:
        return search_for(self.blank, self.normalized)

    def search(self, allowed: AllowedSpecial | bool) -> Search:
        """Make the search for the special tokens that are to be recognised.

        Args:
            allowed: See `Tokenizer.encode`; True is "all", False is "none".

        Raises:
            SpecialTokenError: If it is another word.
        """
        if allowed is True or allowed == "all":
            return self._everything
        if allowed == "huggingface":
            return Search(self._everything.patterns, frozenset(self.ids.keys() - self.non_special))
        if not allowed or allowed == "none":
            return self._white_space
        if isinstance(allowed, str | bool):
            raise SpecialTokenError(
                f"allowed_special is {allowed!r}: give 'all', 'none', 'huggingface' or a set of "
                "special tokens"
            )
        return search_for((text for text in self.ids if text in allowed), self.normalized)


def search_for(texts: Iterable[str], normalized: Collection[str] = ()) -> Search:
    """Make the search for special tokens, the normalized ones after the others."""
    parts: tuple[list[str], list[str]] = ([], [])
    for text in texts:
        parts[text in normalized].append(text)
    return Search(tuple(filter(None, map(pattern_of_specials, parts))))


def segments(text: str, search: Search) -> Iterator[tuple[str, bool]]:
    """Cut special tokens out of a text: give (text, whether it is a special token)."""
    found: Iterable[tuple[str, bool]] = ((text, False),) if text else ()
    for pattern in search.patterns:
        found = _cut(found, pattern, search.as_text)
    yield from found


def _cut(
    stretches: Iterable[tuple[str, bool]], pattern: Pattern, as_text: frozenset[str]
) -> Iterator[tuple[str, bool]]:
    for text, is_special in stretches:
        if is_special:
            yield text, True
            continue
        position = 0
        for match in pattern.finditer(text):
            if match.group() in as_text:
                continue
            start, end = match.span()
            if start > position:
                yield text[position:start], False
            yield match.group(), True
            position = end
        if position < len(text):
            yield text[position:], False


def pattern_of_specials(special_tokens: Iterable[str]) -> Pattern | None:
    """Make what matches any special token, the longest first; None if there are none."""
    longest_first = sorted(special_tokens, key=len, reverse=True)
    if len(longest_first) > MOST_COMPILED:
        return ManyTexts(longest_first)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
