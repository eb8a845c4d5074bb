r"""Tokens that encoding does not give.

A token is called unreachable if encoding its own bytes gives other tokens. Source: Land and
Bartolo, "Fishing for Magikarp: Automatically Detecting Under-trained Tokens in Large Language
Models" (2024), section 2. Two kinds of token get another chance here:

- One that the split pattern cuts where it stands alone may still be whole inside a longer piece:
  "\n//" behind a bracket in o200k_base. So it is also tried between a few kinds of character.
- One that holds a part of a character stands alone in no text. It counts as reachable if the merges
  make it from its bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tokviz.encoding.merging import merge_piece
from tokviz.errors import TokvizError
from tokviz.vocabulary.index import Cancelled, VocabularyIndex, never

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_SLICE = 512
_LONGEST = 65_536
_BEFORE = (b"", b"a", b"A", b"1", b" ", b"}", b"~", b"\n", "\u4e16".encode())
_AFTER = (b"", b"a", b"s", b"t", b"ll", b"1", b" ", b"}", b"\n")


def unreachable_rows(
    index: VocabularyIndex,
    *,
    cancelled: Callable[[], bool] = never,
    progress: Callable[[float], object] = lambda share: None,
) -> npt.NDArray[np.bool_]:
    """Try every token; takes seconds for a large vocabulary.

    Args:
        index: The vocabulary.
        cancelled: Asked now and then; True ends the work.
        progress: Told the share that is done, 0 to 1.

    Returns:
        Whether each row's token is unreachable; special tokens are not. Shape (n,).

    Raises:
        Cancelled: If it was.
    """
    import numpy as np

    # Single tokens need no tables of the tokenizer, and building those would stop every thread.
    found = np.zeros(len(index), bool)
    for start in range(0, len(index), _SLICE):
        if cancelled():
            raise Cancelled
        progress(start / len(index))
        for row in range(start, min(start + _SLICE, len(index))):
            if not index.special[row] and len(index.tokens[row]) > 1:
                found[row] = not _is_reachable(index, row)
    return found


def _is_reachable(index: VocabularyIndex, row: int) -> bool:
    token, tok = index.tokens[row], index.tokenizer
    if len(token) > _LONGEST:
        return True
    if index.partial[row]:
        return merge_piece(token, tok.pair_rank) == [token]
    token_id = int(index.ids[row])
    try:
        return tok.encode_bytes(token, "none") == [token_id] or any(
            token_id in tok.encode_bytes(before + token + after, "none")
            for before in _BEFORE
            for after in _AFTER
        )
    except TokvizError:  # a byte without a token
        return False
