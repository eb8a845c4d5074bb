"""Tokens that a merge makes from a given token."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tokviz.explain.vocabulary.index import Cancelled, VocabularyIndex, never

MOST_CHILDREN = 400
"""Maximum number of children of a token that are listed."""
_MOST_SECONDS = 2.0
_SLICE = 64


@dataclass(frozen=True, slots=True)
class Children:
    """The tokens that merges make from a token and another one.

    Attributes:
        ids: Their ids, ascending.
        complete: Whether these are all; the search stops after many, or after two seconds.
    """

    ids: tuple[int, ...]
    complete: bool


def children_of(
    index: VocabularyIndex, row: int, *, cancelled: Callable[[], bool] = never
) -> Children:
    """Find the tokens whose merge has this token as a part.

    Candidates start or end with its bytes; the merge of each is looked up, or recovered from ranks
    if there is no merge list.

    Raises:
        Cancelled: If `cancelled` returned True.
    """
    token, tok = index.tokens[row], index.tokenizer
    if index.special[row] or not token:
        return Children((), True)
    near = index.tokens.starting_with(token) | index.tokens.ending_with(token)
    candidates = np.flatnonzero(near & ~index.special & (index.lengths > len(token)))
    deadline = time.monotonic() + _MOST_SECONDS
    children: list[int] = []
    for number, candidate in enumerate(candidates.tolist()):
        if number % _SLICE == 0:
            if cancelled():
                raise Cancelled
            if time.monotonic() > deadline:
                return Children(tuple(children), False)
        token_id = int(index.ids[candidate])
        merge = tok.merge_of(token_id)
        if merge is not None and token in merge:
            if len(children) == MOST_CHILDREN:
                return Children(tuple(children), False)
            children.append(token_id)
    return Children(tuple(children), True)
