"""The index of a vocabulary: what there is to know about every token, as arrays.

Tokens are numbered by *row*: their place when sorted by id, so that gaps between ids cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from tokviz import bytetext
from tokviz.encoding.packed import NO_MERGE
from tokviz.errors import TokvizError
from tokviz.vocabulary.scripts import BYTES, COMMON, MIXED, scripts_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.tokenizer import Tokenizer

# Stands for no byte, so that byte text never holds it.
_BETWEEN_TOKENS = "\ud800"
_SLICE = 4096
_SORTED_BYTES = 32


class Cancelled(TokvizError):
    """Nobody wants the answer any more."""


def never() -> bool:
    """Be wanted to the end."""
    return False


class ByteRows:
    """Byte strings, one behind another.

    Attributes:
        blob: All their bytes, uint8.
        starts: Where each begins, int64, shape (n,).
        lengths: Their lengths, int64, shape (n,).
    """

    def __init__(self, rows: Sequence[bytes]) -> None:
        """Join the strings."""
        import numpy as np

        self.blob = np.frombuffer(b"".join(rows), np.uint8)
        edges = np.fromiter(accumulate(map(len, rows), initial=0), np.int64, len(rows) + 1)
        self.starts = edges[:-1]
        self.lengths = np.diff(edges)

    @cached_property
    def _n_of_byte(self) -> npt.NDArray[np.int64]:
        import numpy as np

        return np.bincount(self.blob, minlength=256)

    def containing(self, needle: bytes) -> npt.NDArray[np.bool_]:
        """Tell which strings contain some bytes; shape (n,).

        The rarest byte of the needle gives the places to look at.
        """
        import numpy as np

        found = np.zeros(len(self.starts), bool)
        if not needle:
            return ~found
        rarest = min(range(len(needle)), key=lambda place: self._n_of_byte[needle[place]])
        places = np.flatnonzero(self.blob == needle[rarest]) - rarest
        places = places[(places >= 0) & (places + len(needle) <= len(self.blob))]
        for offset, byte in enumerate(needle):
            if offset != rarest:
                places = places[self.blob[places + offset] == byte]
        rows = np.searchsorted(self.starts, places, side="right") - 1
        whole = places + len(needle) <= self.starts[rows] + self.lengths[rows]
        found[rows[whole]] = True
        return found

    def starting_with(self, needle: bytes) -> npt.NDArray[np.bool_]:
        """Tell which strings begin with some bytes; shape (n,)."""
        return self._matching_at(self.starts, needle)

    def ending_with(self, needle: bytes) -> npt.NDArray[np.bool_]:
        """Tell which strings end with some bytes; shape (n,)."""
        return self._matching_at(self.starts + self.lengths - len(needle), needle)

    def _matching_at(self, places: npt.NDArray[np.int64], needle: bytes) -> npt.NDArray[np.bool_]:
        import numpy as np

        found = np.zeros(len(self.starts), bool)
        rows = np.flatnonzero(self.lengths >= len(needle))
        for offset, byte in enumerate(needle):
            rows = rows[self.blob[places[rows] + offset] == byte]
        found[rows] = True
        return found

    def order(self) -> npt.NDArray[np.int64]:
        """Sort the strings by their first bytes; equal ones stay in order. Shape (n,)."""
        import numpy as np

        offsets = np.arange(_SORTED_BYTES)
        heads = np.zeros((len(self.starts), _SORTED_BYTES), np.uint8)
        inside = offsets < self.lengths[:, None]
        heads[inside] = self.blob[(self.starts[:, None] + offsets)[inside]]
        keys = heads.view(">u8").astype(np.uint64)
        return np.lexsort((self.lengths, *reversed(keys.T)))


class VocabularyIndex:
    """Every token of a tokenizer, special tokens too, ready to be searched.

    All arrays have shape (n,), a value a row.

    Attributes:
        tokenizer: Whose tokens they are.
        tokens: The bytes of every token.
        ids: Token ids, ascending, int64.
        ranks: That of the first merge listed for each token, to sort by; -1 for none, int64.
        lengths: Bytes, int64.
        n_chars: Characters, a byte that is part of no whole one counting as one; int64.
        scripts: The script of its letters, a number of `tokviz.vocabulary.scripts`; uint8.
        special: Whether it is a special token.
        partial: Whether some of its bytes are no whole characters.
        unreachable: Whether encoding never gives it; None while that is not known. See
            `tokviz.vocabulary.reachable`.
    """

    def __init__(self, tokenizer: Tokenizer, *, cancelled: Callable[[], bool] = never) -> None:
        """Read the vocabulary; takes under a second for 200,000 tokens.

        Args:
            tokenizer: Whose vocabulary.
            cancelled: Asked now and then; True ends the work.

        Raises:
            Cancelled: If it was.
        """
        import numpy as np

        self.tokenizer = tokenizer
        vocab = tokenizer.vocab
        self.ids = np.array(sorted(vocab), np.int64)
        ids = self.ids.tolist()
        n = len(ids)
        self.tokens = [vocab[token_id] for token_id in ids]
        texts: list[str] = []
        folded: list[bytes] = []
        for start in range(0, n, _SLICE):
            if cancelled():
                raise Cancelled
            for row in range(start, min(start + _SLICE, n)):
                token = self.tokens[row]
                text = bytetext.from_bytes(token)
                texts.append(text)
                folded.append(token.lower() if token.isascii() else fold(text))
        tables = tokenizer.tables
        ranks = np.array(tables.first_ranks(), np.int64)
        self.ranks = np.full(n, -1)
        self.ranks[np.searchsorted(self.ids, tables.ids())] = np.where(ranks == NO_MERGE, -1, ranks)
        self.rows = ByteRows(self.tokens)
        self.folded_rows = ByteRows(folded)
        self.lengths = self.rows.lengths
        specials = np.fromiter(tokenizer.special_tokens.values(), np.int64)
        self.special = np.isin(self.ids, specials)
        self.unreachable: npt.NDArray[np.bool_] | None = None
        if cancelled():
            raise Cancelled
        self._read_characters(texts)

    def _read_characters(self, texts: list[str]) -> None:
        import numpy as np

        joined = _BETWEEN_TOKENS.join([*texts, ""])
        codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), "<u4")
        ends = np.flatnonzero(codes == ord(_BETWEEN_TOKENS))
        starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
        self.n_chars = ends - starts
        if not len(ends):
            self.partial = np.zeros(0, bool)
            self.scripts = np.zeros(0, np.uint8)
            return
        raw = (codes >= 0xDC80) & (codes <= 0xDCFF)
        self.partial = np.logical_or.reduceat(raw, starts)
        scripts = scripts_of(codes)
        highest = np.maximum.reduceat(scripts, starts)
        lowest = np.minimum.reduceat(np.where(scripts == COMMON, 255, scripts), starts)
        one = (highest == lowest) | (highest == COMMON)
        self.scripts = np.where(one, highest, MIXED).astype(np.uint8)
        self.scripts[self.partial] = BYTES

    def __len__(self) -> int:
        """Count the tokens."""
        return len(self.tokens)

    def row_of(self, token_id: int) -> int | None:
        """Find the row of an id, None if no token has it."""
        import numpy as np

        row = int(np.searchsorted(self.ids, token_id))
        return row if row < len(self.ids) and self.ids[row] == token_id else None

    @cached_property
    def texts(self) -> list[str]:
        """The tokens as byte text."""
        return [bytetext.from_bytes(token) for token in self.tokens]

    @cached_property
    def text_order(self) -> npt.NDArray[np.int64]:
        """The place of every row when sorted by text, case and leading spaces aside."""
        import numpy as np

        bare = ByteRows([text.lstrip(b" ") for text in self._folded_tokens()])
        places = np.empty(len(self), np.int64)
        places[bare.order()] = np.arange(len(self))
        return places

    def _folded_tokens(self) -> list[bytes]:
        blob = self.folded_rows.blob.tobytes()
        starts = self.folded_rows.starts.tolist()
        return [blob[a:b] for a, b in pairwise([*starts, len(blob)])]


def fold(text: str) -> bytes:
    """Give the bytes of byte text with case set aside."""
    return bytetext.to_bytes(text.casefold())
