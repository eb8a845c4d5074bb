"""Which tokens a token is merged into."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tokviz.vocabulary.index import Cancelled, VocabularyIndex, never

MOST_CHILDREN = 400
"""Children of one token that are listed."""
_MOST_SECONDS = 2.0
_SLICE = 64


@dataclass(frozen=True, slots=True)
class Children:
    """The tokens that are made by a merge of this one with another.

    Attributes:
        ids: Their ids, ascending.
        complete: Whether these are all; the search ends after many, or after two seconds.
    """

    ids: tuple[int, ...]
    complete: bool


def children_of(
    index: VocabularyIndex, row: int, *, cancelled: Callable[[], bool] = never
) -> Children:
    """Find the tokens whose merge has this token for a part.

    Only tokens that begin or end with its bytes can be; of those each one's merge is looked up, or
    recovered where only ranks are given.

    Raises:
        Cancelled: If it was.
    """
    import numpy as np

    token, tok = index.tokens[row], index.tokenizer
    if index.special[row] or not token:
        return Children((), True)
    near = index.tokens.starting_with(token) | index.tokens.ending_with(token)
    candidates = np.flatnonzero(near & ~index.special & (index.lengths > len(token)))
    deadline = time.monotonic() + _MOST_SECONDS
    found: list[int] = []
    for number, candidate in enumerate(candidates.tolist()):
        if number % _SLICE == 0:
            if cancelled():
                raise Cancelled
            if time.monotonic() > deadline:
                return Children(tuple(found), False)
        token_id = int(index.ids[candidate])
        merge = tok.merge_of(token_id)
        if merge is not None and token in merge:
            if len(found) == MOST_CHILDREN:
                return Children(tuple(found), False)
            found.append(token_id)
    return Children(tuple(found), True)
