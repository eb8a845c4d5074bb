r"""Safe cuts: places where a text can be divided so that its parts can be tokenized independently.

A cut is safe if the split pattern forces a pre-token boundary there regardless of the text
elsewhere (`SplitPattern.safe_cut`), and if no special token spans it. Both depend only on a few
characters around the cut, so an edit affects only cuts within `CutRule.reach` characters of it.

>>> from tokviz.tokenizer.encoding.specials import pattern_of_specials
>>> from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
>>> specials = pattern_of_specials(["a b"])
>>> rule = CutRule(get_split_pattern("gpt2").safe_cut, specials, longest_special=3)
>>> rule.split("x y a b c d", target=1)
['x', ' y', ' a b', ' c', ' d']
"""

from __future__ import annotations

from tokviz.tokenizer.encoding.specials import Pattern
from tokviz.tokenizer.pretokenize.patterns import CUT_CONTEXT, first_cut
from tokviz.tokenizer.tokenizer import Tokenizer

ANYWHERE = ""
"""A `safe_cut` that matches between any two characters."""

SEARCHED_AT_ONCE = 1 << 16
"""Characters searched for a cut before other threads get a turn."""


class CutRule:
    """Finder of safe cuts.

    Attributes:
        reach: An edit cannot affect cuts further away than this many characters.
    """

    __slots__ = ("_safe_cut", "_specials", "reach")

    def __init__(
        self, safe_cut: str | None, specials: Pattern | None, longest_special: int
    ) -> None:
        """Create the rule for a split pattern and special tokens.

        Args:
            safe_cut: A regex of zero width, None if no cut is known to be safe.
            specials: Matches every recognized special token, the longest first.
            longest_special: Number of characters of the longest special token.
        """
        self._safe_cut = safe_cut
        self._specials = specials
        self.reach = max(CUT_CONTEXT, longest_special)

    def split(
        self, text: str, target: int, first: int | None = None, last: int | None = None
    ) -> list[str]:
        """Cut text into parts of about `target` characters; one part if it contains no safe cut.

        Args:
            text: Any text; an empty one yields one empty part.
            target: Minimum length of a part, except the last and, if `first` is given, the first.
            first: The first position to look for a cut.
            last: The position after the last one; None to avoid a short last part.
        """
        at = target if first is None else first
        end = len(text) - target // 2 if last is None else last
        parts: list[str] = []
        start = 0
        while at < end:
            cut = self._next_cut(text, at, len(text) if last is None else last)
            if cut is None:
                break
            parts.append(text[start:cut])
            start = cut
            at = start + target
        parts.append(text[start:])
        return parts

    def last_cut(self, text: str, first: int, last: int) -> int | None:
        """Return the last safe cut in `first` ≤ cut < `last`, or None, by visiting every cut."""
        last_found = None
        while cut := self._next_cut(text, first, last):
            last_found, first = cut, cut + 1
        return last_found

    def _next_cut(self, text: str, at: int, end: int) -> int | None:
        """Return the first safe cut in `at` ≤ cut < `end`, or None."""
        if self._safe_cut is None:
            return None
        while at < end:
            # Search step by step, because a search does not release the GIL.
            stop = min(at + SEARCHED_AT_ONCE, end)
            cut = first_cut(self._safe_cut, text, at, stop)
            if cut is None:
                at = stop
            elif self._inside_special(text, cut):
                at = cut + 1
            else:
                return cut if cut < len(text) else None
        return None

    def _inside_special(self, text: str, cut: int) -> bool:
        """Return whether an occurrence of a special token, even within another, spans the cut."""
        if self._specials is None:
            return False
        end = cut + self.reach
        match = self._specials.search(text, max(cut - self.reach, 0), end)
        while match is not None and match.start() < cut:
            if match.end() > cut:
                return True
            match = self._specials.search(text, match.start() + 1, end)
        return False


def cut_rule(tokenizer: Tokenizer | None, parse_specials: bool) -> CutRule:
    """Return the cut rule of a tokenizer; without one, every cut is safe."""
    if tokenizer is None:
        return CutRule(ANYWHERE, None, 0)
    specials = (tokenizer.specials.pattern, tokenizer.specials.longest)
    return CutRule(tokenizer.split_pattern.safe_cut, *(specials if parse_specials else (None, 0)))
