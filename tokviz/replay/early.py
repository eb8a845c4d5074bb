"""A tokenizer as it was after its first merges, for a text that is edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokviz.encoding.segment_encoder import SegmentEncoder

if TYPE_CHECKING:
    from tokviz.pretokenize.patterns import SplitPattern
    from tokviz.replay.replay import Replay
    from tokviz.tokenizer import Tokenizer


class _EarlyEncoder(SegmentEncoder):
    """Encodes with the first k merges of a replay."""

    def __init__(self, replay: Replay, k: int) -> None:
        super().__init__(replay.tokenizer.tables, whole=False)
        self._replay, self._k = replay, k

    def prepare(self) -> None:
        """There is nothing that a long text needs."""

    def _encode_pieces(self, pattern: SplitPattern, text: str) -> Sequence[int]:
        ids: list[int] = self._replay.text(text, parse_specials=False).at(self._k).ids.tolist()
        return ids


def tokenizer_after(replay: Replay, k: int) -> Tokenizer:
    """Give the tokenizer of a replay as it was after k merges: quick for any k.

    Only its ids are those of then: what it says of its merges and ranks holds for all of them.
    """
    return replay.tokenizer.encoding_by(_EarlyEncoder(replay, k))
