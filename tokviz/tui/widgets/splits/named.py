"""The pieces of a named pattern around a place, found from the text near it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from tokviz.jobs.split_result import Piece
from tokviz.pretokenize.patterns import CUT_CONTEXT, SplitPattern, compiled_cut
from tokviz.pretokenize.split import split

_LOOKS = (64, 512, 8192)
"""How far to look for a safe cut; what needs more is work for a thread."""

Read = Callable[[int, int], str]
"""Gives the characters lo to hi of the text."""


def pieces_near(
    pattern: SplitPattern, read: Read, n_chars: int, lo: int, hi: int
) -> list[Piece] | None:
    """List the pieces that touch the characters `lo` to `hi`, at a cost that depends on these only.

    The text is split between two places where the pattern is sure to begin a piece.

    Returns:
        The pieces, or None if there is no such place nearby.
    """
    if lo >= min(hi, n_chars):
        return []
    start = _cut_before(pattern, read, n_chars, lo)
    end = _cut_behind(pattern, read, n_chars, hi)
    if start is None or end is None:
        return None
    pieces = []
    for first, last in _spans(pattern, read(start, end)):
        if start + last > lo and start + first < hi:
            pieces.append(Piece(start + first, start + last))
    return pieces


@lru_cache(maxsize=512)
def _spans(pattern: SplitPattern, text: str) -> list[tuple[int, int]]:
    return list(split(pattern, text).spans())


def _cut_before(pattern: SplitPattern, read: Read, n_chars: int, offset: int) -> int | None:
    """Find the last safe cut at `offset` or before."""
    for look in _LOOKS:
        start = max(0, offset - look)
        if pattern.safe_cut is not None and offset < n_chars:
            found = compiled_cut(pattern.safe_cut).finditer(read(start, offset + 1))
            cuts = [match.start() for match in found]
            if cuts:
                return start + cuts[-1]
        if start == 0:
            return 0
    return None


def _cut_behind(pattern: SplitPattern, read: Read, n_chars: int, offset: int) -> int | None:
    """Find the first safe cut at `offset` or behind."""
    start = max(0, offset - CUT_CONTEXT)
    for look in _LOOKS:
        end = min(n_chars, offset + look)
        if pattern.safe_cut is not None:
            cut = compiled_cut(pattern.safe_cut).search(read(start, end), offset - start)
            if cut is not None:
                return start + cut.start()
        if end == n_chars:
            return n_chars
    return None
