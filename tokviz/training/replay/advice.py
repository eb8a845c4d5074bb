"""Advice on the size of a vocabulary, from the compression at increasing sizes of one training.

The merges of a small vocabulary are the first merges of a large one, so one training covers all
smaller sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.text import bytetext
from tokviz.text.sentences import sentence
from tokviz.training.settings import N_BYTES

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

KNEE = 0.04
"""A vocabulary is large enough if doubling it saves a smaller share of the tokens than this."""
_SMALLEST = 512


class Size(NamedTuple):
    """Measurements of a vocabulary size.

    Attributes:
        n_vocab: Number of tokens, including bytes and special tokens.
        bytes_per_token: Compression of text outside the corpus.
        saved: The share of tokens saved compared to the previous size; None for the smallest.
        n_parameters: Number of weights in an embedding table of this size.
    """

    n_vocab: int
    bytes_per_token: float
    saved: float | None
    n_parameters: int


class Advice(NamedTuple):
    """Measured sizes, each about twice the previous one, with the recommended size.

    Attributes:
        sizes: The sizes, ascending.
        knee: The recommended size, None if a larger vocabulary is still worth it.
        reason: An explanation, without a capital and a full stop.
    """

    sizes: tuple[Size, ...]
    knee: int | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the advice as JSON values."""
        return self._asdict() | {"sizes": [size._asdict() for size in self.sizes]}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Advice:
        """Create the advice from the values of `to_json`."""
        return cls(**{**record, "sizes": tuple(Size(**size) for size in record["sizes"])})

    def lines(self) -> list[str]:
        """Return a table, followed by the advice."""
        rows = [("tokens", "bytes/token", "saves", "weights")]
        for size in self.sizes:
            saved = "" if size.saved is None else f"{size.saved:.1%}"
            weights = f"{size.n_parameters / 1e6:,.1f} M"
            rows.append((f"{size.n_vocab:,}", f"{size.bytes_per_token:.2f}", saved, weights))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        return [*table, sentence(self.reason)]


def advise(tokenizer: Tokenizer, texts: Sequence[bytes], width: int) -> Advice:
    """Measure compression at every size up to that of the tokenizer.

    Args:
        tokenizer: The trained tokenizer.
        texts: Texts outside its corpus.
        width: Width of the embedding: weights per token.
    """
    # These need NumPy, which a training without advice does not load.
    from tokviz.training.replay.steps import ListedSteps
    from tokviz.training.replay.text import TextTimes

    steps = ListedSteps(tokenizer)
    times = TextTimes(tokenizer, steps)
    prepared = [times.prepare(bytetext.from_bytes(text), False) for text in texts]
    n_bytes, n_others = sum(map(len, texts)), N_BYTES + len(tokenizer.special_tokens)
    sizes: list[Size] = []
    last = n_others + steps.n_merges
    doubled = [_SMALLEST << n for n in range(22) if _SMALLEST << n <= last / 1.5]
    for n_vocab in [*doubled, last]:
        n_tokens = sum(text.n_tokens(n_vocab - n_others) for text in prepared)
        ratio = n_bytes / max(n_tokens, 1)
        saved = 1 - sizes[-1].bytes_per_token / ratio if sizes else None
        sizes.append(Size(n_vocab, ratio, saved, n_vocab * width))
    return advice_of(sizes)


def advice_of(sizes: Sequence[Size]) -> Advice:
    """Return the advice for measured sizes: the first one whose double saves less than `KNEE`."""
    for size, twice in pairwise(sizes):
        if twice.saved is not None and twice.saved < KNEE:
            more = twice.n_parameters - size.n_parameters
            reason = (
                f"{size.n_vocab:,} tokens are enough: {twice.n_vocab:,} would save "
                f"{twice.saved:.1%} of the tokens and need {more / 1e6:,.1f} M more weights"
            )
            return Advice(tuple(sizes), size.n_vocab, reason)
    reason = "more tokens are still worth it: train a larger vocabulary to see where that ends"
    return Advice(tuple(sizes), None, reason)
