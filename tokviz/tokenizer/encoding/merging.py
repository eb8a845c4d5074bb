"""The merge loop: lowest rank first, leftmost first, until no adjacent pair has a rank."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, TypeVar

Merge = tuple[bytes, bytes]
"""The left and the right token of a merge."""

PairRank = Callable[[bytes, bytes], int | None]
"""Returns the rank at which two adjacent tokens merge, None if they never do."""

Symbols = TypeVar("Symbols", bytes, tuple[Any, ...])


def merge_pre_token(
    pre_token: Symbols,
    pair_rank: Callable[[Symbols, Symbols], int | None],
    *,
    below: int | None = None,
    on_merge: Callable[[int, int], object] | None = None,
) -> list[Symbols]:
    """Merge the bytes, or other symbols, of one pre-token into tokens.

    A heap contains every adjacent pair that can merge. An entry whose tokens have changed since is
    stale and skipped, so n bytes take O(n log n) steps.

    Args:
        pre_token: The bytes of one pre-token, or a tuple of symbols.
        pair_rank: Returns the rank of two adjacent tokens.
        below: Apply only merges with a lower rank than this.
        on_merge: Called for every merge in order, with the byte offset at which its two tokens
            meet, and its rank.

    Returns:
        The tokens, whose concatenation is the pre-token.

    >>> ranks = {b"ab": 0, b"cd": 1, b"abcd": 2}
    >>> merge_pre_token(b"abcde", lambda left, right: ranks.get(left + right))
    [b'abcd', b'e']
    """
    n = len(pre_token)
    # Token i covers pre_token[i:ends[i]]; it is alive until it is merged into the previous token.
    ends = list(range(1, n + 1))
    starts_before = list(range(-1, n - 1))
    alive = bytearray(b"\x01") * n

    def entry(left: int) -> tuple[int, int, int, int] | None:
        middle = ends[left]
        if middle >= n:
            return None
        end = ends[middle]
        rank = pair_rank(pre_token[left:middle], pre_token[middle:end])
        if rank is None or (below is not None and rank >= below):
            return None
        return rank, left, middle, end

    heap = [new for left in range(n - 1) if (new := entry(left)) is not None]
    heapify(heap)
    while heap:
        rank, left, middle, end = heappop(heap)
        if not alive[left] or ends[left] != middle or ends[middle] != end:
            continue
        if on_merge is not None:
            on_merge(middle, rank)
        alive[middle] = 0
        ends[left] = end
        if end < n:
            starts_before[end] = left
            if (new := entry(left)) is not None:
                heappush(heap, new)
        before = starts_before[left]
        if before >= 0 and (new := entry(before)) is not None:
            heappush(heap, new)
    tokens = []
    left = 0
    while left < n:
        tokens.append(pre_token[left : ends[left]])
        left = ends[left]
    return tokens
