"""How large a vocabulary should be: what text costs after ever more merges of one training.

The merges of a small vocabulary are the first ones of a large one, so one training tells about all
sizes below its own.
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
"""A vocabulary is large enough if twice its size saves a smaller share of the tokens than this."""
_SMALLEST = 512


class Size(NamedTuple):
    """What a vocabulary size means.

    Attributes:
        n_vocab: The tokens, bytes and special tokens included.
        bytes_per_token: The compression of text that was not learned from.
        saved: The share of tokens that half the size takes more; None for the smallest size.
        n_parameters: The weights of an embedding table of this size.
    """

    n_vocab: int
    bytes_per_token: float
    saved: float | None
    n_parameters: int


class Advice(NamedTuple):
    """The sizes, each about twice the one before, and where more is hardly worth it.

    Attributes:
        sizes: By rising size.
        knee: The size that is advised, None if more would still be worth it.
        reason: Why, in a sentence.
    """

    sizes: tuple[Size, ...]
    knee: int | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Give it as plain values."""
        return self._asdict() | {"sizes": [size._asdict() for size in self.sizes]}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Advice:
        """Read what `to_json` wrote."""
        return cls(**{**record, "sizes": tuple(Size(**size) for size in record["sizes"])})

    def lines(self) -> list[str]:
        """Write it as a table, and the advice below it."""
        rows = [("tokens", "bytes/token", "saves", "weights")]
        for size in self.sizes:
            saved = "" if size.saved is None else f"{size.saved:.1%}"
            weights = f"{size.n_parameters / 1e6:,.1f} M"
            rows.append((f"{size.n_vocab:,}", f"{size.bytes_per_token:.2f}", saved, weights))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        return [*table, sentence(self.reason)]


def advise(tokenizer: Tokenizer, texts: Sequence[bytes], width: int) -> Advice:
    """Work out what text costs at every size up to the tokenizer's.

    Args:
        tokenizer: What was learned.
        texts: Texts that it was not learned from.
        width: The width of the embedding: weights per token.
    """
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
    return Advice(tuple(sizes), *_knee(sizes))


def _knee(sizes: Sequence[Size]) -> tuple[int | None, str]:
    for size, twice in pairwise(sizes):
        if twice.saved is not None and twice.saved < KNEE:
            more = twice.n_parameters - size.n_parameters
            reason = (
                f"{size.n_vocab:,} tokens are enough: {twice.n_vocab:,} would save "
                f"{twice.saved:.1%} of the tokens and cost {more / 1e6:,.1f} M weights more"
            )
            return size.n_vocab, reason
    return None, "more tokens are still worth it: train a larger vocabulary to see where that ends"
