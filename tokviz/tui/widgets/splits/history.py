"""The regexes a field has held, to go back to."""

from __future__ import annotations

from collections.abc import Iterable


class RegexHistory:
    """A list of entries with a place in it, as shells have it."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        """Take the first entries, the oldest first."""
        self._entries = list(dict.fromkeys(entries))
        self._place = len(self._entries)
        self._draft = ""

    def add(self, entry: str) -> None:
        """Make an entry the newest one, and go there."""
        if entry:
            self._entries = [old for old in self._entries if old != entry] + [entry]
        self._place = len(self._entries)

    def older(self, current: str) -> str:
        """Step back; what was being written is kept in front of the list."""
        if self._place == len(self._entries):
            self._draft = current
            if self._entries and self._entries[-1] == current:
                self._place -= 1
        if self._place > 0:
            self._place -= 1
            return self._entries[self._place]
        return current

    def newer(self, current: str) -> str:
        """Step forward, at last to what was being written."""
        if self._place >= len(self._entries):
            return current
        self._place += 1
        if self._place == len(self._entries):
            return self._draft
        return self._entries[self._place]
