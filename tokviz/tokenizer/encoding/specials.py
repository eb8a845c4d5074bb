"""Recognition of special tokens in a text.

The search follows Hugging Face's library, and equals all others if every token is of one kind: the
leftmost match wins, and the longest at the same position. Source: huggingface/tokenizers
`tokenizers/src/tokenizer/added_vocabulary.rs` (`find_matches`, `extract_and_normalize`).
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal, NamedTuple

from tokviz.errors import SpecialTokenError

AllowedSpecial = Literal["all", "none", "huggingface"] | Set[str] | list[str] | tuple[str, ...]
"""Special tokens to recognize in a text; others are plain text. See `Tokenizer.encode`."""
ALLOWED_SPECIAL = "use 'all', 'none', 'huggingface' or a set of special tokens"
"""The values of `AllowedSpecial` in words."""

MOST_COMPILED = 1_000
"""Up to this many special tokens, a regex finds them; `re` takes seconds to compile more."""


class Match(NamedTuple):
    """A match with the methods of `re.Match` that are needed."""

    text: str
    first: int

    def group(self) -> str:
        """Return the matched text."""
        return self.text

    def start(self) -> int:
        """Return the offset of its first character."""
        return self.first

    def end(self) -> int:
        """Return the offset after its last character."""
        return self.first + len(self.text)

    def span(self) -> tuple[int, int]:
        """Return the start and end."""
        return self.first, self.end()


class ManyTexts:
    """Matcher of many texts: the leftmost match wins, and the longest at the same position."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Create a matcher; no text may be empty."""
        self._texts = frozenset(texts)
        lengths: dict[str, set[int]] = {}
        for text in self._texts:
            lengths.setdefault(text[0], set()).add(len(text))
        self._lengths = {first: sorted(sizes) for first, sizes in lengths.items()}
        self._first = re.compile(f"[{''.join(map(re.escape, sorted(lengths)))}]")

    def search(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> Match | None:
        """Return the first match between `pos` and `endpos`, or None."""
        for start in self._first.finditer(text, pos, endpos):
            first = start.start()
            lengths = self._lengths[text[first]]
            # A file may list thousands of lengths, most of them longer than the remaining text.
            n_fit = bisect_right(lengths, min(len(text), endpos) - first)
            for number in range(n_fit - 1, -1, -1):
                candidate = text[first : first + lengths[number]]
                if candidate in self._texts:
                    return Match(candidate, first)
        return None

    def finditer(self, text: str) -> Iterator[Match]:
        """Yield all matches that do not overlap, in order."""
        match = self.search(text)
        while match is not None:
            yield match
            match = self.search(text, match.end())


Pattern = re.Pattern[str] | ManyTexts


class Search(NamedTuple):
    """A search for special tokens.

    Attributes:
        patterns: Patterns to apply in turn; each searches the text that the previous ones left.
        as_text: Special tokens that match but remain text, so nothing inside them is recognized.
    """

    patterns: tuple[Pattern, ...] = ()
    as_text: frozenset[str] = frozenset()


class PostProcessor(NamedTuple):
    """The special tokens that Hugging Face's library adds around a text.

    Attributes:
        before: Ids before the text, such as BOS.
        after: Ids after the text, such as EOS.
        problem: The reason why tokviz cannot add them; empty if it can.
        json: The entry of the `tokenizer.json`, to save it unchanged; empty for none.
        trims_offsets: Whether the library's offsets of a token leave out its outer spaces.
    """

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    problem: str = ""
    json: str = ""
    trims_offsets: bool = False


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
        """Create from the ids and the declarations of a file."""
        self.ids = dict(ids or {})
        self.normalized = frozenset(normalized)
        self.non_special = frozenset(non_special)
        self.blank = frozenset(filter(str.isspace, non_special))
        self.longest = max(map(len, self.ids), default=0)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling without the compiled patterns."""
        return SpecialTokens, self.content

    @property
    def content(self) -> tuple[dict[str, int], frozenset[str], frozenset[str]]:
        """The arguments that create them."""
        return self.ids, self.normalized, self.non_special

    @cached_property
    def pattern(self) -> Pattern | None:
        """A pattern that matches any special token, the longest first; None if there are none."""
        return pattern_of_specials(self.ids)

    @cached_property
    def bytes_by_id(self) -> dict[int, bytes]:
        """The bytes of each token by its id."""
        return {token_id: text.encode() for text, token_id in self.ids.items()}

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

    def check_allowed(self, allowed: str | Iterable[str], tokenizer: str) -> None:
        """Check the special tokens to recognize.

        Args:
            allowed: See `Tokenizer.encode`.
            tokenizer: The name of the tokenizer, or "no tokenizer".

        Raises:
            SpecialTokenError: If `allowed` is another string, or contains a text that is not a
                special token; the error suggests a similar one.
        """
        if isinstance(allowed, str):
            if allowed not in ("all", "none", "huggingface"):
                raise SpecialTokenError(f"allowed_special is {allowed!r}: {ALLOWED_SPECIAL}")
            return
        for text in allowed:
            if text not in self.ids:
                near = get_close_matches(str(text), self.ids, n=1)
                remedy = f"did you mean {near[0]!r}?" if near else "see its special_tokens"
                raise SpecialTokenError(f"{tokenizer} has no special token {text!r}: {remedy}")

    def search(self, allowed: AllowedSpecial | bool) -> Search:
        """Return the search for the special tokens to recognize.

        Args:
            allowed: See `Tokenizer.encode`; True is "all", False is "none".
        """
        if allowed is True or allowed == "all":
            return self._everything
        if allowed == "huggingface":
            return Search(self._everything.patterns, frozenset(self.ids.keys() - self.non_special))
        if not allowed or allowed == "none":
            return self._white_space
        return search_for((text for text in self.ids if text in allowed), self.normalized)


def search_for(texts: Iterable[str], normalized: Collection[str] = ()) -> Search:
    """Make the search for special tokens, the normalized ones after the others."""
    parts: tuple[list[str], list[str]] = ([], [])
    for text in texts:
        parts[text in normalized].append(text)
    return Search(tuple(filter(None, map(pattern_of_specials, parts))))


def segments(text: str, search: Search) -> Iterator[tuple[str, bool]]:
    """Cut special tokens out of a text; yield (text, whether it is a special token)."""
    parts: Iterable[tuple[str, bool]] = ((text, False),) if text else ()
    for pattern in search.patterns:
        parts = _cut(parts, pattern, search.as_text)
    yield from parts


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
    """Return a pattern that matches any special token, the longest first; None without tokens."""
    longest_first = sorted(special_tokens, key=len, reverse=True)
    if len(longest_first) > MOST_COMPILED:
        return ManyTexts(longest_first)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
