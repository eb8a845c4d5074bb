"""Hues that follow from the ids alone, for tokens that change everywhere at once.

A live document keeps the hue of every token through edits (`tokviz.live.hues`). Where the whole
text is tokenized anew in every frame, as in a replay, a token's hue is that of its id, so that a
token looks the same wherever it stands and whenever it is there; only where it would be that of the
token before, it takes the next one.
"""

from __future__ import annotations

from typing import Protocol

from tokviz.live.hues import N_HUES

_LOOK_BACK = 64


class Ids(Protocol):
    """Token ids in a list, a tuple or an array."""

    def __getitem__(self, index: int, /) -> int:
        """Give the id of a token."""
        ...


def hues_of(ids: Ids, first: int, last: int) -> list[int]:
    """Choose the hues of the tokens `first` to `last`, the same ones whatever the range is.

    Neighbours never share one. In a long run of tokens that all depend on the one before, the
    choice is made from at most 64 tokens before the first.

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
