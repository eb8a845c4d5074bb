r"""Where a text may be cut so that the parts can be tokenized one by one.

A cut is safe if the split pattern forces a piece boundary there whatever stands elsewhere
(`SplitPattern.safe_cut`), and if no special token reaches across it. Both depend on few characters
beside the cut, so an edit can only make or unmake cuts within `CutRule.reach` characters of it.

>>> from tokviz.encoding.specials import pattern_of_specials
>>> from tokviz.pretokenize.patterns import get_split_pattern
>>> specials = pattern_of_specials(["a b"])
>>> rule = CutRule(get_split_pattern("gpt2").safe_cut, specials, longest_special=3)
>>> rule.split("x y a b c d", target=1)
['x', ' y', ' a b', ' c', ' d']
"""

from __future__ import annotations

from tokviz.encoding.specials import Pattern
from tokviz.pretokenize.patterns import CUT_CONTEXT, compiled_cut, run_without_cut
from tokviz.tokenizer import Tokenizer

ANYWHERE = ""
"""A safe cut that matches between any two characters."""

_SEARCHED_AT_ONCE = 1 << 16
"""Characters that are searched for a cut in one go."""


class CutRule:
    """Finds safe cuts.

    Attributes:
        reach: A cut further than this many characters from an edit stays what it was.
    """

    __slots__ = ("_safe_cut", "_specials", "reach")

    def __init__(
        self, safe_cut: str | None, specials: Pattern | None, longest_special: int
    ) -> None:
        """Take the rule of the split pattern and the special tokens.

        Args:
            safe_cut: A regex of zero width, None if no cut is known to be safe.
            specials: Matches every special token that is recognised, the longest first.
            longest_special: Characters of the longest special token.
        """
        self._safe_cut = safe_cut
        self._specials = specials
        self.reach = max(CUT_CONTEXT, longest_special)

    def split(
        self, text: str, target: int, first: int | None = None, last: int | None = None
    ) -> list[str]:
        """Cut text into parts of about `target` characters; one part if it holds no safe cut.

        Args:
            text: Any text; an empty one is one empty part.
            target: No part is shorter, but for the last and, if `first` is given, the first.
            first: The first place to look for a cut.
            last: The place behind the last one; None if the last part is to have a fair length.
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
        """Find the last safe cut from `first` on and before `last`, looking at every one."""
        found = None
        while cut := self._next_cut(text, first, last):
            found, first = cut, cut + 1
        return found

    def _next_cut(self, text: str, at: int, end: int) -> int | None:
        """Find the first safe cut from `at` on and before `end`."""
        if self._safe_cut is None:
            return None
        search = compiled_cut(self._safe_cut).search
        while at < end:
            # Step by step, since a search lets no other thread have its turn.
            stop = min(at + _SEARCHED_AT_ONCE, end)
            if at:
                at = run_without_cut(self._safe_cut, text, at - 1, stop)
            match = search(text, at, stop + CUT_CONTEXT)
            if match is None or match.start() >= stop:
                at = stop
            elif self._inside_special(text, match.start()):
                at = match.start() + 1
            else:
                return match.start() if match.start() < len(text) else None
        return None

    def _inside_special(self, text: str, cut: int) -> bool:
        """Tell whether any occurrence of a special token, recognised or not, spans the cut."""
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
    """Make the rule for a tokenizer; without one, nothing is tokenized and any cut will do."""
    if tokenizer is None:
        return CutRule(ANYWHERE, None, 0)
    specials = (tokenizer.specials.pattern, tokenizer.specials.longest)
    return CutRule(tokenizer.split_pattern.safe_cut, *(specials if parse_specials else (None, 0)))
