"""Encoding: by compiled loops as soon as they are there, else piece by piece in Python.

With ranks (`.tiktoken`) tiktoken stands in for the loops meanwhile, for a long text, if it can: its
regex engine gives up on some texts, and takes none with bytes that are not UTF-8.
"""

from __future__ import annotations

import re
import time
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, islice
from threading import Lock
from typing import TYPE_CHECKING

from tokviz import bytetext
from tokviz.encoding.encoded import Encoded, Segments, piece_ends
from tokviz.encoding.merging import merge_piece
from tokviz.errors import VocabularyError
from tokviz.pretokenize.patterns import SplitPattern
from tokviz.pretokenize.split import split

if TYPE_CHECKING:
    from tokviz.encoding.bulk import BulkEncoder
    from tokviz.encoding.packed import Tables

SHORT_TEXT = 4096
"""Characters up to which a text is not worth loading compiled code or building tables."""

MOST_TOKENS_OF_TIKTOKEN = 1_000_000
"""Three times the largest vocabulary in use; tiktoken takes 400 bytes for each of its tokens."""

_WORTH_COMPILING = 1 << 26  # characters: any other way takes as long
_SECONDS_BETWEEN_LOOKS = 10.0
_CACHED_PIECES = 65_536
_LONGEST_CACHED_PIECE = 64

# tiktoken's regex engine keeps one backtracking state a character of white space and gives up at
# a million; it prints a stack trace before it raises, so such a text must never reach it.
_LONG_WHITE_SPACE = re.compile(r"\s{100000}")
_LONGEST_SAFE_TEXT = 100_000


class Encoder:
    """Encodes with a vocabulary and any split pattern. Threads may share it."""

    def __init__(self, tables: Tables, pattern: SplitPattern, *, whole: bool) -> None:
        """Take what to encode with.

        Args:
            tables: The vocabulary and its merges.
            pattern: The split pattern of most texts: tiktoken's tables are built for it alone.
            whole: Whether a piece that is a token becomes it without merging.
        """
        self._tables, self._whole, self._pattern = tables, whole, pattern
        self._lock = Lock()
        self._compiled: BulkEncoder | None = None
        self._next_look = 0.0
        self._by_tiktoken: Callable[[str], Sequence[int]] | None = None
        self._pieces: dict[bytes, list[int]] = {}

    def encode(
        self, pattern: SplitPattern, found: Segments, n_chars: int, *, with_ends: bool = False
    ) -> Encoded:
        """Encode texts of about `n_chars` characters together; see `BulkEncoder.encode`.

        Raises:
            VocabularyError: If a text holds a byte that has no token.
            PatternError: If it is a custom pattern, and fails.
        """
        compiled = self.compiled(n_chars)
        if compiled is not None:
            return compiled.encode(pattern, found, with_ends=with_ends)
        encoded, at, length = Encoded.none(), 0, cache(self._length)
        is_worth_it = n_chars > SHORT_TEXT or self._by_tiktoken is not None
        by_tiktoken = self._tiktoken() if is_worth_it and pattern == self._pattern else None
        for text, special in found:
            if not special:
                if by_tiktoken is None or _beyond_tiktoken(text):
                    ids = self._encode_pieces(pattern, text)
                else:
                    ids = by_tiktoken(text)
                encoded.ids.extend(ids)
                encoded.after.append(len(encoded.ids))
                if with_ends:
                    ends = accumulate(map(length, ids), initial=at)
                    encoded.token_ends.extend(islice(ends, 1, None))
                    encoded.piece_ends.extend(piece_ends(pattern, text, at))
            at += bytetext.n_bytes(text)
        return encoded

    def prepare(self) -> None:
        """Build now what a long text needs; tiktoken's tables, which take longer, if they must."""
        if self.compiled(SHORT_TEXT + 1) is None:
            self._tiktoken()

    def compiled(self, n_chars: int) -> BulkEncoder | None:
        """Give the compiled loops for a text of this length; None if another way is to be taken.

        For a very long text the loops are compiled if they are not yet.
        """
        if self._compiled is None and n_chars > SHORT_TEXT:
            with self._lock:
                self._look(n_chars >= _WORTH_COMPILING)
        return self._compiled

    def _look(self, worth_compiling: bool) -> None:
        is_due = worth_compiling or time.monotonic() >= self._next_look
        if self._compiled is not None or not is_due:
            return
        from tokviz.encoding import bulk

        if worth_compiling or bulk.KERNELS.are_compiled():
            self._compiled = bulk.BulkEncoder.of(self._tables.columns(), whole=self._whole)
        self._next_look = time.monotonic() + _SECONDS_BETWEEN_LOOKS

    def _encode_pieces(self, pattern: SplitPattern, text: str) -> Sequence[int]:
        ids = array("I")
        for start, end in split(pattern, text).spans():
            ids.extend(self._encode_piece(bytetext.to_bytes(text[start:end])))
        return ids

    def _encode_piece(self, piece: bytes) -> list[int]:
        known = self._pieces.get(piece)
        if known is not None:
            return known
        id_of = self._tables.id_of
        is_token = self._whole and id_of(piece) is not None
        ids: list[int] = []
        for token in [piece] if is_token else merge_piece(piece, self._tables.pair_rank):
            token_id = id_of(token)
            if token_id is None:
                raise VocabularyError(f"the byte 0x{token[0]:02x} has no token in this vocabulary")
            ids.append(token_id)
        if len(piece) <= _LONGEST_CACHED_PIECE:
            if len(self._pieces) >= _CACHED_PIECES:
                for old in list(islice(self._pieces, _CACHED_PIECES // 2)):
                    self._pieces.pop(old, None)
            self._pieces[piece] = ids
        return ids

    def _length(self, token_id: int) -> int:
        return len(self._tables.token(token_id) or b"")

    def _tiktoken(self) -> Callable[[str], Sequence[int]] | None:
        """Give tiktoken's way to encode a text, None where it has none.

        Only patterns that are known to leave no gap may be left to it: it drops the text in gaps.
        """
        pattern, tables = self._pattern, self._tables
        can = tables.by_ranks and pattern.gapless and pattern.name != "none"
        if not can or tables.ids()[-1] >= MOST_TOKENS_OF_TIKTOKEN:
            return None
        with self._lock:
            if self._by_tiktoken is None:
                import tiktoken

                ranks = dict(zip(tables.tokens(), tables.ids(), strict=True))
                self._by_tiktoken = tiktoken.Encoding(
                    "tokviz", pat_str=pattern.regex, mergeable_ranks=ranks, special_tokens={}
                ).encode_ordinary
        return self._by_tiktoken


def _beyond_tiktoken(text: str) -> bool:
    if bytetext.has_raw_bytes(text):
        return True
    # So long a run fills such a stretch; the search alone would keep the interpreter for long.
    half = _LONGEST_SAFE_TEXT // 2
    return (
        len(text) >= _LONGEST_SAFE_TEXT
        and any(text[start : start + half].isspace() for start in range(0, len(text), half))
        and _LONG_WHITE_SPACE.search(text) is not None
    )
