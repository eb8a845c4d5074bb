"""Token ids as pasted by users, and the tokens they refer to.

>>> ids_in("[15339, 1917]")
[15339, 1917]
>>> ids_in("15339 1917 oranges") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tokviz.errors import TokenIdError, TokvizError
from tokviz.text.sentences import sentence

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

_GAP, _ID = r"[\s,;\[\]()]", "[0-9]{1,18}"
_IDS = re.compile(f"{_GAP}*{_ID}(?:{_GAP}+{_ID})*{_GAP}*", re.ASCII)
_NUMBER = re.compile("[0-9]+")


def ids_in(text: str) -> list[int] | None:
    """Parse a text that consists of numbers only, with or without commas and brackets.

    Returns:
        The numbers; None if the text contains anything else, or no number.
    """
    if _IDS.fullmatch(text) is None:
        return None
    return list(map(int, _NUMBER.findall(text)))


def tokens_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[bytes]:
    """Return the bytes of each token of a text.

    Raises:
        TokenIdError: If an id is not in the vocabulary; it names the id and its position.
        TokvizError: If the decoded text is not the concatenation of its tokens.
    """
    data = tokenizer.decode_bytes(ids)
    tokens = list(map(tokenizer.token_bytes, ids))
    if tokenizer.remote and b"".join(tokens) != data:
        raise TokvizError(
            f"{tokenizer.name} decodes ids only together: its text cannot be divided into tokens"
        )
    return tokens


class IdToken(NamedTuple):
    """An id and its token.

    Attributes:
        number: Which of the ids it is, from 0.
        token_id: The id.
        token: The bytes of its token; None if there is no such token.
        special: Whether it is a special token.
    """

    number: int
    token_id: int
    token: bytes | None
    special: bool


class DecodedIds(NamedTuple):
    """The result of decoding ids.

    Attributes:
        tokens: The token of each id.
        data: The bytes of the text; None if an id does not exist.
        problem: The first missing id, and the number of missing ones; empty if all exist.
    """

    tokens: tuple[IdToken, ...]
    data: bytes | None
    problem: str


def decoded(tokenizer: Tokenizer, ids: Sequence[int]) -> DecodedIds:
    """Decode ids, of which some may not exist."""
    known = {token_id: tokenizer.bytes_of(token_id) for token_id in set(ids)}
    tokens = tuple(
        IdToken(number, token_id, known[token_id], tokenizer.is_special(token_id))
        for number, token_id in enumerate(ids)
    )
    missing = [row for row in tokens if row.token is None]
    if not missing:
        return DecodedIds(tokens, tokenizer.decode_bytes(ids), "")
    first = missing[0]
    error = TokenIdError(first.token_id, tokenizer.name, tokenizer.n_vocab, first.number)
    more = f" {len(missing):,} of the ids have no token." if len(missing) > 1 else ""
    return DecodedIds(tokens, None, sentence(str(error)) + more)
