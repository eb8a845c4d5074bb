"""Vocabularies given as ranks (`.tiktoken`): any two neighbours merge whose concatenation has one.

Where nothing is compiled (see `tokviz.encoding.bulk`) tiktoken does the work. What it cannot do is
done here, with the same result: text on which its regex engine gives up, bytes that are not UTF-8,
and the first short text, which need not wait until tiktoken's tables are built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from threading import Lock
from typing import Protocol

from tokviz import bytetext
from tokviz.encoding.encoded import SHORT_TEXT, Bulk, Columns
from tokviz.encoding.merging import merge_piece
from tokviz.encoding.model import Merge
from tokviz.errors import VocabularyError
from tokviz.pretokenize.patterns import SplitPattern
from tokviz.pretokenize.split import split

MOST_TOKENS_OF_TIKTOKEN = 1_000_000
"""Three times the largest vocabulary in use; tiktoken takes 400 bytes for each of its tokens."""

# tiktoken's regex engine keeps one backtracking state a character of white space and gives up at
# a million; it prints a stack trace before it raises, so such a text must never reach it.
_LONG_WHITE_SPACE = re.compile(r"\s{100000}")
_LONGEST_SAFE_TEXT = 100_000
_CACHED_PIECES = 65_536
_ONE_PIECE = r"[\s\S]+"


class RankSource(Protocol):
    """Where the tokens come from.

    Attributes:
        n_tokens: One more than the largest rank.
    """

    n_tokens: int

    def ids(self) -> Sequence[int]:
        """List the ranks that tokens have, ascending."""
        ...

    def token(self, rank: int) -> bytes:
        """Give the bytes of a rank below `n_tokens`; none if no token has it."""
        ...

    def get(self, token: bytes) -> int | None:
        """Find a token's rank, None if it is not in the vocabulary."""
        ...

    def tokens(self) -> list[bytes]:
        """List all tokens by rank; a gap is an empty one."""
        ...

    def columns(self) -> Columns:
        """Give the tokens as compiled code takes them."""
        ...


