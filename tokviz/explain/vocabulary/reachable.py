r"""Tokens that encoding never produces.

A token is called unreachable if encoding its own bytes yields other tokens. Source: Land and
Bartolo, "Fishing for Magikarp: Automatically Detecting Under-trained Tokens in Large Language
Models" (2024), section 2. This module also tries two other cases:

- A token that the split pattern cuts when alone may be whole within a longer pre-token, such as
  "\n//" after a bracket in o200k_base. So it is also tried between several kinds of characters.
- A token with a part of a character is never a text by itself. It counts as reachable if the merges
  produce it from its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice

import numpy as np
import numpy.typing as npt

from tokviz.errors import PatternError, TokvizError
from tokviz.explain.vocabulary.index import Cancelled, VocabularyIndex, never
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.merging import merge_pre_token
from tokviz.tokenizer.pretokenize.guard import split_ahead

_SLICE = 512
_GROUP = 16
_LONGEST = 65_536
_BEFORE = (b"", b"a", b"A", b"1", b" ", b"}", b"~", b"\n", "\u4e16".encode())
_AFTER = (b"", b"a", b"s", b"t", b"ll", b"1", b" ", b"}", b"\n")


def unreachable_rows(
    index: VocabularyIndex, *, cancelled: Callable[[], bool] = never
) -> npt.NDArray[np.bool_]:
    """Try every token; takes seconds for a large vocabulary.

    Args:
        index: The vocabulary.
        cancelled: Called regularly; the work ends once it returns True.

    Returns:
        Whether each row's token is unreachable; special tokens never are. Shape (n,).

    Raises:
        Cancelled: If it was.
        PatternError: If the split pattern takes too long on a token.
    """
    index.tokenizer.prepare()
    unreachable = np.zeros(len(index), bool)
    for start in range(0, len(index), _SLICE):
        if cancelled():
            raise Cancelled
        rows = range(start, min(start + _SLICE, len(index)))
        tried = [
            row for row in rows if not index.special[row] and 1 < len(index.tokens[row]) <= _LONGEST
        ]
        alone = {row: [index.tokens[row]] for row in tried if not index.partial[row]}
        left = _never_whole(index, alone)
        for first in range(0, len(left), _GROUP):
            if cancelled():
                raise Cancelled
            among = {row: _among_others(index.tokens[row]) for row in left[first : first + _GROUP]}
            unreachable[_never_whole(index, among)] = True
        for row in tried:
            if index.partial[row]:
                token = index.tokens[row]
                unreachable[row] = merge_pre_token(token, index.tokenizer.pair_rank) != [token]
    return unreachable


def _among_others(token: bytes) -> list[bytes]:
    return [before + token + after for before in _BEFORE for after in _AFTER]


def _never_whole(index: VocabularyIndex, texts_of: Mapping[int, list[bytes]]) -> list[int]:
    """Return the rows whose token is not in the encoding of any of their texts.

    Raises:
        PatternError: If the split pattern takes too long on one of them.
    """
    tok, left = index.tokenizer, []
    all_texts = [bytetext.from_bytes(text) for texts in texts_of.values() for text in texts]
    with split_ahead(tok.split_pattern, all_texts):
        if not tok.split_pattern.guarded:
            with suppress(TokvizError):  # then encode them one by one
                encoded = tok.byte_text.encode_all(all_texts, "none")
                return [
                    row
                    for row, texts in texts_of.items()
                    if not any([int(index.ids[row]) in ids for ids in islice(encoded, len(texts))])
                ]
        for row, texts in texts_of.items():
            token_id = int(index.ids[row])
            try:
                if not any(token_id in tok.encode_bytes(text, "none") for text in texts):
                    left.append(row)
            except PatternError:
                raise
            except TokvizError:  # a byte without a token
                left.append(row)
    return left
