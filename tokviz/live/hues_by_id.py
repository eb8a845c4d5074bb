"""Hues computed from token ids alone, for texts that are tokenized again in every frame.

A live document keeps the hue of every token through edits (`tokviz.live.hues`). In a replay, each
frame tokenizes the whole text again, so a token's hue follows from its id: the token looks the same
everywhere and in every frame. Only if the previous token has that hue does it take the next one.
"""

from __future__ import annotations

from typing import Protocol

from tokviz.live.hues import N_HUES

_LOOK_BACK = 64


class Ids(Protocol):
    """Token ids in a list, a tuple or an array."""

    def __getitem__(self, index: int, /) -> int:
        """Return the id of a token."""
        ...


def hues_of(ids: Ids, first: int, last: int) -> list[int]:
    """Return the hues of the tokens `first` to `last`, independent of the range.

    Neighbors never share one. In a long run of tokens that each depend on the one before, the
    choice considers at most 64 tokens before the first.
    >>> hues_of([7, 7, 7, 8], 0, 4)
    [1, 2, 1, 2]
    """
    if first >= last:
        return []
    start = first
    while start and first - start < _LOOK_BACK:
        hue, before = ids[start] % N_HUES, ids[start - 1] % N_HUES
        if hue not in (before, (before + 1) % N_HUES):
            break
        start -= 1
    hues: list[int] = []
    previous = -1
    for index in range(start, last):
        hue = int(ids[index]) % N_HUES
        if hue == previous:
            hue = (hue + 1) % N_HUES
        hues.append(hue)
        previous = hue
    return hues[first - start :]
