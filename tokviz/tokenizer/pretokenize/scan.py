"""Compiled scanners for the named split patterns, over bytes, block by block.

`scanner_of` says whether a pattern has one; counting runs it as a part of its own loops. They cut
as `tokviz.tokenizer.pretokenize.split.split` does, at ten times its speed. A custom regex has no
scanner.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern

if TYPE_CHECKING:
    from tokviz.tokenizer.pretokenize.scan_kernels import Texts

_LAST_CUT = re.compile(rb"(?s:.*)[A-Za-z](?= )")
_WINDOWS = (1 << 10, 1 << 16)


class Scanner(NamedTuple):
    """The compiled twin of a split pattern.

    Attributes:
        family: Its family among those of `block_kernels`, by name.
        max_digits: How many digits a pre-token may hold, where the family asks for it.
        cuts_at_blanks: Whether a pre-token always ends between an ASCII letter and a blank behind
            it, whatever stands elsewhere.
    """

    family: str
    max_digits: int = 3
    cuts_at_blanks: bool = True

    def texts(
        self, data: bytes, starts: Sequence[int], ends: Sequence[int], *, is_open: bool = False
    ) -> Texts:
        """Hand texts to the kernels.

        Args:
            data: Holds the texts.
            starts: Where each text starts.
            ends: Where each ends.
            is_open: Whether the last text goes on after its end here.
        """
        from tokviz.tokenizer.pretokenize import block_kernels, scan_kernels
        from tokviz.tokenizer.pretokenize.scan_table import scan_table

        family: int = getattr(block_kernels, self.family)
        numbers = array("q", [len(starts), len(data), is_open, family, self.max_digits])
        # Whoever has them keeps them alive; any buffer is a pointer to the kernels.
        columns: tuple[Any, ...] = (
            data,
            array("q", starts),
            array("q", ends),
            scan_table(),
            numbers,
        )
        return scan_kernels.Texts(*columns)

    def last_cut(self, data: bytes, start: int, end: int) -> int:
        """Find a late place, not before `start`, where a pre-token ends whatever follows `end`.

        `start` itself if there is none, or none soon enough.
        """
        if self.cuts_at_blanks:
            for window in _WINDOWS:
                first = max(start, end - window)
                # Without a blank the regex would go back over the whole window, letter by letter.
                found = data.find(b" ", first, end) >= 0 and _LAST_CUT.match(data, first, end)
                if found:
                    return found.end()
        return start


_SCANNERS = {
    "gpt2": Scanner("GPT2"),
    "cs336": Scanner("GPT2"),
    "gpt4": Scanner("GPT4"),
    "llama3": Scanner("GPT4"),
    "nanochat": Scanner("GPT4", max_digits=2),
    "qwen2": Scanner("GPT4", max_digits=1),
    "gpt4o": Scanner("GPT4O"),
    "whitespace": Scanner("WORDS"),
    "none": Scanner("WHOLE", cuts_at_blanks=False),
}


def scanner_of(pattern: SplitPattern) -> Scanner | None:
    """Find the compiled scanner of a named pattern; None for any other."""
    return _SCANNERS.get(pattern.name) if pattern == SPLIT_PATTERNS.get(pattern.name) else None
