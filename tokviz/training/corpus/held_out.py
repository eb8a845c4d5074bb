"""A corpus that holds out a little of its text, to evaluate the tokenizer on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tokviz.training.corpus.corpus import Corpus
from tokviz.training.corpus.text_blocks import BLOCK_BYTES, TextBlock

MOST_BYTES = 1_000_000
"""Approximate size held out of a corpus of 100 MB or more; of a smaller one, a hundredth."""

SHARE = 0.01


class HeldOutCorpus(Corpus):
    """Documents to train on, without held-out text.

    Text is held out in the middle of every block of about a megabyte, and starts and ends at the
    ends of lines or texts. The same corpus always has the same held-out text.

    Attributes:
        held_out: The texts held out so far, in order.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Create the corpus; see `Corpus` for the arguments."""
        super().__init__(*arguments, **options)
        self.held_out: list[bytes] = []

    def why_sequential(self) -> str:
        """Return the reason why a single process must read the corpus."""
        return super().why_sequential() or "a comparison with text that is kept out of the training"

    def text_blocks(self, special_tokens: Iterable[str] = ()) -> Iterator[TextBlock]:
        """Read all texts except those held out."""
        total = self.n_bytes_total or BLOCK_BYTES
        share = min(SHARE, MOST_BYTES / max(total, 1))
        room = MOST_BYTES
        for block in super().text_blocks(special_tokens):
            wanted = min(room, int(share * sum(map(int.__sub__, block.ends, block.starts))))
            rest, taken = hold_out(block, wanted)
            self.held_out.extend(taken)
            room -= sum(map(len, taken))
            yield rest


def hold_out(block: TextBlock, wanted: int) -> tuple[TextBlock, list[bytes]]:
    """Remove about `wanted` bytes from the middle of a block, fewer if lines or texts are long.

    Returns:
        The block without them, and the texts taken out.
    """
    if not block.starts:
        return block, []
    rest = TextBlock(block.data, is_open=block.is_open, file=block.file)
    taken: list[bytes] = []
    middle = (block.starts[0] + block.ends[-1]) // 2
    spans = list(zip(block.starts, block.ends, strict=True))
    for index, (start, end) in enumerate(spans):
        goes_on = block.is_open and index == len(spans) - 1
        if start >= middle and end - start <= wanted and not goes_on:
            first, last = start, end
        else:
            first, last = _lines(block.data, max(start, middle), end, wanted)
        if first < last:
            taken.append(block.data[first:last])
            wanted -= last - first
            if start < first:
                rest.add(start, first, False)
            start = last
        rest.add(start, end, block.ends_document[index])
    return rest, taken


def _lines(data: bytes, start: int, end: int, wanted: int) -> tuple[int, int]:
    """Find at most `wanted` bytes of whole lines between `start` and `end`, after the first line.

    The first line may start before `start`.
    """
    first = data.find(b"\n", start, end) + 1
    last = data.rfind(b"\n", first, min(end, first + wanted)) + 1 if first else 0
    return (first, last) if last else (start, start)
