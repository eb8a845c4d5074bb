"""Finds the rows that changed, so that only they are styled and sent to the terminal.

Textual restyles and sends a whole widget when its text changes. `ChangedRows` compares strips by
identity: the editor draws a row that looks the same as the very same strip.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual.strip import Strip


class ChangedRows:
    """Remembers the strip of every row that somebody took."""

    def __init__(self) -> None:
        """Begin with nothing taken."""
        self._taken: dict[int, Strip] = {}
        self._surroundings: object = None

    def begins(self, surroundings: object) -> bool:
        """Forget the rows if something around them changed, such as the size or a border.

        Returns:
            Whether that was so.
        """
        is_new = surroundings != self._surroundings
        if is_new:
            self._taken.clear()
            self._surroundings = surroundings
        return is_new

    def take(self, rows: Iterable[Strip]) -> list[int]:
        """Return the numbers of the rows that changed, and count them as taken."""
        changed = self._changed(rows)
        self._taken.update(changed)
        return list(changed)

    def doubt(self, rows: Iterable[Strip]) -> None:
        """Forget rows that changed since they were taken: somebody else may have drawn them."""
        for row in self._changed(rows):
            self._taken.pop(row, None)

    def _changed(self, rows: Iterable[Strip]) -> dict[int, Strip]:
        known = self._taken.get
        return {row: strip for row, strip in enumerate(rows) if known(row) is not strip}
