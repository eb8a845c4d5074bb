"""Token ids as people paste them, and what they stand for.

>>> ids_in("[15339, 1917]")
[15339, 1917]
>>> ids_in("15339 1917 oranges") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokviz.errors import TokvizError

if TYPE_CHECKING:
    from tokviz.tokenizer import Tokenizer

_GAP, _ID = r"[\s,;\[\]()]", "[0-9]{1,18}"
_IDS = re.compile(f"{_GAP}*{_ID}(?:{_GAP}+{_ID})*{_GAP}*", re.ASCII)
_NUMBER = re.compile("[0-9]+")


def ids_in(text: str) -> list[int] | None:
    """Read a text that is nothing but numbers, with or without commas and brackets.

    Returns:
        The numbers; None if the text holds anything else, or no number.
    """
    if _IDS.fullmatch(text) is None:
        return None
    return list(map(int, _NUMBER.findall(text)))


def tokens_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[bytes]:
    """Give the bytes of each token of a text.

    Raises:
        TokenIdError: If an id is not in the vocabulary; it names the id and its position.
        TokvizError: If the text is not the bytes of its tokens, one after another.
    """
    data = tokenizer.decode_bytes(ids)
    tokens = list(map(tokenizer.token_bytes, ids))
    if tokenizer.remote and b"".join(tokens) != data:
        raise TokvizError(
            f"{tokenizer.name} decodes ids together: no part of the text belongs to one token"
        )
    return tokens
