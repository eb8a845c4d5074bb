"""Pieces around a place: found from the text near it, or worked out for an older text.

A named pattern's pieces are found anew from the text nearby. Where that cannot be done, and for a
custom regex, those of an older text are of use while newer ones are on their way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from tokviz.jobs.split_result import Piece, SplitResult
from tokviz.live.changes import Change
from tokviz.pretokenize.patterns import CUT_CONTEXT, SplitPattern, first_cut
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
            text = read(start, offset + 1)
            last, cut = None, first_cut(pattern.safe_cut, text, 0, len(text))
            while cut is not None:
                last, cut = cut, first_cut(pattern.safe_cut, text, cut + 1, len(text))
            if last is not None:
                return start + last
        if start == 0:
            return 0
    return None


def _cut_behind(pattern: SplitPattern, read: Read, n_chars: int, offset: int) -> int | None:
    """Find the first safe cut at `offset` or behind."""
    start = max(0, offset - CUT_CONTEXT)
    for look in _LOOKS:
        end = min(n_chars, offset + look)
        if pattern.safe_cut is not None:
            cut = first_cut(pattern.safe_cut, read(start, end), offset - start, end - start)
            if cut is not None:
                return start + cut
        if end == n_chars:
            return n_chars
    return None


_TENTATIVE_CHARS = 200
"""An edited stretch up to this length is shown as one piece until it is known better."""

NO_CHANGE = Change(0, 0, 0)


@dataclass(slots=True)
class KnownPieces:
    """A split of the text as it was at a revision, and what changed since then."""

    revision: int
    result: SplitResult = field(default_factory=SplitResult)
    change: Change | None = NO_CHANGE
    """None: it is not known what changed."""

    def pieces_in(self, lo: int, hi: int) -> list[Piece]:
        """List the pieces that touch the characters `lo` to `hi` of the text as it is now.

        Characters in no piece are not known. A piece that was edited stays one piece, though the
        regex may see it otherwise by now.
        """
        change = self.change
        if change is None:
            return []
        if change == NO_CHANGE:
            return self.result.pieces_in(lo, hi)
        before = self.result.pieces_in(lo, min(hi, change.start))
        before = [piece for piece in before if piece.end <= change.start]
        behind = self.result.pieces_in(max(lo - change.shift, change.old_end), hi - change.shift)
        moved = [
            Piece(piece.start + change.shift, piece.end + change.shift, piece.gap)
            for piece in behind
            if piece.start >= change.old_end
        ]
        edited = self._edited(change)
        middle = [edited] if edited and edited.start < hi and edited.end > lo else []
        return before + middle + moved

    def _edited(self, change: Change) -> Piece | None:
        """Give the pieces that were edited as one, unless that would be too rash a guess.

        What was written between two pieces may belong to either or to none: it is not known.
        """
        around = self.result.pieces_in(change.start - 1, change.old_end + 1)
        if change.start == change.old_end:
            edited = [piece for piece in around if piece.start < change.start < piece.end]
        else:
            edited = [p for p in around if p.start < change.old_end and p.end > change.start]
        if not edited:
            return None
        start, end = edited[0].start, edited[-1].end + change.shift
        return Piece(start, end) if start < end <= start + _TENTATIVE_CHARS else None
