"""What the parts of the Tokens screen share."""

from __future__ import annotations

from pathlib import Path

from tokviz.live.document import LiveDocument
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.widgets.editor import TokenEditor


class TokensBase(TokvizScreen):
    """The state of the Tokens screen, on which its groups of actions work."""

    live: LiveDocument
    """The text with its tokens."""
    editor: TokenEditor
    path: Path | None
    """The file the text came from or went to last."""
    edits: int
    """How often the text has been changed."""
    saved_edits: int
    """What `edits` was when the text was last saved or opened."""
    is_sample: bool
    """Whether the text began as the sample."""

    @property
    def modified(self) -> bool:
        """Whether the text has changed since it was opened or saved."""
        return self.edits != self.saved_edits

    def load_text(self, text: str, path: Path | None, *, is_sample: bool = False) -> None:
        """Show another text instead of this one; its undo history begins anew."""
        raise NotImplementedError

    def replace_all(self, text: str) -> None:
        """Replace the text as one edit that can be undone."""
        self.editor.replace(text, (0, 0), self.editor.document.end)

    def selected_range(self) -> tuple[int, int]:
        """Give the selected characters as offsets, equal ones if nothing is selected."""
        start, end = sorted(self.editor.selection)
        return self.offset_of(start), self.offset_of(end)

    def offset_of(self, location: tuple[int, int]) -> int:
        """Turn a row and column into an offset in characters."""
        row, column = location
        return self.live.line_start(row) + column

    def go_to(self, start: int, end: int | None = None) -> None:
        """Put the cursor at an offset, or select a stretch, and bring it into view."""
        from textual.widgets.text_area import Selection

        first = self.live.location(start)
        last = first if end is None else self.live.location(end)
        self.editor.selection = Selection(first, last)
        self.editor.scroll_cursor_visible(center=True)
        self.editor.focus()

    def refresh_document(self) -> None:
        """Show in every part what has become of the document."""
        raise NotImplementedError
