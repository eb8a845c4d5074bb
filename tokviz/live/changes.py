"""Log of text changes, so that derived data can be updated instead of computed again."""

from __future__ import annotations

from collections import deque
from functools import reduce
from typing import NamedTuple

_REMEMBERED = 1024


class Change(NamedTuple):
    """The characters from `start` to `old_end` were replaced by those from `start` to `new_end`."""

    start: int
    old_end: int
    new_end: int

    @property
    def shift(self) -> int:
        """Number of characters by which the text after the change moved."""
        return self.new_end - self.old_end

    def followed_by(self, later: Change) -> Change:
        """Combine two changes into one that covers both and everything between them.

        >>> Change(5, 5, 8).followed_by(Change(2, 3, 3))
        Change(start=2, old_end=5, new_end=8)
        """
        more_old = max(0, later.old_end - self.new_end)
        end = max(self.new_end, later.old_end) + later.shift
        return Change(min(self.start, later.start), self.old_end + more_old, end)


class ChangeLog:
    """The latest changes of a text, by revision number."""

    def __init__(self) -> None:
        """Create an empty log."""
        self._changes: deque[tuple[int, Change]] = deque(maxlen=_REMEMBERED)
        self._known_from = 0

    def note(self, revision: int, offset: int, n_removed: int, n_inserted: int) -> None:
        """Record the edit that led to a revision."""
        if len(self._changes) == _REMEMBERED:
            self._known_from = self._changes[0][0]
        self._changes.append((revision, Change(offset, offset + n_removed, offset + n_inserted)))

    def restart(self, revision: int) -> None:
        """Record that the whole text is new at this revision."""
        self._changes.clear()
        self._known_from = revision

    def since(self, revision: int) -> Change | None:
        """Combine all changes since a revision.

        Returns:
            One change that covers them all, empty if there was none; None if the log no longer
            reaches back to that revision.
        """
        if revision < self._known_from:
            return None
        changes = [change for number, change in self._changes if number > revision]
        return reduce(Change.followed_by, changes) if changes else Change(0, 0, 0)
