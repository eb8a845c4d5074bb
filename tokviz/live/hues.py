"""Sticky hues: a token keeps its hue while text around it changes; neighbors never share one.

Hues are the numbers 0 to 5. When a chunk gets new tokens, unchanged tokens keep their hues
(`recall`); the others get hues that differ from both neighbors (`paint`). Only where an edit
brings two tokens of one hue together must one of them change.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import Protocol

from tokviz.live.chunks import Chunk, OldTokens

N_HUES = 6

NO_HUE = 255
"""Marks a hue that is not chosen yet, or an unknown neighbor."""

_UNPAINTED = re.compile(rb"\xff+")
_TWINS = re.compile(rb"([\x00-\x05])\1")
SEARCHED_AT_ONCE = 65_536
_LOOK_BACK = 64


def unpainted(n_tokens: int) -> bytearray:
    """Return `n_tokens` hues that are not chosen yet."""
    return bytearray([NO_HUE]) * n_tokens


def recall(runs: Iterable[OldTokens], ids: array[int], borders: array[int]) -> bytearray:
    """Return the previous hues of unchanged tokens, and `NO_HUE` for new ones.

    A token is unchanged if its id is the same and its byte position has moved with the text.

    Args:
        runs: The tokens from before, ascending and not overlapping.
        ids: The new tokens, n of them.
        borders: Their n + 1 byte offsets.
    """
    hues = unpainted(len(ids))
    for run in runs:
        known, old, new = run.tokens, run.first, bisect_left(borders, run.start)
        while old < run.last and new < len(ids):
            ahead = known.borders[old] + run.shift - borders[new]
            if ahead == 0 and known.ids[old] == ids[new]:
                hues[new] = known.hues[old]
            old += ahead <= 0
            new += ahead >= 0
    at = 0
    while at < len(hues):
        # Search step by step, because a search does not release the GIL.
        twins = _TWINS.search(hues, at, at + SEARCHED_AT_ONCE)
        if twins is None:
            at += SEARCHED_AT_ONCE - 1
        else:
            at = twins.start() + 1
            hues[at] = _other_hue(hues, at, NO_HUE, NO_HUE)
    return hues


def paint(hues: bytearray, left: int, right: int) -> None:
    """Choose the missing hues in place, so that no two neighbors are equal.

    Args:
        hues: Hues, `NO_HUE` where one is missing; chosen neighbors already differ.
        left: The hue before the first, or `NO_HUE`.
        right: The hue after the last, or `NO_HUE`.
    """
    for stretch in list(_UNPAINTED.finditer(hues)):
        start, end = stretch.span()
        before = hues[start - 1] if start else left
        first = 0 if before == NO_HUE else (before + 1) % N_HUES
        hues[start:end] = _cycle(first, end - start)
        after = hues[end] if end < len(hues) else right
        if hues[end - 1] == after:
            hues[end - 1] = _other_hue(hues, end - 1, left, right)
    if hues and hues[0] == left:
        hues[0] = _other_hue(hues, 0, left, right)
    if hues and hues[-1] == right:
        hues[-1] = _other_hue(hues, len(hues) - 1, left, right)


def _cycle(first: int, length: int) -> bytes:
    return (bytes(range(N_HUES)) * (length // N_HUES + 2))[first : first + length]


def _other_hue(hues: bytearray, index: int, left: int, right: int) -> int:
    """Return a hue that differs from the current one and from those of both neighbors."""
    taken = {
        hues[index],
        hues[index - 1] if index else left,
        hues[index + 1] if index + 1 < len(hues) else right,
    }
    return next(hue for hue in range(N_HUES) if hue not in taken)


def edge_hue(chunk: Chunk | None, *, at_end: bool) -> int:
    """Return the hue at an edge of a chunk, or for a pending chunk the one it will likely keep."""
    if chunk is not None and chunk.tokens is not None and chunk.tokens.hues:
        return chunk.tokens.hues[-1 if at_end else 0]
    if chunk is None or chunk.tokens is not None or not chunk.runs:
        return NO_HUE
    if at_end:
        run = chunk.runs[-1]
        return run.tokens.hues[run.last - 1] if run.end == chunk.n_bytes else NO_HUE
    run = chunk.runs[0]
    return run.tokens.hues[run.first] if run.start == 0 else NO_HUE


class Ids(Protocol):
    """Token ids in a list, a tuple or an array."""

    def __getitem__(self, index: int, /) -> int:
        """Return the id of a token."""
        ...


def hues_of(ids: Ids, first: int, last: int) -> list[int]:
    """Return hues computed from ids alone, for a text that is tokenized again in every frame.

    In a replay, a token so looks the same everywhere and in every frame: its hue follows from its
    id. Only if the previous token has that hue does it take the next one.

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
