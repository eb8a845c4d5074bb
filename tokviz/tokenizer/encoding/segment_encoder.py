"""Encoding with compiled loops, or in Python for short texts, one pre-token at a time.

Python also handles the few vocabularies that are too large for the compiled loops.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache, partial
from itertools import accumulate, islice
from threading import Lock
from typing import TYPE_CHECKING, Any

from tokviz.errors import VocabularyError
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.encoded import Encoded, Segments, ToBytes, pre_token_ends
from tokviz.tokenizer.encoding.merging import merge_pre_token
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.split import split

if TYPE_CHECKING:
    from tokviz.tokenizer.encoding.bulk import BulkEncoder
    from tokviz.tokenizer.encoding.packed import Tables

SHORT_TEXT = 4096
"""Up to this many characters, Python is faster than loading compiled code and its tables."""

_CACHED_PRE_TOKENS = 8192
_LONGEST_CACHED_PRE_TOKEN = 64


class SegmentEncoder:
    """Encodes with a vocabulary and any split pattern. Threads may share it."""

    def __init__(self, tables: Tables, *, whole: bool) -> None:
        """Create an encoder.

        Args:
            tables: The vocabulary and its merges.
            whole: Whether a pre-token that is a token is encoded as that token without merging.
        """
        self._tables, self._whole = tables, whole
        self._lock = Lock()
        self._compiled: BulkEncoder | None = None
        self._is_prepared = False
        self._pre_tokens: dict[bytes, list[int]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling without the caches."""
        return partial(SegmentEncoder, whole=self._whole), (self._tables,)

    @property
    def content(self) -> tuple[object, ...]:
        """All that the tokens of a text depend on."""
        return self._whole, self._tables.content

    def encode(
        self,
        pattern: SplitPattern,
        segments: Segments,
        n_chars: int,
        *,
        with_ends: bool = False,
        to_bytes: ToBytes = bytetext.to_bytes,
    ) -> Encoded:
        """Encode texts of about `n_chars` characters in total; see `BulkEncoder.encode`.

        Args:
            pattern: The split pattern.
            segments: The texts; special tokens between them are not encoded.
            n_chars: Approximate total length in characters.
            with_ends: Whether to return the ends of tokens and pre-tokens.
            to_bytes: The conversion of byte text, or `str.encode`, which rejects surrogates.

        Raises:
            VocabularyError: If a byte of a text has no token.
            PatternError: If the pattern is a custom one and fails.
            UnicodeEncodeError: If `to_bytes` raises it.
        """
        if n_chars > SHORT_TEXT and not self._is_prepared:
            self.prepare()
        if self._compiled is not None:
            return self._compiled.encode(
                pattern, segments, n_chars, with_ends=with_ends, to_bytes=to_bytes
            )
        encoded, at, length = Encoded.none(), 0, cache(self._length)
        for text, special in segments:
            n_bytes = len(to_bytes(text))
            if not special:
                ids = self._encode_pre_tokens(pattern, text)
                encoded.ids.extend(ids)
                encoded.after.append(len(encoded.ids))
                if with_ends:
                    ends = accumulate(map(length, ids), initial=at)
                    encoded.token_borders.extend(islice(ends, 1, None))
                    encoded.pre_token_borders.extend(pre_token_ends(pattern, text, at))
            at += n_bytes
        return encoded

    def prepare(self) -> None:
        """Load the compiled loops and build their tables now."""
        with self._lock:
            if not self._is_prepared:
                from tokviz.tokenizer.encoding.bulk import BulkEncoder

                self._compiled = BulkEncoder.of(self._tables.columns(), whole=self._whole)
                self._is_prepared = True

    def _encode_pre_tokens(self, pattern: SplitPattern, text: str) -> Sequence[int]:
        ids = array("I")
        for start, end in split(pattern, text).spans():
            ids.extend(self._encode_pre_token(bytetext.to_bytes(text[start:end])))
        return ids

    def _encode_pre_token(self, pre_token: bytes) -> list[int]:
        known = self._pre_tokens.get(pre_token)
        if known is not None:
            return known
        id_of = self._tables.id_of
        is_token = self._whole and id_of(pre_token) is not None
        ids: list[int] = []
        for token in (
            [pre_token] if is_token else merge_pre_token(pre_token, self._tables.pair_rank)
        ):
            token_id = id_of(token)
            if token_id is None:
                raise VocabularyError(f"the byte 0x{token[0]:02x} has no token in this vocabulary")
            ids.append(token_id)
        if len(pre_token) <= _LONGEST_CACHED_PRE_TOKEN:
            if len(self._pre_tokens) >= _CACHED_PRE_TOKENS:
                for old in list(islice(self._pre_tokens, _CACHED_PRE_TOKENS // 2)):
                    self._pre_tokens.pop(old, None)
            self._pre_tokens[pre_token] = ids
        return ids

    def _length(self, token_id: int) -> int:
        return len(self._tables.token(token_id) or b"")
