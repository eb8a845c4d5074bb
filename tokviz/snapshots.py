"""Compare snapshots of an edited text that is kept in chunks."""

from __future__ import annotations

from collections.abc import Sequence


def changed_range(old: Sequence[str], new: Sequence[str]) -> tuple[int, int, int]:
    """Compare two lists of chunks: `old[first:old_last]` became `new[first:new_last]`.

    Chunks are compared as strings, which costs next to nothing where they are the same objects.

    >>> changed_range(["a", "b", "c"], ["a", "x", "y", "c"])
    (1, 2, 3)
    """
    shorter = min(len(old), len(new))
    first = 0
    while first < shorter and old[first] == new[first]:
        first += 1
    same_end = 0
    while same_end < shorter - first and old[-1 - same_end] == new[-1 - same_end]:
        same_end += 1
    return first, len(old) - same_end, len(new) - same_end
