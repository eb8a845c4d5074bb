"""Counting the tokens of many texts.

A text's tokens are those of its pieces, and most pieces come again and again: where the split
pattern has a compiled scanner, each different piece is encoded once, and the rest is looking up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from tokviz import bytetext
from tokviz.child.runner import JobClient, RunHandlers
from tokviz.pretokenize.scan import Scanner, scanner_of
from tokviz.tokenizer import Tokenizer

WORTH_COMPILING_BYTES = 500_000
"""Up to this size encoding is done before the compiled loops are loaded."""

MANY_BYTES = 40_000_000
"""From this size on it is worth having the loops compiled, should they not be."""

MOST_PIECES = 2_000_000
"""How many different pieces are kept before all are forgotten."""

_WORTH_PREPARING_CHARS = 100_000
_LAST_CHARS = 100


class TokenCounter(Protocol):
    """Counts the tokens of plain texts: special tokens in them are text.

    Attributes:
        for_many: Whether it is made for many texts.
    """

    for_many: bool

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each byte text."""
        ...


class EncodingCounter:
    """Counts by encoding."""

    for_many = False

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take the tokenizer."""
        self._tokenizer = tokenizer
        self._n_chars = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each byte text."""
        if self._n_chars <= _WORTH_PREPARING_CHARS:
            self._n_chars += sum(map(len, texts))
            if self._n_chars > _WORTH_PREPARING_CHARS:
                self._tokenizer.prepare()
        encode = self._tokenizer.encode_byte_text
        return [len(encode(text, parse_specials=False)) for text in texts]


class SafeCuts:
    """Finds stretches of a text whose tokens are the same in whatever text they stand."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take the tokenizer."""
        safe_cut = tokenizer.split_pattern.safe_cut
        self._search = None if safe_cut is None else re.compile(safe_cut).search

    def block(self, text: str, n_chars: int) -> str:
        """Give a stretch of about so many characters, less where the text ends; "" if none."""
        first = None if self._search is None else self._search(text, 1)
        if self._search is None or first is None:
            return ""
        start = first.start()
        last = self._search(text, start + n_chars)
        if last is None:
            last = self._search(text, max(start, len(text) - _LAST_CHARS))
        return "" if last is None else text[start : last.start()]


def token_counter(tokenizer: Tokenizer, n_bytes: int) -> TokenCounter:
    """Make the counter that is fastest for so many bytes, without waiting for a compiler."""
    scanner = scanner_of(tokenizer.split_pattern)
    # Text is composed, and added white space recognised, before it is cut into pieces.
    first = tokenizer.nfc or tokenizer.specials.blank
    by_pieces = tokenizer.split_pattern.name != "none" and not first
    if scanner is None or not by_pieces or n_bytes < WORTH_COMPILING_BYTES:
        return EncodingCounter(tokenizer)
    from tokviz.bpe.compiled_counter import KERNELS

    if KERNELS.are_compiled():
        return PieceCounter(tokenizer, scanner)
    return EncodingCounter(tokenizer)


def compile_in_background() -> None:
    """Have the loops compiled by a child process, for this run if it is long, and for the next."""
    jobs = JobClient("compile_kernels", keeps_child=False)
    jobs.run(lambda memory: [{}], RunHandlers())


class PieceCounter:
    """Counts by pieces, with compiled loops; exact. For one thread."""

    for_many = True

    def __init__(
        self, tokenizer: Tokenizer, scanner: Scanner, most_pieces: int = MOST_PIECES
    ) -> None:
        """Take the tokenizer, its scanner, and how many pieces are kept."""
        from tokviz.bpe.piece_table import PieceTable

        tokenizer.prepare()
        self._tokenizer = tokenizer
        self._scanner = scanner
        self._most_pieces = most_pieces
        self._new_table = PieceTable
        self._table = PieceTable()

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each byte text."""
        if not texts:
            return []
        if len(self._table) > self._most_pieces:
            self._table = self._new_table()
        return self._table.sums(list(map(bytetext.to_bytes, texts)), self._scanner, self._encode)

    def _encode(self, piece: bytes) -> int:
        text = bytetext.from_bytes(piece)
        return len(self._tokenizer.encode_to_array(text, parse_specials=False))
