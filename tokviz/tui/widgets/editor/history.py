"""Undo history with a bound on its memory."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widgets.text_area import Edit, EditHistory

_MAX_BATCHES = 1_000
_MAX_CHARS = 64_000_000
_SECONDS_PER_BATCH = 2.0
_CHARS_PER_BATCH = 100


class BoundedHistory(EditHistory):
    """Forgets the oldest edits when all together hold too much text.

    The newest edit can always be undone, however large it is.
    """

    def __init__(self, max_chars: int = _MAX_CHARS) -> None:
        """Take the number of characters, inserted and removed, that may be remembered."""
        super().__init__(_MAX_BATCHES, _SECONDS_PER_BATCH, _CHARS_PER_BATCH)
        self._max_chars = max_chars
        self._forgotten: object = None

    @property
    def version(self) -> object:
        """What undo would take back; nothing but the same text has the same again."""
        return self._undo_stack[-1][-1] if self._undo_stack else self._forgotten

    def clear(self) -> None:
        """Forget all edits: another text begins."""
        super().clear()
        self._forgotten = None

    def record(self, edit: Edit) -> None:
        """Remember an edit, and forget old ones if it must be."""
        oldest = self._undo_stack[0] if self._undo_stack else None
        super().record(edit)
        if _n_chars([edit]) > _CHARS_PER_BATCH:
            self._forget_oldest()
        if oldest and self._undo_stack[0] is not oldest:
            self._forgotten = object()

    def _forget_oldest(self) -> None:
        n_chars = sum(map(_n_chars, self._undo_stack))
        while n_chars > self._max_chars and len(self._undo_stack) > 1:
            n_chars -= _n_chars(self._undo_stack.popleft())


def _n_chars(edits: Iterable[Edit]) -> int:
    """Count the characters that edits keep alive."""
    return sum(
        len(edit.text) + len(edit._edit_result.replaced_text if edit._edit_result else "")
        for edit in edits
    )
