"""Encoding the texts of conversations, each only once.

Nearly all texts of a conversation are the same after a key as before, so their tokens are kept.
"""

from __future__ import annotations

import weakref
from array import array
from itertools import accumulate

from tokviz.tokenizer import Tokenizer

_KEPT_CHARS = 4_000_000
"""Characters of text whose tokens are kept for a tokenizer."""


class Encoder:
    """Encodes plain text (no special tokens in it) and keeps the newest results."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take the tokenizer."""
        # Not a strong reference: the tokenizer's encoder must not keep it alive.
        self._tokenizer = weakref.ref(tokenizer)
        self._ids: dict[str, array[int]] = {}
        self._ends: dict[str, array[int]] = {}
        self._n_chars = 0

    def encode(self, text: str) -> array[int]:
        """Give the token ids of byte text; not to be changed."""
        found = self._ids.get(text)
        if found is not None:
            return found
        tokenizer = self._tokenizer()
        assert tokenizer is not None
        ids = array("I", tokenizer.encode_byte_text(text, parse_specials=False))
        self._n_chars += len(text)
        if self._n_chars > _KEPT_CHARS:
            self._ids.clear()
            self._ends.clear()
            self._n_chars = len(text)
        self._ids[text] = ids
        return ids

    def ends(self, text: str) -> array[int]:
        """Give where each token of byte text ends, in bytes."""
        found = self._ends.get(text)
        if found is None:
            tokenizer = self._tokenizer()
            assert tokenizer is not None
            borders: array[int] | None = None
            if tokenizer.remote or tokenizer.nfc:
                ids, borders = tokenizer.encode_with_borders(text, parse_specials=False)
            else:
                ids = list(self.encode(text))
            lengths = (len(tokenizer.token_bytes(token_id)) for token_id in ids)
            found = array("I", accumulate(lengths)) if borders is None else borders[1:]
            self._ends[text] = found
        return found


_encoders: weakref.WeakKeyDictionary[Tokenizer, Encoder] = weakref.WeakKeyDictionary()


def encoder_of(tokenizer: Tokenizer) -> Encoder:
    """Give the encoder of a tokenizer, the same every time."""
    encoder = _encoders.get(tokenizer)
    if encoder is None:
        encoder = _encoders[tokenizer] = Encoder(tokenizer)
    return encoder
