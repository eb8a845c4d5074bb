"""The text at hand as the editor shows it: what the parts of the Tokens screen work on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from textual.widgets.text_area import Selection

from tokviz.tui.widgets.editor import TokenEditor
from tokviz.workspace.session import Session


class TextAtHand:
    """Places in the text, its selection, and putting another text in its place."""

    def __init__(
        self, session: Session, editor: TokenEditor, refresh: Callable[[], object]
    ) -> None:
        """Take what holds the text and what shows it.

        Args:
            session: Holds the text.
            editor: Shows it.
            refresh: Shows in every part of the screen what has become of the document.
        """
        self.session = session
        self.live = session.live
        self.editor = editor
        self.refresh = refresh

    def load(self, text: str, path: Path | None) -> None:
        """Show another text instead of this one; its undo history begins anew."""
        self.editor.load_text(text)
        self.session.edits, self.session.version = 0, self.editor.history.version
        self.session.mark_replaced(path)
        self.refresh()

    def replace_all(self, text: str, then: Callable[[], object] = lambda: None) -> None:
        """Replace the text as one edit that can be undone; call `then` once that is done.

        Nothing of the new text is selected, and it is seen from its beginning.
        """

        def begin() -> None:
            self.editor.move_cursor((0, 0))
            then()

        self.editor.rewrite(lambda old: text, begin)

    def put(self, start: int, end: int, text: str) -> None:
        """Put a text in the place of a stretch, as one edit of its own that can be undone."""
        self.editor.history.checkpoint()
        self.editor.replace(text, self.live.location(start), self.live.location(end))
        self.editor.history.checkpoint()

    def selected_range(self) -> tuple[int, int]:
        """Give the selected characters as offsets, equal ones if nothing is selected."""
        return self.editor.document.offsets(self.editor.selection)

    def go_to(self, start: int, end: int | None = None) -> None:
        """Put the cursor at an offset, or select a stretch, and bring it into view."""
        first = self.live.location(start)
        last = first if end is None else self.live.location(end)
        self.editor.selection = Selection(first, last)
        self.editor.scroll_cursor_visible(center=True)
        self.editor.focus()
