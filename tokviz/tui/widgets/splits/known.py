"""Pieces that were worked out for an older text, still of use while newer ones are on their way."""

from __future__ import annotations

from dataclasses import dataclass, field

from tokviz.jobs.split_result import Piece, SplitResult
from tokviz.live.changes import Change

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
