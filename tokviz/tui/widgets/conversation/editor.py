"""The editor of one part of a message, which stands in the list in the place of its text."""

from __future__ import annotations

from textual import events
from textual.message import Message

from tokviz.tui.widgets.editor import TokenEditor
from tokviz.tui.widgets.editor.editor import as_pasted


class PartEditor(TokenEditor):
    """Edits one text; the cursor keys go on into the neighbours at its ends."""

    DEFAULT_CSS = """
    PartEditor, PartEditor:focus {
        border: none;
        overflow-x: hidden;
        scrollbar-gutter: auto;
        scrollbar-size: 0 0;
    }
    """

    text_width = 0
    """The cells of a row, told by the list: it must know the rows before the editor has a size."""

    @property
    def wrap_width(self) -> int:
        """The cells of a row."""
        return self.text_width

    def set_text_width(self, width: int) -> None:
        """Wrap at another width."""
        if width != self.text_width:
            self.text_width = width
            self._rewrap_and_refresh_virtual_size()

    class Left(Message):
        """The cursor wants to go on above the first row, or below the last one."""

        def __init__(self, step: int) -> None:
            """Take -1 for above and 1 for below."""
            super().__init__()
            self.step = step

    class Emptied(Message):
        """Backspace was pressed where there is nothing left to delete."""

    class Pasted(Message):
        """The terminal pasted something that may be a conversation."""

        def __init__(self, text: str) -> None:
            """Take the pasted text, which has not been inserted."""
            super().__init__()
            self.text = text

    def action_cursor_up(self, select: bool = False) -> None:
        """Move the cursor up, into the part above if there is no row above."""
        before = self.selection
        _, y = self.wrapped_document.location_to_offset(self.cursor_location)
        if y == 0 and not select and before.is_empty:
            self.post_message(self.Left(-1))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Move the cursor down, into the part below if there is no row below."""
        _, y = self.wrapped_document.location_to_offset(self.cursor_location)
        last = self.wrapped_document.height - 1
        if y == last and not select and self.selection.is_empty:
            self.post_message(self.Left(1))
        else:
            super().action_cursor_down(select)

    def action_cursor_page(self, pages: int, select: bool = False) -> None:
        """Move the cursor by pages, into the neighbours from the first or last row."""
        before = self.selection
        super().action_cursor_page(pages, select)
        if self.selection == before and not select:
            self.post_message(self.Left(pages))

    def action_delete_left(self) -> None:
        """Delete a character; with none left, say so."""
        if self.live.n_chars == 0:
            self.post_message(self.Emptied())
        else:
            super().action_delete_left()

    async def _on_paste(self, event: events.Paste) -> None:
        """Ask about what looks like JSON; insert everything else as it is."""
        if event.text.lstrip()[:1] in ("{", "["):
            event.prevent_default()
            event.stop()
            self.post_message(self.Pasted(event.text))
        else:
            await super()._on_paste(event)

    def insert_pasted(self, text: str) -> None:
        """Insert what was pasted after all."""
        self.type_text(as_pasted(text))
