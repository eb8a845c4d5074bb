"""The index of a vocabulary: what there is to know about every token, as arrays.

Tokens are numbered by *row*: their place when sorted by id, so that gaps between ids cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from tokviz import bytetext
from tokviz.encoding.byte_rows import ByteRows
from tokviz.encoding.packed import NO_MERGE
from tokviz.errors import TokvizError
from tokviz.vocabulary.scripts import BYTES, COMMON, MIXED, scripts_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.tokenizer import Tokenizer

# Stands for no byte, so that byte text never holds it.
_BETWEEN_TOKENS = 0xD800


class Cancelled(TokvizError):
    """Nobody wants the answer any more."""


def never() -> bool:
    """Be wanted to the end."""
    return False


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

        self.tokenizer, tables = tokenizer, tokenizer.tables
        specials = tokenizer.special_tokens
        special_ids = np.fromiter(specials.values(), np.int64, len(specials))
        ids = np.concatenate([np.array(tables.ids(), np.int64), special_ids])
        order = np.argsort(ids)
        self.ids = ids[order]
        self.tokens = ByteRows.of(tables, map(str.encode, specials)).take(order)
        self.lengths = self.tokens.lengths
        self.special = order >= len(ids) - len(specials)
        ranks = np.array(tables.first_ranks(), np.int64)
        self.ranks = np.full(len(ids), -1)
        self.ranks[~self.special] = np.where(ranks == NO_MERGE, -1, ranks)
        self.unreachable: npt.NDArray[np.bool_] | None = None
        if cancelled():
            raise Cancelled
        codes, ends = self._characters()
        self.folded = _rows_of(_codes_of(_text_of(codes).casefold()))
        self._read_characters(codes, ends)

    def _characters(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Give the characters of all tokens, and where the mark behind each token is."""
        import numpy as np

        # A line end is part of no other character, whatever bytes stand beside it.
        ends = np.cumsum(self.lengths)
        data = np.insert(self.tokens.blob, ends, ord("\n")).tobytes()
        codes = _codes_of(bytetext.from_bytes(data)).copy()
        places = np.cumsum(bytetext.utf8_sizes(codes), dtype=np.int64) - 1
        marks = np.searchsorted(places, ends + np.arange(len(ends)))
        codes[marks] = _BETWEEN_TOKENS
        return codes, marks

    def _read_characters(self, codes: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64]) -> None:
        import numpy as np

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

    def text(self) -> str:
        """Give the byte text of all tokens, one behind another; see `n_chars`."""
        codes, _ = self._characters()
        return _text_of(codes[codes != _BETWEEN_TOKENS])

    @cached_property
    def text_order(self) -> npt.NDArray[np.int64]:
        """The place of every row when sorted by text, case and leading spaces aside."""
        import numpy as np

        places = np.empty(len(self), np.int64)
        places[self.folded.without_leading(b" ").order()] = np.arange(len(self))
        return places


def _rows_of(codes: npt.NDArray[np.uint32]) -> ByteRows:
    """Put the bytes of tokens into rows, of characters with a mark behind each token."""
    import numpy as np

    is_mark = codes == _BETWEEN_TOKENS
    sizes = np.where(is_mark, 0, bytetext.utf8_sizes(codes))
    lengths = np.diff(np.cumsum(sizes, dtype=np.int64)[is_mark], prepend=0)
    return ByteRows(bytetext.to_bytes(_text_of(codes[~is_mark])), lengths)


def _codes_of(text: str) -> npt.NDArray[np.uint32]:
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _text_of(codes: npt.NDArray[np.uint32]) -> str:
    return str(codes.tobytes(), "utf-32-le", "surrogatepass")


def fold(text: str) -> bytes:
    """Give the bytes of byte text with case set aside."""
    return bytetext.to_bytes(text.casefold())