class RankModel:
    """Byte pair encoding by the ranks of concatenations; a token's id is its rank."""

    def __init__(self, source: RankSource, split_pattern: SplitPattern) -> None:
        """Take the tokens and the split pattern.

        Raises:
            VocabularyError: If one of the 256 single bytes has no token.
        """
        missing = [byte for byte in range(256) if source.get(bytes([byte])) is None]
        if missing:
            raise VocabularyError(
                f"{len(missing)} of the 256 single bytes have no token, first 0x{missing[0]:02x}"
            )
        self.source = source
        self._pattern = split_pattern
        self.bulk = Bulk(source, whole=True)
        self._lock = Lock()
        self._core: _Core | None = None
        self._short_pieces: dict[bytes, list[int]] = {}
        self._merge_of: dict[int, Merge | None] = {}
        self._merges: list[Merge] | None = None
        self._pieces_of: RankModel | None = None

    def token(self, token_id: int) -> bytes | None:
        """Give a token's bytes, None if there is no such id."""
        return self.source.token(token_id) or None if self._in_range(token_id) else None

    def _in_range(self, token_id: int) -> bool:
        return 0 <= token_id < self.source.n_tokens

    def tokens(self) -> list[bytes]:
        """List all tokens by rank."""
        return self.source.tokens()

    def id_of(self, token: bytes) -> int | None:
        """Give a token's id, None if there is no such token."""
        return self.source.get(token)

    def ids(self) -> Sequence[int]:
        """List every id, ascending."""
        return self.source.ids()

    def rank(self, token_id: int) -> int | None:
        """Give a token's rank: its id."""
        return token_id if self.token(token_id) is not None else None

    def first_rank(self, token_id: int) -> int | None:
        """Give a token's rank: its id."""
        return self.rank(token_id)

    def pair_rank(self, left: bytes, right: bytes) -> int | None:
        """Give the rank of the concatenation, None if it is no token."""
        return self.source.get(left + right)

    def merge_of(self, token_id: int) -> Merge | None:
        """Recover the merge that makes a token: its bytes, merged by lower ranks only.

        Source: `recover_merges` in karpathy/minbpe `gpt4.py`.

        Returns:
            The two tokens; None for a single byte and for a token that no merge reaches.
        """
        if token_id not in self._merge_of:
            token = self.source.token(token_id)
            parts = merge_piece(token, self.pair_rank, below=token_id)
            self._merge_of[token_id] = (parts[0], parts[1]) if len(parts) == 2 else None
        return self._merge_of[token_id]

    def merges(self) -> list[Merge]:
        """Recover all merges, lowest rank first. Takes seconds for a large vocabulary, once."""
        if self._merges is None:
            tokens = self.source.tokens()
            rank_of = {token: rank for rank, token in enumerate(tokens) if token}.get

            def pair_rank(left: bytes, right: bytes) -> int | None:
                return rank_of(left + right)

            self._merges = []
            for rank, token in enumerate(tokens):
                parts = merge_piece(token, pair_rank, below=rank) if len(token) > 1 else ()
                if len(parts) == 2:
                    self._merges.append((parts[0], parts[1]))
        return self._merges

    def encode(self, text: str) -> list[int]:
        """Encode byte text that holds no special token."""
        if self._pieces_of is not None:
            return self._encode_pieces(text, self._pieces_of._encode_any_piece)
        too_many = self.source.n_tokens > MOST_TOKENS_OF_TIKTOKEN
        if too_many or (self._core is None and len(text) <= SHORT_TEXT):
            return self._encode_pieces(text, self._encode_short_piece)
        core = self._built()
        if core.encode is not None and not _beyond_tiktoken(text):
            return core.encode(text)
        return self._encode_pieces(text, core.encode_piece)

    def prepare(self) -> None:
        """Build tables now; tiktoken's, for which other threads wait, only if it must be."""
        if not self.bulk.prepare() and self.source.n_tokens <= MOST_TOKENS_OF_TIKTOKEN:
            self._built()

    def with_pattern(self, split_pattern: SplitPattern) -> RankModel:
        """Make a model of the same vocabulary that cuts text by another pattern.

        It has no tables of its own: tiktoken's would take longer to build than most texts take.
        """
        made = RankModel.__new__(RankModel)
        made.__dict__.update(self.__dict__)
        made._pattern, made._pieces_of = split_pattern, self
        return made

    def _encode_pieces(self, text: str, encode_piece: Callable[[bytes], list[int]]) -> list[int]:
        ids: list[int] = []
        for start, end in split(self._pattern, text).spans():
            ids.extend(encode_piece(bytetext.to_bytes(text[start:end])))
        return ids

    def _encode_short_piece(self, piece: bytes) -> list[int]:
        known = self._short_pieces.get(piece)
        if known is not None:
            return known
        whole = self.source.get(piece)
        tokens = [piece] if whole is not None else merge_piece(piece, self.pair_rank)
        ids = [rank for token in tokens if (rank := self.source.get(token)) is not None]
        if len(self._short_pieces) >= _CACHED_PIECES:
            for old in list(islice(self._short_pieces, _CACHED_PIECES // 2)):
                self._short_pieces.pop(old, None)
        self._short_pieces[piece] = ids
        return ids

    def _encode_any_piece(self, piece: bytes) -> list[int]:
        known = self._short_pieces.get(piece)
        if known is not None:
            return known
        if self._core is None and len(piece) <= SHORT_TEXT:
            return self._encode_short_piece(piece)
        return self._built().encode_piece(piece)

    def _built(self) -> _Core:
        if self._core is None:
            with self._lock:
                if self._core is None:
                    self._core = _Core(self.source.tokens(), self._pattern)
        return self._core


class _Core:
    """tiktoken's tables for a vocabulary.

    Attributes:
        encode: Encodes text that tiktoken can split; None if it cannot split by this pattern.
    """

    def __init__(self, tokens: list[bytes], pattern: SplitPattern) -> None:
        import tiktoken

        # Only patterns that are known to leave no gap may be left to tiktoken, which would drop
        # the text in the gaps. One piece of any length needs no regex at all.
        by_tiktoken = pattern.gapless and pattern.name != "none"
        ranks = {token: rank for rank, token in enumerate(tokens) if token}

        def encoding(regex_text: str) -> tiktoken.Encoding:
            return tiktoken.Encoding(
                "tokviz", pat_str=regex_text, mergeable_ranks=ranks, special_tokens={}
            )

        by_pieces = encoding(pattern.regex if by_tiktoken else _ONE_PIECE)
        self.encode: Callable[[str], list[int]] | None = (
            by_pieces.encode_ordinary if by_tiktoken else None
        )
        self._encode_single_piece: Callable[[bytes], list[int]] = by_pieces._encode_single_piece
        self._one_piece = cache(lambda: encoding(_ONE_PIECE) if by_tiktoken else by_pieces)

    def encode_piece(self, piece: bytes) -> list[int]:
        """Encode the bytes of one piece."""
        if len(piece) > SHORT_TEXT:
            # The other function keeps the interpreter from all threads meanwhile.
            with suppress(UnicodeDecodeError):
                return self._one_piece().encode_ordinary(piece.decode())
        return self._encode_single_piece(piece)


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
