"""Index of a vocabulary: properties of every token, as arrays.

A *row* is the position of a token when all are sorted by id, so gaps between ids cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tokviz.errors import TokvizError
from tokviz.explain.vocabulary.scripts import BYTES, COMMON, MIXED, scripts_of
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.byte_rows import ByteRows
from tokviz.tokenizer.encoding.packed import NO_MERGE

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

# A surrogate that represents no byte, so byte text never contains it.
_BETWEEN_TOKENS = 0xD800


class Cancelled(TokvizError):
    """The caller cancelled the work."""


def never() -> bool:
    """Return False: never cancel."""
    return False


class VocabularyIndex:
    """Searchable index of all tokens of a tokenizer, including special tokens.

    All arrays have shape (n,), one value per row.

    Attributes:
        tokenizer: The tokenizer.
        tokens: The bytes of every token.
        ids: Token ids, ascending, int64.
        ranks: Rank of the first merge listed for each token, to sort by; -1 for none, int64.
        lengths: Length in bytes, int64.
        n_chars: Length in characters, int64; a byte outside whole characters counts as one.
        scripts: Script of the letters, a number of `tokviz.explain.vocabulary.scripts`; uint8.
        special: Whether it is a special token.
        partial: Whether it contains bytes outside whole characters.
        unreachable: Whether encoding never produces it; None while unknown. See
            `tokviz.explain.vocabulary.reachable`.
    """

    def __init__(self, tokenizer: Tokenizer, *, cancelled: Callable[[], bool] = never) -> None:
        """Read the vocabulary; takes under a second for 200,000 tokens.

        Args:
            tokenizer: The tokenizer.
            cancelled: Called regularly; the work ends once it returns True.

        Raises:
            Cancelled: If `cancelled` returned True.
        """
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
        """Return the characters of all tokens, and the position of the mark after each token."""
        # A line feed never combines with adjacent bytes into a character.
        ends = np.cumsum(self.lengths)
        data = np.insert(self.tokens.blob, ends, ord("\n")).tobytes()
        codes = _codes_of(bytetext.from_bytes(data)).copy()
        places = np.cumsum(bytetext.utf8_sizes(codes), dtype=np.int64) - 1
        marks = np.searchsorted(places, ends + np.arange(len(ends)))
        codes[marks] = _BETWEEN_TOKENS
        return codes, marks

    def _read_characters(self, codes: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64]) -> None:
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
        is_single = (highest == lowest) | (highest == COMMON)
        self.scripts = np.where(is_single, highest, MIXED).astype(np.uint8)
        self.scripts[self.partial] = BYTES

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.tokens)

    def row_of(self, token_id: int) -> int | None:
        """Return the row of an id, None if no token has it."""
        row = int(np.searchsorted(self.ids, token_id))
        return row if row < len(self.ids) and self.ids[row] == token_id else None

    def text(self) -> str:
        """Return the concatenated byte text of all tokens; `n_chars` has their lengths."""
        codes, _ = self._characters()
        return _text_of(codes[codes != _BETWEEN_TOKENS])

    @cached_property
    def text_order(self) -> npt.NDArray[np.int64]:
        """Position of every row when sorted by text, ignoring case and leading spaces."""
        places = np.empty(len(self), np.int64)
        places[self.folded.without_leading(b" ").order()] = np.arange(len(self))
        return places


def _rows_of(codes: npt.NDArray[np.uint32]) -> ByteRows:
    """Convert characters with a mark after each token to byte rows."""
    is_mark = codes == _BETWEEN_TOKENS
    sizes = np.where(is_mark, 0, bytetext.utf8_sizes(codes))
    lengths = np.diff(np.cumsum(sizes, dtype=np.int64)[is_mark], prepend=0)
    return ByteRows(bytetext.to_bytes(_text_of(codes[~is_mark])), lengths)


def _codes_of(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _text_of(codes: npt.NDArray[np.uint32]) -> str:
    return str(codes.tobytes(), "utf-32-le", "surrogatepass")


def fold(text: str) -> bytes:
    """Return the bytes of case-folded byte text."""
    return bytetext.to_bytes(text.casefold())
