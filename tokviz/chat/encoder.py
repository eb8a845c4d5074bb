"""Encoding the texts of conversations, each only once.

Nearly all texts of a conversation are the same after a key as before, so their tokens are kept.
"""

from __future__ import annotations

import weakref
from array import array
from itertools import accumulate

from tokviz.errors import PatternError
from tokviz.pretokenize.tolerance import heard, report
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
        self._slow: dict[str, list[PatternError]] = {}
        """The pieces of kept texts on which the split pattern takes too long."""
        self._n_chars = 0

    def encode(self, text: str) -> array[int]:
        """Give the token ids of byte text; not to be changed.

        Raises:
            PatternError: If the split pattern takes too long, and nobody tolerates it.
        """
        found, slow = self._ids.get(text), self._slow.get(text)
        if found is not None:
            if slow:
                report(slow)
            return found
        tokenizer = self._tokenizer()
        assert tokenizer is not None
        with heard() as slow:
            ids = tokenizer.encode_to_array(text, parse_specials=False)
        self._n_chars += len(text)
        if self._n_chars > _KEPT_CHARS:
            self._ids.clear()
            self._ends.clear()
            self._slow.clear()
            self._n_chars = len(text)
        self._ids[text] = ids
        if slow:
            self._slow[text] = slow
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
                kept = self._ids.get(text)
                ids = self.encode(text) if kept is None else kept
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
