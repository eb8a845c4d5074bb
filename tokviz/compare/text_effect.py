"""Where two tokenizers cut the same text into other tokens."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tokviz.compare.side import none_in, shared_stretches

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.replay.replay import Replay

    Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TextEffect:
    """The same text in two tokenizers.

    Attributes:
        data: The bytes of the text.
        ends_a: Where each token of the first one ends, in bytes. Shape (tokens,).
        ends_b: The same for the second one.
        spans: The smallest stretches of bytes outside of which both have the same tokens. Shape
            (n, 2).
    """

    data: bytes
    ends_a: Int64s
    ends_b: Int64s
    spans: Int64s

    @property
    def n_tokens_a(self) -> int:
        """The tokens of the first one."""
        return len(self.ends_a)

    @property
    def n_tokens_b(self) -> int:
        """The tokens of the second one."""
        return len(self.ends_b)

    def place(self, index: int) -> tuple[list[bytes], list[bytes]]:
        """Give the tokens of both in one of the spans."""
        start, end = self.spans[index].tolist()
        return _tokens(self.data, self.ends_a, start, end), _tokens(
            self.data, self.ends_b, start, end
        )


def text_effect(a: Replay, b: Replay, text: str, parse_specials: bool = True) -> TextEffect:
    """Tokenize byte text with both, each with its own special tokens, and find where they differ.

    Raises:
        VocabularyError: If one of them has no token for a byte of the text.
    """
    import numpy as np

    in_a, in_b = (
        replay.text(text, parse_specials).at(replay.n_merges).byte_ends for replay in (a, b)
    )
    borders_a, borders_b = (np.concatenate([np.zeros(1, np.int64), ends]) for ends in (in_a, in_b))
    _, stretches = shared_stretches([borders_a, borders_b])
    only_in_one = np.setxor1d(borders_a, borders_b, assume_unique=True)
    spans = stretches[~none_in(stretches, only_in_one)]
    return TextEffect(text.encode("utf-8", "surrogateescape"), in_a, in_b, spans)


def _tokens(data: bytes, ends: Int64s, start: int, end: int) -> list[bytes]:
    import numpy as np

    first, last = np.searchsorted(ends, (start, end), side="right")
    borders = [start, *ends[first:last].tolist()]
    return [data[a:b] for a, b in pairwise(borders)]
