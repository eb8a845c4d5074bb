"""The current text and its editor, shared by the controllers of the Tokens screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from textual.widgets.text_area import Selection

from tokviz.tui.widgets.editor import TokenEditor
from tokviz.workspace.session import Session


class TextAtHand:
    """Reads the selection, moves the cursor and replaces the text."""

    def __init__(
        self, session: Session, editor: TokenEditor, refresh: Callable[[], object]
    ) -> None:
        """Take the session and the editor of the text.

        Args:
            session: Holds the text.
            editor: Shows it.
            refresh: Updates all parts of the screen after the document has changed.
        """
        self.session = session
        self.live = session.live
        self.editor = editor
        self.refresh = refresh

    def load(self, text: str, path: Path | None) -> None:
        """Show another text with a new undo history."""
        self.editor.load_text(text)
        self.session.edits, self.session.version = 0, self.editor.history.version
        self.session.mark_replaced(path)
        self.refresh()

    def replace_all(self, text: str, then: Callable[[], object] = lambda: None) -> None:
        """Replace the text as one undoable edit, and call `then` when it is done.

        The cursor moves to the start of the new text.
        """

        def begin() -> None:
            self.editor.move_cursor((0, 0))
            then()

        self.editor.rewrite(lambda old: text, begin)

    def put(self, start: int, end: int, text: str) -> None:
        """Replace a range of the text as one undoable edit."""
        self.editor.history.checkpoint()
        self.editor.replace(text, self.live.location(start), self.live.location(end))
        self.editor.history.checkpoint()

    def selected_range(self) -> tuple[int, int]:
        """Return the selection as character offsets, equal ones if nothing is selected."""
        return self.editor.document.offsets(self.editor.selection)

    def go_to(self, start: int, end: int | None = None) -> None:
        """Move the cursor to an offset, or select a range, and scroll to it."""
        first = self.live.location(start)
        last = first if end is None else self.live.location(end)
        self.editor.selection = Selection(first, last)
        self.editor.scroll_cursor_visible(center=True)
        self.editor.focus()
