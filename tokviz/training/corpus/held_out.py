"""A corpus that keeps a little of its text back, to judge what was learned from the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tokviz.training.corpus.corpus import Corpus
from tokviz.training.corpus.text_blocks import BLOCK_BYTES, TextBlock

MOST_BYTES = 1_000_000
"""About as much is held out of a corpus of 100 MB and more; of a smaller one, a hundredth."""

SHARE = 0.01


class HeldOutCorpus(Corpus):
    """Documents to train on, without some that are only to be looked at afterwards.

    What is held out lies in the middle of every block of about a megabyte and begins and ends at
    ends of lines or texts, so that the same corpus always gives the same.

    Attributes:
        held_out: The texts kept back so far, in order.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Take what every corpus takes."""
        super().__init__(*arguments, **options)
        self.held_out: list[bytes] = []

    def must_be_whole(self) -> str:
        """Every block gives a little."""
        return super().must_be_whole() or "a comparison with text that is kept out of the training"

    def text_blocks(self, special_tokens: Iterable[str] = ()) -> Iterator[TextBlock]:
        """Read all texts but those held out."""
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
    """Take about `wanted` bytes out of the middle of a block, fewer if lines or texts are long.

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
    """Find at most `wanted` bytes of whole lines between `start` and `end`, behind the first one.

    The first line may have begun before `start`.
    """
    first = data.find(b"\n", start, end) + 1
    last = data.rfind(b"\n", first, min(end, first + wanted)) + 1 if first else 0
    return (first, last) if last else (start, start)
