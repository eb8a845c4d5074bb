"""The list of messages with an editor over one part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import Offset
from textual.message import Message
from textual.widgets.text_area import Selection

from tokviz.live.document import LiveDocument
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.conversation.rows import (
    GUTTER,
    BlockRow,
    BlockRows,
    Blocks,
    MessageBlocks,
    PartPlace,
    end_of,
)
from tokviz.tui.widgets.editor import TokenEditor
from tokviz.tui.widgets.editor.cells import glyph_table, lay_out
from tokviz.tui.widgets.editor.editor import as_pasted


class PartEditor(TokenEditor):
    """The editor of a part; the cursor keys move into the neighboring parts at its ends."""

    DEFAULT_CSS = """
    PartEditor, PartEditor:focus {
        border: none;
        overflow-x: hidden;
        scrollbar-gutter: auto;
        scrollbar-size: 0 0;
    }
    """

    text_width = 0
    """The cells of a row, set by the list, which needs the rows before the editor has a size."""

    has_pin = True

    @property
    def wrap_width(self) -> int:
        """The cells of a row."""
        return self.text_width

    def set_text_width(self, width: int) -> None:
        """Wrap at another width."""
        if width != self.text_width:
            self.text_width = width
            self._rewrap_and_refresh_virtual_size()

    def allow_focus(self) -> bool:
        """Return False while there is no part to edit."""
        return super().allow_focus() and not self.has_class("-away")

    @dataclass
    class CursorLeaving(Message):
        """The user moved the cursor above the first row or below the last one."""

        step: int
        """-1 for above, 1 for below."""

    class Emptied(Message):
        """Backspace was pressed in an empty part."""

    @dataclass
    class Pasted(Message):
        """The user pasted a text that may be a conversation."""

        text: str
        """The pasted text, which has not been inserted."""

    def action_cursor_up(self, select: bool = False) -> None:
        """Move the cursor up, into the part above if there is no row above."""
        before = self.selection
        _, y = self.wrapped_document.location_to_offset(self.cursor_location)
        if y == 0 and not select and before.is_empty:
            self.post_message(self.CursorLeaving(-1))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Move the cursor down, into the part below if there is no row below."""
        _, y = self.wrapped_document.location_to_offset(self.cursor_location)
        last = self.wrapped_document.height - 1
        if y == last and not select and self.selection.is_empty:
            self.post_message(self.CursorLeaving(1))
        else:
            super().action_cursor_down(select)

    def action_cursor_page(self, pages: int, select: bool = False) -> None:
        """Move the cursor by pages, from the first or last row into a neighboring part."""
        before = self.selection
        super().action_cursor_page(pages, select)
        if self.selection == before and not select:
            self.post_message(self.CursorLeaving(pages))

    def action_delete_left(self) -> None:
        """Delete a character, or post `Emptied` if there is none."""
        if self.live.n_chars == 0:
            self.post_message(self.Emptied())
        else:
            super().action_delete_left()

    async def on_paste(self, event: events.Paste) -> None:
        """Post a paste that looks like JSON; insert any other."""
        if event.text.lstrip()[:1] in ("{", "["):
            event.prevent_default()
            event.stop()
            self.post_message(self.Pasted(event.text))
        else:
            await super().on_paste(event)

    def insert_pasted(self, text: str) -> None:
        """Insert a pasted text."""
        self.type_text(as_pasted(text))


_CURSOR = 1
"""Columns after a text, for the cursor."""


