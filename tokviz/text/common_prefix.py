"""The length of the common prefix of two sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")

_COMPARED_AT_ONCE = 1024


def n_common(a: Sequence[_T], b: Sequence[_T]) -> int:
    """Return the length of the common prefix, mostly by comparing whole slices.

    >>> n_common("token", "total")
    2
    """
    length = min(len(a), len(b))
    same = 0
    while same < length:
        stop = min(same + _COMPARED_AT_ONCE, length)
        if a[same:stop] != b[same:stop]:
            break
        same = stop
    while same < length and a[same] == b[same]:
        same += 1
    return same
