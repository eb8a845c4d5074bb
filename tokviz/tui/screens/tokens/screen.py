"""The Tokens screen: the editor, its side panels, and the lines above and below."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.geometry import Size
from textual.widgets import TextArea
from textual.worker import Worker, WorkerState

from tokviz.glyphs import safe
from tokviz.live.document import LiveDocument
from tokviz.opening import Opening
from tokviz.settings import Settings
from tokviz.tui.actions.registry import bindings_for
from tokviz.tui.messages import Notice, Pasted, TokenHovered, TokenPicked
from tokviz.tui.screens.bars import key_items, tab_items, tokenizer_item
from tokviz.tui.screens.dropped import TakesDropped
from tokviz.tui.screens.tokens.copy_actions import CopyActions
from tokviz.tui.screens.tokens.cost_actions import CostActions
from tokviz.tui.screens.tokens.encoding import BackgroundEncoding
from tokviz.tui.screens.tokens.find_actions import FindActions
from tokviz.tui.screens.tokens.panels import ExplainsSelection, Panel, SidePanels, TokenDetail
from tokviz.tui.screens.tokens.view_actions import ViewActions
from tokviz.tui.widgets.bar import Bar
from tokviz.tui.widgets.editor import TokenEditor
from tokviz.tui.widgets.status_line import SelectionCounts, StatusLine, StatusState

if TYPE_CHECKING:
    from pathlib import Path

    from tokviz.tui.widgets.mask_panel import MaskPanel
    from tokviz.tui.widgets.splits.messages import PieceClicked


NARROW_COLUMNS = 110
"""A narrower terminal has its panels below the text."""
SHORT_LINES = 16
"""A terminal of fewer lines goes without the key bar."""
TINY_COLUMNS, TINY_LINES = 28, 9
"""A smaller terminal shows the text and one line of numbers only."""
AUTOSAVE_DELAY = 2.0
"""Seconds until texts of an earlier run are looked for: not while the user first looks."""
HUGE_COLUMNS, HUGE_LINES = 150, 44
"""A terminal of this size shows the token card beside another panel."""


class TokensScreen(
    TakesDropped, CostActions, CopyActions, FindActions, ViewActions, BackgroundEncoding
):
    """See the tokens of a text while it is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("tokens")]
    AUTO_FOCUS = "#text"
    action_group = "tokens"

    def __init__(self, opening: Opening, settings: Settings) -> None:
        """Take what to show first."""
        super().__init__()
        text = opening.take_text()
        self.live = LiveDocument(text, opening.tokenizer, parse_specials=opening.parse_specials)
        self.path = opening.path
        self.is_sample = opening.is_sample
        self.edits = self.saved_edits = self._pasted_edits = 0
        self._notes = opening.notes
        self._first_settings = settings
        self._hover: int | None = None
        self._pin: int | None = None
        self._update_seconds: float | None = None

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        # Classes first: the widgets are then styled once.
        self._fit(self.app.size)
        palette = self.tokviz.token_palette()
        settings = self._first_settings
        self.title_bar = Bar(id="title")
        self.editor = TokenEditor(
            self.live, palette, show_invisibles=settings.show_invisibles, id="text"
        )
        self.editor.soft_wrap = settings.wrap
        self.editor.tab_behavior = "indent"
        self.editor.indent_type = "tabs"
        self.editor.on_edited = self._edited
        self.side = SidePanels(self.live, palette, settings.panel)
        self.right = Container(id="right")
        self.detail = TokenDetail(self.live, palette)
        self.status = StatusLine(id="status")
        self.keys = Bar(id="keys")
        self._show_panels(settings.panel_visible)
        yield self.title_bar
        with Container(id="work"):
            yield self.editor
            with self.right:
                yield self.side
                yield self.detail
        yield self.status
        yield self.keys

    def on_mount(self) -> None:
        """Fill the lines, and start what runs in the background."""
        self.keys.show(key_items("tokens"))
        self.refresh_document()
        self.app.theme_changed_signal.subscribe(self, lambda _: self._change_palette())
        self.call_after_refresh(self._started)

    def _started(self) -> None:
        """Do what the first frame need not wait for."""
        self.side.show(self.side.shown)
        self.call_after_refresh(self._sync_side)
        # What is there now stays: the collector need not look at it again.
        gc.freeze()
        gc.enable()
        for note in self._notes:
            self.say(note, "warning")
        self.allow_encoding()
        self.set_timer(AUTOSAVE_DELAY, self.start_autosave)
        self.read_prices()

    def on_unmount(self) -> None:
        """End what runs in the background."""
        self.end_encoding()
        self.end_autosave(keep=self.modified and not self.is_sample)

    # -- the document has changed

    def _edited(self) -> None:
        """Show an edit everywhere, in the same frame as the editor does."""
        started = time.perf_counter()
        self.edits += 1
        self.is_sample = False
        self._pin_cursor_token()
        self._sync_side()
        self._update_seconds = self.editor.last_edit_seconds + time.perf_counter() - started
        self._show_title()
        self._show_status()
        self.start_encoding()

    def refresh_document(self) -> None:
        """Show in every part what has become of the document."""
        self.editor.sync()
        self._pin_cursor_token()
        self._sync_side()
        self._show_title()
        self._show_status()
        self.start_encoding()

    def refresh_tokens(self) -> None:
        """Show the tokens that have become known."""
        self.editor.sync()
        self._pin_cursor_token()
        self._sync_side()
        self._show_status()

    def load_text(self, text: str, path: Path | None, *, is_sample: bool = False) -> None:
        """Show another text instead of this one; its undo history begins anew."""
        self.editor.load_byte_text(text)
        self.path = path
        self.is_sample = is_sample
        self.edits = self.saved_edits = 0
        self._update_seconds = None
        self.refresh_document()

    def _panels(self) -> list[Panel]:
        """List the panels in view."""
        if not self.right.display:
            return []
        return [panel for panel in (self.side.current, self.detail.current) if panel is not None]

    def _sync_side(self) -> None:
        for panel in self._panels():
            panel.sync()
        self._follow_cursor()

    def _follow_cursor(self) -> None:
        empty = self.editor.selection.is_empty
        for panel in self._panels():
            panel.set_marks(self._hover, self._pin, scroll=True)
            if isinstance(panel, ExplainsSelection):
                panel.set_selection(None if empty else self.selected_range())

    def _change_palette(self) -> None:
        palette = self.tokviz.token_palette()
        self.editor.set_palette(palette)
        self.side.set_palette(palette)
        self.detail.set_palette(palette)

    # -- cursor and pointer

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        """Follow the cursor."""
        self._pin_cursor_token()
        self._follow_cursor()
        self._show_status()

    def _pin_cursor_token(self) -> None:
        self._pin = self.editor.token_at_cursor()
        self.editor.set_marks(self._hover, self._pin)

    def on_pasted(self, message: Pasted) -> None:
        """Remember which edit the paste was, so that it alone is taken back."""
        self._pasted_edits = self.edits
        super().on_pasted(message)

    def take_back_paste(self) -> None:
        """Undo the paste, if nothing was edited since."""
        if self.edits == self._pasted_edits:
            self.editor.undo()

    def on_token_hovered(self, message: TokenHovered) -> None:
        """Light a token up in the text and in the panel."""
        message.stop()
        self._hover = message.index
        self.editor.set_marks(self._hover, self._pin)
        for panel in self._panels():
            panel.set_marks(self._hover, self._pin)

    def on_token_picked(self, message: TokenPicked) -> None:
        """Go to a token."""
        message.stop()
        self.pick_token(message.index)

    def on_piece_clicked(self, message: PieceClicked) -> None:
        """Select the piece that was clicked in the Splits panel."""
        message.stop()
        self.go_to(message.offset, message.end)

    def on_notice(self, message: Notice) -> None:
        """Show what a widget has to say."""
        message.stop()
        self.say(message.text, message.severity)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Say so if something in the background failed, rather than go on in silence."""
        if event.state is WorkerState.ERROR:
            self.say(f"Something went wrong in the background: {event.worker.error}", "error")

    # -- the lines above and below

    def _show_title(self) -> None:
        name = safe(self.path.name) if self.path else "sample" if self.is_sample else "text"
        self.editor.border_title = f" {name}{' •' if self.modified else ''} ".replace("[", r"\[")
        self.title_bar.show(tab_items("tokens"), [tokenizer_item(self.live.tokenizer)])

    def _show_status(self) -> None:
        live = self.live
        self.status.show(
            StatusState(
                tokens=live.n_tokens,
                chars=live.n_chars,
                bytes=live.n_bytes,
                pending_chars=live.n_pending_chars,
                specials_parsed=live.parse_specials,
                seconds=self._update_seconds,
                selection=self._selection_counts(),
                notes=(_raw_note(live.n_raw_bytes),) if live.n_raw_bytes else (),
                tokenizer_known=live.tokenizer is not None,
                lossless=live.tokenizer is None or not live.tokenizer.lossy,
                cost=self.cost_note(),
            )
        )

    def show_numbers(self) -> None:
        """Show the numbers of the status line again."""
        self._show_status()

    def _selection_counts(self) -> SelectionCounts | None:
        if self.editor.selection.is_empty:
            return None
        chars, n_bytes, tokens = self.live.counts(*self.selected_range())
        return SelectionCounts(tokens=tokens, chars=chars, bytes=n_bytes)

    def on_resize(self, event: events.Resize) -> None:
        """Show what there is room for."""
        if not self.drop_if_outdated(event):
            self._fit(event.size)
            self.call_after_refresh(self._sync_side)

    def _fit(self, size: Size) -> None:
        width, height = size
        self.set_class(width < NARROW_COLUMNS, "-narrow")
        self.set_class(height < SHORT_LINES, "-short")
        self.set_class(width < TINY_COLUMNS or height < TINY_LINES, "-tiny")
        self.set_class(width >= HUGE_COLUMNS and height >= HUGE_LINES, "-huge")

    # -- panels

    def action_show_ids(self) -> None:
        """Show the ids."""
        self._show_panel("ids")

    def action_show_splits(self) -> None:
        """Show the pieces of three split patterns."""
        self._show_panel("splits")

    def action_show_token(self) -> None:
        """Show one token."""
        self._show_panel("token")

    def action_show_mask(self) -> None:
        """Show the text as a conversation with its mask."""
        self._show_panel("mask")

    def on_mask_panel_chat_wanted(self, message: MaskPanel.ChatWanted) -> None:
        """Show the conversation of the Mask panel on the Chat screen."""
        message.stop()
        self.tokviz.opening.request = message.conversation
        self.tokviz.action_show_screen("chat")

    def action_next_panel(self) -> None:
        """Show the next panel."""
        self._step_panel(1)

    def action_prev_panel(self) -> None:
        """Show the previous panel."""
        self._step_panel(-1)

    def _step_panel(self, by: int) -> None:
        if self._panels_wanted:
            self.side.step(by)
        self._panel_changed()

    def _show_panel(self, panel_id: str) -> None:
        self.side.show(panel_id)
        self._panel_changed()

    def _panel_changed(self) -> None:
        self._show_panels(True)
        self.tokviz.change_settings(panel=self.side.shown, panel_visible=True)

    @property
    def _panels_wanted(self) -> bool:
        """Whether the user wants to see the panels; a small terminal may have no room for them."""
        return not self.has_class("-no-panels")

    def _show_panels(self, wanted: bool) -> None:
        self.set_class(not wanted, "-no-panels")
        self.set_class(self.side.shown == "token", "-token")
        self.call_after_refresh(self._sync_side)

    def action_toggle_panel(self) -> None:
        """Show or hide the side."""
        self._show_panels(not self._panels_wanted)
        self.tokviz.change_settings(panel_visible=self._panels_wanted)
        if not self._panels_wanted:
            self.editor.focus()

    def action_switch_focus(self) -> None:
        """Move the keyboard between the text and the panel."""
        panel = self.side.current_widget
        if self.editor.has_focus and self.right.display and panel is not None:
            panel.focus()
        else:
            self.editor.focus()

    def action_undo(self) -> None:
        """Take back the last change."""
        self.editor.undo()

    def action_redo(self) -> None:
        """Do again what was taken back."""
        self.editor.redo()


def _raw_note(n_bytes: int) -> str:
    return f"{n_bytes:,} invalid byte{'s' * (n_bytes != 1)} kept"
