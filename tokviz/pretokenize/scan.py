"""Compiled scanners for the named split patterns, over bytes, block by block.

`scanner_of` says whether a pattern has one; `Scanner.pieces` cuts a text with it. They cut as
`tokviz.pretokenize.split.split` does, at ten times its speed. A custom regex has no scanner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokviz.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 1 << 14
"""How many pieces are found before they are handed on: few enough to stay in a near cache."""


@dataclass(frozen=True, slots=True)
class Scanner:
    """The compiled twin of a split pattern.

    Attributes:
        family: Its family among those of `scan_kernels`, by name.
        max_digits: How many digits a piece may hold, where the family asks for it.
    """

    family: str
    max_digits: int = 3

    def batches(
        self,
        buffer: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        *,
        is_open: bool = False,
    ) -> Iterator[NDArray[np.int64]]:
        """Cut the texts at `starts` to `ends` of a buffer.

        Args:
            buffer: Holds the texts; writable, because that is what the scanner is compiled for.
            starts: Where each text starts.
            ends: Where each ends.
            is_open: The last text goes on after its end here; its last piece may then be missing,
                and comes when its bytes are scanned again together with more.

        Yields:
            Where pieces start and end in the buffer, shape (n, 2), valid until the next step.
        """
        import numpy as np

        from tokviz.pretokenize import scan_kernels
        from tokviz.pretokenize.scan_table import scan_table

        if len(starts) == 0:
            return
        family = getattr(scan_kernels, self.family)
        pieces = np.empty((BATCH, 2), np.int64)
        text, position = 0, int(starts[0])
        while True:
            n_found, text, position = scan_kernels.scan(
                buffer,
                starts,
                ends,
                is_open,
                family,
                self.max_digits,
                scan_table(),
                text,
                position,
                pieces,
            )
            if n_found:
                yield pieces[:n_found]
            if n_found < BATCH:
                return

    def pieces(self, data: bytes) -> list[bytes]:
        """Cut a whole text into its pieces."""
        import numpy as np

        buffer = np.frombuffer(bytearray(data), np.uint8)
        start, end = np.zeros(1, np.int64), np.full(1, len(data), np.int64)
        return [data[a:b] for batch in self.batches(buffer, start, end) for a, b in batch.tolist()]


_SCANNERS = {
    "gpt2": Scanner("GPT2"),
    "cs336": Scanner("GPT2"),
    "gpt4": Scanner("GPT4"),
    "llama3": Scanner("GPT4"),
    "nanochat": Scanner("GPT4", max_digits=2),
    "qwen2": Scanner("GPT4", max_digits=1),
    "gpt4o": Scanner("GPT4O"),
    "whitespace": Scanner("WORDS"),
    "none": Scanner("WHOLE"),
}


def scanner_of(pattern: SplitPattern) -> Scanner | None:
    """Find the compiled scanner of a named pattern; None for any other."""
    return _SCANNERS.get(pattern.name) if pattern == SPLIT_PATTERNS.get(pattern.name) else None
