"""Text area that shows the tokens of its text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region, Size
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location, Selection

from tokviz.live.document import LiveDocument
from tokviz.text.bytetext import as_byte_text
from tokviz.text.sentences import pluralize
from tokviz.tui.messages import RIGHT, CopyRequested, Pasted, TokenHovered, WhyWanted
from tokviz.tui.palette import TokenPalette
from tokviz.tui.textual_private.changed_rows import ChangedRows
from tokviz.tui.undo import BoundedHistory
from tokviz.tui.widgets.editor.cells import glyph_table
from tokviz.tui.widgets.editor.document import ExactDocument
from tokviz.tui.widgets.editor.navigation import (
    ExactNavigator,
    next_word_end,
    word_around,
    word_left,
    word_right,
)
from tokviz.tui.widgets.editor.row_painter import Marks, RowPainter
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument

_PULL_SECONDS = 0.05
"""How often a selection is extended while the mouse is held above or below the text."""
_SHORT_PASTE = 4096
"""The most characters of a paste that may be a path."""

_LATE_KEYS = 8
"""Number of waiting keys from which letters are inserted together."""
_FOLLOWING = "following_letters"
"""The attribute of a key event with the letters that are inserted together with its own."""

_LONG_TEXT = 200_000
"""Characters from which a text is prepared in a thread before it is inserted."""


def as_pasted(text: str) -> str:
    """Convert a paste of the terminal to byte text.

    Most terminals send CR for a newline, so in a paste without any line feed CR means one.
    """
    return as_byte_text(text if "\n" in text else text.replace("\r", "\n"))


def _letter(key: events.Key) -> str:
    """Return the character that a key types."""
    return "\n" if key.key == "enter" else (key.character or "") * key.is_printable


class TokenEditor(ChangedRows, TextArea, inherit_bindings=False):
    """Edits a live document and colors its tokens in place.

    The screen that owns the editor calls `refresh` when tokens became known and `set_hover` when
    the mouse is on a token elsewhere, and may set `on_edited` and `on_moved` to follow edits and
    the cursor in the same frame. Byte text in `load_text`, `text` and `selected_text` is exact.

    It posts `TokenHovered`, `Pasted`, and the messages of a text area.
    """

    ALLOW_SELECT = False
    HEARS_RIGHT: ClassVar[bool] = True
    DEFAULT_CSS = """
    TokenEditor {
        background: $background;
        border: round $border-blurred;
        padding: 0;
        scrollbar-gutter: stable;
        scrollbar-size: 1 1;
        &:focus {
            border: round $border;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+a", "select_all", "Select all", show=False),
        Binding("ctrl+home", "cursor_text_start", "Text start", show=False),
        Binding("ctrl+end", "cursor_text_end", "Text end", show=False),
        Binding("ctrl+shift+home", "cursor_text_start(True)", "Select to text start", show=False),
        Binding("ctrl+shift+end", "cursor_text_end(True)", "Select to text end", show=False),
        Binding("shift+pageup", "cursor_page(-1, True)", "Select a page up", show=False),
        Binding("shift+pagedown", "cursor_page(1, True)", "Select a page down", show=False),
        # The first binding of a key counts. Textual's F6 and F7, which select, are left out.
        *(one for one in TextArea.BINDINGS if isinstance(one, Binding) and one.key[0] != "f"),
    ]

    has_pin = False
    """Whether the token at the cursor is highlighted, because panels explain it."""
    document: ExactDocument
    wrapped_document: ExactWrappedDocument
    navigator: ExactNavigator

    def __init__(
        self,
        live: LiveDocument,
        palette: TokenPalette,
        *,
        show_invisibles: bool = True,
        soft_wrap: bool = True,
        id: str | None = None,
    ) -> None:
        """Create an editor.

        Args:
            live: The document; its text must change only through the editor.
            palette: The styles of tokens.
            show_invisibles: Whether invisible characters, such as spaces, are drawn as glyphs.
            soft_wrap: Whether long lines are wrapped.
            id: The widget's id.
        """
        self.live = live
        self._pulled: events.MouseMove | None = None
        self._last_letter: events.Key | None = None
        self._pull: Timer | None = None
        self.on_edited: Callable[[], None] = lambda: None
        """Called after every edit, undo and redo, before the frame that shows it."""
        self.on_moved: Callable[[], None] = lambda: None
        """Called when the cursor or the selection moved without an edit, before that frame."""
        self._is_changing = False
        self._seen_rows = 0
        self.should_replace_all: Callable[[], bool] = lambda: False
        """Called before an insertion without a selection; returns True if it should replace the
        whole text, because that is an unedited sample."""
        self.unstable = (0, 0)
        """The characters of the unstable tokens at the end of the text, set by the screen."""
        self.last_edit_seconds = 0.0
        """The time that the last edit took, in seconds."""
        self.is_preparing = False
        """Whether a long text is being prepared for insertion; keys wait until it is inserted."""
        self._show_invisibles = show_invisibles
        self._painter = RowPainter(live, palette, glyph_table(show_invisibles))
        self._hover: int | None = None
        self._picked: tuple[int, Selection, int] | None = None
        self._marked, self._marked_for = Marks(), object()
        super().__init__(soft_wrap=soft_wrap, id=id, highlight_cursor_line=False)
        self.set_reactive(TextArea.cursor_blink, False)
        self.set_reactive(TextArea.match_cursor_bracket, False)
        self.history: BoundedHistory = BoundedHistory()

    # -- text

    def load_text(self, text: str) -> None:
        """Show another byte text, and clear the undo history."""
        self.history.clear()
        self.document.load(text)
        self.move_cursor((0, 0))
        self._refresh_size()
        self.refresh()
        self.scroll_to(0, 0, animate=False)
        self.post_message(self.Changed(self))

    def lay_out_anew(self) -> None:
        """Show a text that the live document received from elsewhere."""
        self.wrapped_document.reload()
        self._refresh_size()
        self.refresh()

    def prepare(self, text: str) -> None:
        """Prepare a long text for showing or inserting it. Any thread may call it."""
        if len(text) > _LONG_TEXT:
            self.live.prepare_edit(text)

    def _set_document(self, text: str, language: str | None) -> None:
        """Use the live document instead of a given text."""
        self.document = ExactDocument(self.live)
        width = self.wrap_width if self.is_mounted else 0
        self.wrapped_document = ExactWrappedDocument(
            self.document, width, self._painter.glyphs, self._stay
        )
        self.navigator = ExactNavigator(self.wrapped_document)
        self.move_cursor((0, 0))
        self._refresh_size()
        self.refresh()

    def edit(self, edit: Edit) -> EditResult:
        """Perform an edit, and notify the screen in the same frame."""
        with self._changing():
            return super().edit(edit)

    def undo(self) -> None:
        """Undo the last edits."""
        edits = self.history.undo_stack[-1:]
        results = [edit._edit_result for batch in edits for edit in batch]
        texts = [result.replaced_text for result in results if result]
        self._once_prepared(texts, super().undo)

    def redo(self) -> None:
        """Redo the edits that were undone last."""
        texts = [edit.text for batch in self.history.redo_stack[-1:] for edit in batch]
        self._once_prepared(texts, super().redo)

    def rewrite(
        self, make: Callable[[str], str], then: Callable[[], object] = lambda: None
    ) -> None:
        """Replace the text by a function of it, as one edit; in a thread if the text is long.

        Args:
            make: Returns the new text; called again if the text has changed meanwhile.
            then: Called after the replacement.
        """
        live = self.live
        revision, old = live.revision, live.text

        def put(text: str) -> None:
            if live.revision != revision:
                self.rewrite(make, then)
                return
            if text != old:
                self.replace(text, (0, 0), self.document.end)
            then()

        async def make_and_put() -> None:
            put(await self._prepared(partial(make, old)))

        if len(old) > _LONG_TEXT:
            self.call_later(make_and_put)
        else:
            text = make(old)
            self._once_prepared([text], lambda: put(text))

    def _once_prepared(self, texts: Sequence[str], change: Callable[[], None]) -> None:
        """Change the text, after a long text that it inserts has been prepared; keys wait."""

        def apply() -> None:
            with self._changing():
                change()

        if len(texts) != 1 or len(texts[0]) <= _LONG_TEXT:
            apply()
            return

        async def prepare_and_change() -> None:
            await self._prepared(lambda: texts[0])
            apply()

        self.call_later(prepare_and_change)

    async def _prepared(self, make: Callable[[], str]) -> str:
        """Make a long text and prepare its insertion in a thread."""

        def work() -> str:
            text = make()
            self.prepare(text)
            return text

        self.is_preparing = True
        try:
            return await asyncio.to_thread(work)
        finally:
            self.is_preparing = False

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Notify the screen once of changes to the text and the cursor."""
        started = time.perf_counter()
        self._is_changing = True
        try:
            yield
        finally:
            self._is_changing = False
        self.last_edit_seconds = time.perf_counter() - started
        self.refresh()
        self.on_edited()

    def watch_selection(self) -> None:
        """Notify the screen."""
        if not self._is_changing:
            self.on_moved()

    # -- called by the screen

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with another palette."""
        self._painter.set_palette(palette)
        self.refresh()

    @property
    def show_invisibles(self) -> bool:
        """Whether invisible characters, such as spaces and line ends, are drawn as glyphs."""
        return self._show_invisibles

    @show_invisibles.setter
    def show_invisibles(self, show: bool) -> None:
        self._show_invisibles = show
        self._painter.glyphs = self.wrapped_document.glyphs = glyph_table(show)
        self.wrapped_document.wrap(self.wrap_width)
        self._refresh_size()
        self.scroll_cursor_visible()
        self.record_cursor_width()
        self.refresh()

    def set_hover(self, index: int | None) -> None:
        """Highlight the token under the mouse, here or in a panel."""
        if index != self._hover:
            self._hover = index
            self.refresh()

    def token_at_cursor(self) -> int | None:
        """Return the index of the token at the cursor, None if it is not known.

        It is the token of the character after the cursor, or the last one at the end of the text.
        Of several tokens that share a character it is the first, unless `go_to_token` chose one.
        """
        offset = self.document.get_index_from_location(self.cursor_location)
        first = self.live.token_index_at(min(offset, self.live.n_chars - 1))
        if self._picked is not None and first is not None:
            number, selection, revision = self._picked
            if selection == self.selection and revision == self.live.revision:
                return first + number
        return first

    def go_to_token(self, index: int) -> None:
        """Move the cursor to the start of a token, and scroll to it.

        The token is not selected, so that the next key does not overwrite it.
        """
        span = self._span_of(index)
        if span is None:
            return
        selection = Selection.cursor(self.live.location(span[0]))
        # Its number among the tokens there; its index grows while preceding text is encoded.
        first = self.live.token_index_at(span[0])
        self._picked = (index - (first or 0), selection, self.live.revision)
        self.selection = selection
        self.record_cursor_width()
        self.history.checkpoint()
        self._scroll_to_offset(span[0])

    def _span_of(self, index: int | None) -> tuple[int, int] | None:
        """Return a token's first character, and the one after its last."""
        if index is None or not 0 <= index < self.live.n_tokens:
            return None
        token = self.live.token(index)
        return token.start, token.end

    def _scroll_to_offset(self, offset: int) -> None:
        """Scroll a character to the middle of the view unless it is visible."""
        x, y = self.wrapped_document.location_to_offset(self.live.location(offset))
        height = self.size.height
        if not self.scroll_y <= y < self.scroll_y + height:
            self.scroll_to(y=max(0, y - height // 2), animate=False, force=True)
        if not self.soft_wrap and not self.scroll_x <= x < self.scroll_x + self.size.width:
            self.scroll_to(x=max(0, x - self.size.width // 2), animate=False, force=True)

    # -- sizes

    def on_resize(self) -> None:
        """Wrap for the new size; keep the cursor in view if it was."""
        place = self.wrapped_document.location_to_offset
        was_seen = 0 <= place(self.cursor_location).y - self.scroll_offset.y < self._seen_rows
        self._seen_rows = self.size.height
        self._rewrap_and_refresh_virtual_size()
        lowest = place(self.cursor_location).y - self._seen_rows + 1
        if was_seen and self.scroll_offset.y < lowest:
            self._scroll_at_once(lowest)

    def _rewrap_and_refresh_virtual_size(self) -> None:
        """Wrap again if the width changed; keep the first row of the view."""
        wrapped = self.wrapped_document
        if wrapped.width != self.wrap_width:
            first = wrapped.offset_to_location(Offset(0, self.scroll_offset.y))
            wrapped.wrap(self.wrap_width)
            self._scroll_at_once(wrapped.location_to_offset(first).y)
            self.refresh()
        self._refresh_size()

    def _stay(self, row: int, change: int) -> None:
        """Keep the visible text in place when the number of rows above it changes."""
        if row < self.scroll_y:
            self._scroll_at_once(max(row, self.scroll_y + change))
        self._refresh_size()
        self._recompute_cursor_offset()  # type: ignore[no-untyped-call]
        self.refresh()

    def _scroll_at_once(self, row: float) -> None:
        """Scroll to a row, which is valid once the size has been updated."""
        self.set_scroll(None, row)
        self.set_reactive(Widget.scroll_target_y, row)

    def _lay_out_view(self) -> None:
        """Lay out the rows in view before they are drawn."""
        for row in (0, self.size.height):
            self.wrapped_document.offset_to_location(Offset(0, self.scroll_offset.y + row))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scroll, and lay out the rows in view."""
        super().watch_scroll_y(old_value, new_value)
        self._lay_out_view()

    def _refresh_size(self) -> None:
        """Update the scrollbars; the layout of the screen does not depend on the text's size."""
        wrapped = self.wrapped_document
        width = 0 if self.soft_wrap else wrapped.widest + 2
        size = Size(width, wrapped.height)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            if self.is_mounted:
                self._scroll_update(size)
                self._lay_out_view()

    def render_line(self, y: int) -> Strip:
        """Draw a row of the view."""
        marks, (x, top), width = self._marks(), self.scroll_offset, self.size.width
        if not y and self.placeholder and not self.live.n_chars:
            return self._painter.hint(str(self.placeholder), width, marks)
        return self._painter.strip(self.wrapped_document, top + y, x, width, marks)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw rows without the text area's theme, which the painter replaces."""
        self.forget_outdated_rows(crop)
        return super(TextArea, self).render_lines(crop)

    def notify_style_update(self) -> None:
        """Draw over the new colors."""
        super().notify_style_update()
        self._painter.set_ground(self.rich_style)

    def _marks(self) -> Marks:
        """Return the marks of the current frame, the same object for all its rows."""
        key = (
            self.live.stage,
            self.selection,
            self._hover,
            self._picked,
            self.has_focus,
            self.unstable,
        )
        if key != self._marked_for:
            document, nothing = self.document, (0, 0)
            self._marked_for, self._marked = (
                key,
                Marks(
                    selection=nothing
                    if self.selection.is_empty
                    else document.offsets(self.selection),
                    hover=self._span_of(self._hover) or nothing,
                    pin=(self.has_pin and self._span_of(self.token_at_cursor())) or nothing,
                    cursor=document.get_index_from_location(self.selection.end),
                    focused=self.has_focus,
                    unstable=self.unstable,
                ),
            )
        return self._marked

    def get_column_width(self, row: int, column: int) -> int:
        """Return the cell of a location in its row on the screen."""
        return self.wrapped_document.location_to_offset((row, column)).x

    # -- keys

    def on_key(self, event: events.Key) -> None:
        """Type the character. Esc keeps the focus in the text, even if Tab indents."""
        if event is self._last_letter:
            self._last_letter = None
        letters = _letter(event) + "".join(event.__dict__.pop(_FOLLOWING, ()))
        if letters and not self.read_only:
            self.type_text(letters)
        elif not (event.key == "escape" and self.tab_behavior == "indent"):
            return
        event.stop()
        event.prevent_default()

    def coalesces(self, event: events.Event) -> bool:
        """Combine a letter with the previous one if many keys are waiting.

        The app calls it before it forwards an event. A terminal without bracketed paste sends a
        paste as keys, which one by one would take minutes for a long text.
        """
        key = event if isinstance(event, events.Key) else None
        letter = _letter(key) if key else ""
        if letter and self._last_letter and self.message_queue_size >= _LATE_KEYS:
            self._last_letter.__dict__.setdefault(_FOLLOWING, []).append(letter)
            return True
        self._last_letter = key if letter else None
        return False

    def type_text(self, text: str) -> None:
        """Replace the selection with byte text, as if it had been typed."""
        if not self.read_only:
            is_insertion = bool(text) and self.selection.is_empty
            start, end = self.selection
            if is_insertion and self.should_replace_all():
                start, end = (0, 0), self.document.end
            self.replace(text, start, end, maintain_selection_offset=False)

    def _delete(self, start: Location, end: Location) -> str:
        """Delete a range unless the text is read-only, and return its text."""
        if self.read_only:
            return ""
        return self.delete(start, end, maintain_selection_offset=False).replaced_text

    def clamp_visitable(self, location: Location) -> Location:
        """Return the nearest location of the text, without reading a whole line."""
        return self.document.clamped(location)

    def _watch_selection(self, previous_selection: Selection, selection: Selection) -> None:
        """Scroll to the cursor. Unlike a text area, do not search for the matching bracket."""
        if self.is_mounted:
            self.app.clear_selection()
            self.scroll_cursor_visible()
            self.app.cursor_position = self.cursor_screen_offset
            if selection != previous_selection:
                self.post_message(self.SelectionChanged(selection, self))

    def action_cursor_text_start(self, select: bool = False) -> None:
        """Move the cursor to the start of the text."""
        self.move_cursor(self.document.start, select=select)

    def action_cursor_text_end(self, select: bool = False) -> None:
        """Move the cursor to the end of the text."""
        self.move_cursor(self.document.end, select=select)

    def action_cursor_page(self, pages: int, select: bool = False) -> None:
        """Move the cursor by pages; negative numbers move up."""
        rows = pages * self.content_size.height
        target = self.navigator.get_location_at_y_offset(self.cursor_location, rows)
        self.scroll_relative(y=rows, animate=False)
        self.move_cursor(target, select=select, record_width=False)

    def get_cursor_word_left_location(self) -> Location:
        """Return the location a word to the left of the cursor."""
        row, column = self.cursor_location
        if column == 0:
            return self.navigator.get_location_left((row, column))
        return row, word_left(self.document.line(row), column)

    def get_cursor_word_right_location(self) -> Location:
        """Return the location a word to the right of the cursor."""
        row, column = self.cursor_location
        line = self.document[row]
        if column == len(line):
            return self.navigator.get_location_right((row, column))
        return row, word_right(line, column)

    def action_delete_word_right(self) -> None:
        """Delete the selection, or the text up to the end of the word to the right."""
        if not self.selection.is_empty:
            self._delete(*self.selection)
            return
        row, column = location = self.cursor_location
        end = next_word_end(self.document[row], column)
        target = self.navigator.get_location_right(location) if end == column else (row, end)
        self._delete(location, target)

    # -- clipboard

    def action_copy(self) -> None:
        """Copy the selected text."""
        text = self.selected_text
        if not text:
            raise SkipAction()
        self._copy(text)

    def action_cut(self) -> None:
        """Remove the selected text, or the line, and copy it."""
        start, end = self.selection
        if start == end:
            start, end = (start[0], 0), self.clamp_visitable((start[0] + 1, 0))
        if text := self._delete(start, end):
            self._copy(text)

    def _copy(self, text: str) -> None:
        self.post_message(CopyRequested(text, pluralize(len(text), "character")))

    async def on_paste(self, event: events.Paste) -> None:
        """Insert a paste of the terminal, exactly."""
        event.prevent_default()
        event.stop()
        if event.text and not self.read_only:
            if len(event.text) > _LONG_TEXT:
                text = await self._prepared(partial(as_pasted, event.text))
            else:
                text = as_pasted(event.text)
            self.type_text(text)
            self.focus()
            if len(text) <= _SHORT_PASTE:
                self.post_message(Pasted(text, self.history.version))

    # -- mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Post the token under the mouse; the text area selects.

        A selection is extended while the mouse is held above or below the text, and ends if another
        window received the release.
        """
        if self._selecting and not event.button:
            self._end_mouse_selection()
        if not self._selecting:
            self.post_message(TokenHovered(self._token_at_pointer(event)))
        row = event.y - self.gutter.top
        self._pulled = None if 0 <= row < self.content_size.height else event
        if self._selecting and self._pulled and self._pull is None:
            self._pull = self.set_interval(_PULL_SECONDS, self._select_on)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """On a right click outside the selection, move the cursor there."""
        if event.button == RIGHT:
            event.prevent_default()
            event.stop()
            place = self.get_target_document_location(event)
            first, last = sorted(self.selection)
            if not first <= place < last:
                self.move_cursor(place)

    def _select_on(self) -> None:
        if self._selecting and self._pulled is not None:
            target = self.get_target_document_location(self._pulled)
            self.selection = Selection(self.selection.start, target)
        elif self._pull is not None:
            self._pull.stop()
            self._pull = None

    def on_leave(self, event: events.Leave) -> None:
        """Post that no token is under the mouse."""
        self.post_message(TokenHovered(None))

    def on_click(self, event: events.Click) -> None:
        """Select a word by a double click, a line by a triple click."""
        row, column = self.get_target_document_location(event)
        if event.button == RIGHT:
            self.post_message(WhyWanted())
        elif event.chain == 2:
            start, end = word_around(self.document[row], column)
            self.selection = Selection((row, start), (row, end))
        elif event.chain == 3:
            self.select_line(row)

    def _token_at_pointer(self, event: events.MouseEvent) -> int | None:
        """Return the index of the token under the mouse, None if there is none."""
        x, y = Offset(event.x, event.y) - self.gutter.top_left + self.scroll_offset
        if x < 0 or not 0 <= y < self.wrapped_document.height:
            return None
        offset = self._painter.offset_at(self.wrapped_document, x, y)
        return None if offset is None else self.live.token_index_at(offset)
