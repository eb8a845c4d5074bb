"""A tokenizer as it was after its first merges, for a text that is edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokviz import bytetext
from tokviz.encoding.encoded import Encoded, Segments, ToBytes, piece_ends

if TYPE_CHECKING:
    from tokviz.pretokenize.patterns import SplitPattern
    from tokviz.replay.replay import Replay
    from tokviz.tokenizer import Tokenizer


class _EarlyEncoder:
    """Encodes with the first k merges of a replay."""

    def __init__(self, replay: Replay, k: int) -> None:
        self._replay, self._k = replay, k

    def encode(
        self,
        pattern: SplitPattern,
        found: Segments,
        n_chars: int,
        *,
        with_ends: bool = False,
        to_bytes: ToBytes = bytetext.to_bytes,
    ) -> Encoded:
        """Encode texts; see `Encoder.encode`."""
        encoded, start = Encoded.none(), 0
        for text, special in found:
            n_bytes = len(to_bytes(text))
            if not special:
                tokens = self._replay.text(text, parse_specials=False).at(self._k)
                encoded.ids.extend(tokens.ids.tolist())
                encoded.after.append(len(encoded.ids))
                if with_ends:
                    encoded.token_borders.extend((tokens.byte_ends + start).tolist())
                    encoded.piece_borders.extend(piece_ends(pattern, text, start))
            start += n_bytes
        return encoded

    def prepare(self) -> None:
        """There is nothing that a long text needs."""


def tokenizer_after(replay: Replay, k: int) -> Tokenizer:
    """Give the tokenizer of a replay as it was after k merges: quick for any k.

    Only its ids are those of then: what it says of its merges and ranks holds for all of them.
    """
    return replay.tokenizer.encoding_by(_EarlyEncoder(replay, k))
