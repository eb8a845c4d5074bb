"""Counting the tokens of many texts.

A text's tokens are those of its pieces, and most pieces come again and again: where the split
pattern has a compiled scanner, each different piece is encoded once, and the rest is looking up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from tokviz import bytetext
from tokviz.child.runner import JobClient, RunHandlers
from tokviz.pretokenize.scan import BATCH, Scanner, scanner_of
from tokviz.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORTH_COMPILING_BYTES = 4_000_000
"""Up to this size encoding is done before Numba is imported and its code loaded."""

MANY_BYTES = 40_000_000
"""From this size on it is worth having the loops compiled, should they not be."""

_WORTH_PREPARING_CHARS = 100_000
_PADDING = 8  # the kernels read words
_SLOTS = 1 << 20
_DATA_BYTES = 1 << 24


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


def token_counter(tokenizer: Tokenizer, n_bytes: int) -> TokenCounter:
    """Make the counter that is fastest for so many bytes, without waiting for a compiler."""
    scanner = scanner_of(tokenizer.split_pattern)
    if scanner is None or tokenizer.split_pattern.name == "none" or n_bytes < WORTH_COMPILING_BYTES:
        return EncodingCounter(tokenizer)
    from tokviz.bpe.compiled_counter import kernels_are_compiled

    return (
        PieceCounter(tokenizer, scanner) if kernels_are_compiled() else EncodingCounter(tokenizer)
    )


def compile_in_background() -> None:
    """Have the loops compiled by a child process, for this run if it is long, and for the next."""
    jobs = JobClient("compile_kernels", keeps_child=False)
    ignore = RunHandlers(lambda run, body: None, lambda run: None, lambda run, error: None)
    jobs.run(lambda memory: [{}], ignore)


class PieceCounter:
    """Counts by pieces, with compiled loops; exact. For one thread."""

    for_many = True

    def __init__(
        self,
        tokenizer: Tokenizer,
        scanner: Scanner,
        n_slots: int = _SLOTS,
        n_data_bytes: int = _DATA_BYTES,
    ) -> None:
        """Take the tokenizer, its scanner, and the size of the table of pieces.

        A full table is emptied, so memory is bounded.
        """
        import numpy as np

        tokenizer.prepare()
        self._tokenizer = tokenizer
        self._scanner = scanner
        self._slots = np.zeros((n_slots, 2), np.uint64)
        self._offsets = np.zeros(n_slots // 2 + 1, np.int64)
        self._data = np.zeros(n_data_bytes, np.uint8)
        self._n_tokens = np.zeros(n_slots // 2, np.int64)
        self._n_unique = 0
        self._numbers = np.zeros(BATCH, np.int64)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each byte text."""
        import numpy as np

        parts = [bytetext.to_bytes(text) for text in texts]
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        edges = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        filled = np.flatnonzero(lengths)
        totals = np.zeros(len(parts), np.int64)
        buffer = np.frombuffer(bytearray(b"".join(parts)) + bytes(_PADDING), np.uint8)
        starts, ends = edges[:-1][filled], edges[1:][filled]
        for pieces in self._scanner.batches(buffer, starts, ends):
            counts = self._look_up(buffer, pieces)
            text_of = np.searchsorted(edges, pieces[:, 0], side="right") - 1
            totals += np.bincount(text_of, weights=counts, minlength=len(parts)).astype(np.int64)
        return [int(n) for n in totals]

    def _look_up(self, buffer: NDArray[np.uint8], pieces: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the number of tokens of each piece."""
        import numpy as np

        from tokviz.bpe.counting_kernels import number

        counts = np.empty(len(pieces), np.int64)
        done = 0
        while done < len(pieces):
            known, first = self._n_unique, done
            done, self._n_unique = number(
                buffer,
                pieces,
                first,
                known,
                self._slots,
                self._offsets,
                self._data,
                self._numbers,
            )
            self._encode_new(known)
            counts[first:done] = self._n_tokens[self._numbers[first:done]]
            if done < len(pieces) and not self._n_unique:
                # No table is large enough for this piece.
                start, end = pieces[done]
                counts[done] = self._encode(buffer[start:end].tobytes())
                done += 1
            elif done < len(pieces):
                self._slots[:] = 0
                self._n_unique = 0
        return counts

    def _encode_new(self, known: int) -> None:
        for index in range(known, self._n_unique):
            piece = self._data[self._offsets[index] : self._offsets[index + 1]].tobytes()
            self._n_tokens[index] = self._encode(piece)

    def _encode(self, piece: bytes) -> int:
        text = bytetext.from_bytes(piece)
        return len(self._tokenizer.encode_byte_text(text, parse_specials=False))