class MessageList(Container):
    """The messages of a conversation. The part at the cursor can be edited."""

    DEFAULT_CSS = """
    MessageList {
        layers: blocks editor;
        overflow: hidden hidden;
    }
    MessageList > PartEditor { layer: editor; }
    """

    @dataclass
    class ActionRequested(Message):
        """The user clicked an action that the screen handles."""

        action: str
        """"role", "kind", "up", "down", "delete", "delete_part" or "add:ROLE"."""
        place: PartPlace

    @dataclass
    class Moved(Message):
        """Another part is edited."""

        place: PartPlace

    def __init__(
        self, live: LiveDocument, palette: TokenPalette, *, show_invisibles: bool, id: str
    ) -> None:
        """Take the document of the edited part, and the styles of its tokens."""
        super().__init__(id=id)
        self.list = Blocks()
        self.list.show_invisibles = show_invisibles
        self.editor = PartEditor(
            live, palette, show_invisibles=show_invisibles, id="message-editor"
        )
        self.editor.styles.position = "absolute"
        self._fitted: object = None
        self._ahead: BlockRows | None = None

    def compose(self) -> ComposeResult:
        """Put the editor above the list."""
        yield self.list
        yield self.editor

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the editor."""
        self.editor.focus(scroll_visible)
        return self

    # -- content

    @property
    def place(self) -> PartPlace | None:
        """The edited part, None in an empty conversation."""
        return self.list.live

    def show(self, blocks: MessageBlocks, live: PartPlace | None, roles: Sequence[str]) -> None:
        """Show messages.

        Args:
            blocks: The messages.
            live: The edited part, whose text the editor loads.
            roles: The roles that can be added at the end, the expected one first.
        """
        self.list.live = live
        if live is not None:
            text = blocks[live.message].parts[live.part].text
            if text != self.editor.live.text:
                self.editor.load_text(text)
        self.edited(blocks, roles)

    def prepare(self, blocks: MessageBlocks) -> None:
        """Lay messages out before they are shown. For any thread."""
        if self.list.rows is not None:
            self._ahead = self._rows_of(blocks, None, 1)

    def edited(self, blocks: MessageBlocks, roles: Sequence[str]) -> None:
        """Show messages whose edited part has the editor's text; see `show`."""
        self.list.blocks, self.list.roles = blocks, roles
        self._lay_out()

    def set_invisibles(self, show: bool) -> None:
        """Draw invisible characters as glyphs, or not."""
        self.editor.show_invisibles = show
        self.list.show_invisibles = show
        self._lay_out()

    # -- layout

    def _lay_out(self) -> None:
        blocks = self.list
        # A hidden list has no width, but it is drawn before it is laid out again.
        width = blocks.row_width or blocks.cells
        if not width:
            return
        text_width = max(1, width - GUTTER - _CURSOR)
        self.editor.set_text_width(text_width)
        # An editor that is longer than the view scrolls its text.
        height = min(max(1, self.editor.wrapped_document.height), max(1, self.list.size.height - 1))
        blocks.cells = width
        blocks.rows = self._rows_of(blocks.blocks, blocks.live, height)
        if self._ahead is not None and self._ahead.blocks.sources is blocks.blocks.sources:
            self._ahead = None
        blocks.set_row_count(blocks.rows.n_rows)
        blocks.refresh()
        self._place_editor(width - GUTTER, height)

    def _rows_of(self, blocks: MessageBlocks, live: PartPlace | None, height: int) -> BlockRows:
        known = [rows for rows in (self._ahead, self.list.rows) if rows is not None]
        invisibles = self.list.show_invisibles
        return BlockRows(blocks, live, height, self.editor.text_width, invisibles, known)

    def _place_editor(self, width: int, height: int) -> None:
        """Move the editor to its place in the list."""
        live, rows = self.list.live, self.list.rows
        if live is None or rows is None:
            self.editor.set_class(True, "-away")
            return
        top = rows.top_of(live) - self.list.top_row
        fitted = (top, width, height)
        self.editor.set_class(False, "-away")
        if fitted != self._fitted:
            self._fitted = fitted
            styles = self.editor.styles
            styles.offset = (GUTTER, top)
            styles.width, styles.height = width, height

    def on_resize(self) -> None:
        """Lay out for another width."""
        self.call_after_refresh(self._resized)

    def on_show(self) -> None:
        """Catch up with changes that happened while the list was hidden."""
        self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        self._lay_out()
        self.show_cursor()

    def follow_scroll(self) -> None:
        """Move the editor with the list."""
        if self.list.rows is not None and self._fitted is not None:
            self._place_editor(self.list.row_width - GUTTER, self._fitted[2])  # type: ignore[index]

    def show_cursor(self) -> None:
        """Scroll to the row of the cursor, and to the header if it is the first row."""
        live, rows = self.list.live, self.list.rows
        if live is None or rows is None:
            return
        editor = self.editor
        _, y = editor.wrapped_document.location_to_offset(editor.cursor_location)
        row = rows.top_of(live) + y - round(editor.scroll_y)
        top, height = self.list.top_row, self.list.size.height
        first = rows.header_of(live.message) if y == 0 and live.part == 0 else row
        if first < top:
            self.list.scroll_to(y=first, animate=False, force=True)
        elif row >= top + height:
            self.list.scroll_to(y=row - height + 1, animate=False, force=True)

    # -- moving

    def go_to(self, place: PartPlace, location: tuple[int, int] | None = None) -> None:
        """Edit another part, with the cursor at a line and column, or at its end."""
        blocks = self.list
        if place != blocks.live:
            blocks.live = place
            self.editor.load_text(blocks.blocks[place.message].parts[place.part].text)
        self.editor.move_cursor(self.editor.document.end if location is None else location)
        self.editor.record_cursor_width()
        self._lay_out()
        self.show_cursor()
        self.post_message(self.Moved(place))

    def neighbour(self, step: int) -> PartPlace | None:
        """Return the part before or after the edited one, None if there is none."""
        blocks, place = self.list.blocks, self.place
        if place is None:
            return None
        if 0 <= place.part + step < len(blocks[place.message].parts):
            return PartPlace(place.message, place.part + step)
        message = place.message + step
        if not 0 <= message < len(blocks):
            return None
        return PartPlace(message, len(blocks[message].parts) - 1 if step < 0 else 0)

    def on_part_editor_cursor_leaving(self, event: PartEditor.CursorLeaving) -> None:
        """Move into the part above or below, in the same column."""
        event.stop()
        place = self.neighbour(1 if event.step > 0 else -1)
        if place is None:
            edge = self.editor.document.start if event.step < 0 else self.editor.document.end
            self.editor.move_cursor(edge)
            return
        column = self.editor.navigator.last_x_offset
        self.go_to(place, (0, 0))
        wrapped = self.editor.wrapped_document
        y = 0 if event.step > 0 else wrapped.height - 1
        self.editor.selection = Selection.cursor(wrapped.offset_to_location(Offset(column, y)))
        self.editor.navigator.last_x_offset = column
        self.show_cursor()

    def on_blocks_clicked(self, event: Blocks.Clicked) -> None:
        """Edit the text that was clicked, or pass an action to the screen."""
        event.stop()
        row, blocks = event.row, self.list.blocks
        if event.action:
            self.post_message(self.ActionRequested(event.action, PartPlace(row.message, row.part)))
            return
        # The click before may have deleted the part.
        is_there = row.message < len(blocks) and row.part < len(blocks[row.message].parts)
        if is_there and row.kind in ("text", "more", "header", "kind"):
            self._edit_at(row, event.x)
            self.editor.focus(scroll_visible=False)

    def _edit_at(self, row: BlockRow, x: int) -> None:
        place = PartPlace(row.message, row.part)
        if row.kind != "text":
            self.go_to(place, (0, 0) if row.kind != "more" else None)
            return
        text = self.list.blocks[row.message].parts[row.part].text
        cells = lay_out(text[row.start : row.end], glyph_table(self.list.show_invisibles))
        offset = min(row.start + cells.index_at(max(0, x)), row.end)
        self.go_to(place, end_of(text[:offset]))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll the list when the editor cannot scroll further."""
        event.stop()
        self.list.scroll_relative(y=3, animate=False)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll the list when the editor cannot scroll further."""
        event.stop()
        self.list.scroll_relative(y=-3, animate=False)
