"""The Tokens screen: the editor, its side panels, the title and the status line."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.widget import Widget
from textual.widgets import TextArea

from tokviz.process.memory import share_one_heap
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import Gesture
from tokviz.tui.messages import Pasted, TextWanted
from tokviz.tui.palette import palette_of
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.choosing import TokenizerChoice
from tokviz.tui.screens.exporting import Exporting
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.screens.safekeeping import CONVERSATIONS, Recovery
from tokviz.tui.screens.single_pane import OnePart
from tokviz.tui.screens.tokens.copying import CopyTokens
from tokviz.tui.screens.tokens.costs import Costs
from tokviz.tui.screens.tokens.editing import Editing, Reading
from tokviz.tui.screens.tokens.encoding import BackgroundEncoding, UnstableMark
from tokviz.tui.screens.tokens.files import Files, ReadingOn
from tokviz.tui.screens.tokens.finding import Finding
from tokviz.tui.screens.tokens.panels import PANELS, SidePanels, TokenDetail
from tokviz.tui.screens.tokens.side import Side
from tokviz.tui.screens.tokens.split_lab import SplitLab
from tokviz.tui.screens.tokens.strip import OtherCounts
from tokviz.tui.screens.tokens.text import TextAtHand
from tokviz.tui.screens.why import RIGHT_CLICK, Asked, Explaining, asked_in, asked_of
from tokviz.tui.tasks import in_thread
from tokviz.tui.widgets.editor import TokenEditor
from tokviz.tui.widgets.status_line import SelectionCounts, StatusLine, StatusState
from tokviz.workspace.session import (
    GoToToken,
    OpenPath,
    Request,
    ShowConversation,
    ShowSavedText,
    ShowScreen,
    ShowText,
    TextChanged,
    UseTokenizer,
    sample_text,
)

if TYPE_CHECKING:
    from tokviz.tui.widgets.mask_panel import MaskPanel
    from tokviz.tui.widgets.splits.view import PreTokenClicked

_SAMPLE = "sample: type or paste to replace it"

COLLECTED_AFTER = 5_000, 10, 100
"""Thresholds of the garbage collector. A full collection takes as long as two frames, so the app
runs it while it is idle."""

RECOVERY_DELAY = 2.0
"""Seconds after the first frame until the app looks for texts of earlier sessions."""


class TokensScreen(TokvizScreen):
    """See the tokens of a text while it is typed."""

    SCREEN_ID = "tokens"
    AUTO_FOCUS = "#text"
    CONTROLLERS = (
        Explaining,
        Side,
        Files,
        TokenizerChoice,
        Reading,
        Costs,
        Finding,
        CopyTokens,
        Exporting,
        Editing,
        SplitLab,
        OtherCounts,
        Recovery,
    )
    GESTURES = (
        Gesture("Point at a token", "Highlights its text and its id."),
        Gesture("Click a token", "Pins it and shows it in the Token panel."),
        Gesture(
            "Drag over text",
            "Selects it. The Token panel explains why it is not one token.",
        ),
        RIGHT_CLICK,
        Gesture("Wheel", "Scrolls the part under the pointer."),
        Gesture("Click the tokenizer", "Opens the list of tokenizers."),
        Gesture("Click a panel's name", "Shows that panel."),
    )

    @classmethod
    def parts(cls) -> Sequence[type[Widget]]:
        """Return the widgets of the panels."""
        from tokviz.tui.widgets.id_grid import IdGrid
        from tokviz.tui.widgets.mask.base import MaskView
        from tokviz.tui.widgets.mask_panel import MaskPanel
        from tokviz.tui.widgets.splits.regex_field import RegexInput
        from tokviz.tui.widgets.token_card import TokenCard

        return IdGrid, RegexInput, TokenCard, MaskPanel, MaskView

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        # Set the classes first, so that the widgets are styled only once.
        self.fit(self.app.size)
        session, settings, palette = self.session, self.session.settings, palette_of(self.app)
        self.live = live = session.live
        self.editor = TokenEditor(
            live, palette, show_invisibles=settings.show_invisibles, id="text"
        )
        self.editor.soft_wrap = settings.wrap
        self.editor.tab_behavior = "indent"
        self.editor.indent_type = "tabs"
        self.editor.has_pin = True
        self.editor.on_edited, self.editor.on_moved = self._edited, self._cursor_moved
        self.editor.disable_messages(TextArea.Changed, TextArea.SelectionChanged)
        self.editor.placeholder = "Type, paste, or open a file (Ctrl+O)."
        self.editor.should_replace_all = lambda: session.is_sample and session.path is None
        panels = SidePanels(session)
        right = Container(id="right")
        detail = TokenDetail(session)
        self.panels, self.detail = panels, detail
        self.status = StatusLine(id="status")
        self._make_controllers(right)
        yield self.title_bar
        with Container(id="work"):
            yield self.editor
            with right:
                yield panels
                yield detail
        if settings.strip:
            yield self.other_counts.view
        yield self.status
        yield self.keys

    def _make_controllers(self, right: Container) -> None:
        self.text = text = TextAtHand(self.session, self.editor, self.refresh_document)
        self.files = Files(self, text)
        self.recovery = Recovery(self, self.files.safe, "text", self.files.restore, CONVERSATIONS)
        self.choice = TokenizerChoice(self, self._take_back_paste)
        self.costs = Costs(self, self._show_status, self._edit_prices)
        one_part = OnePart(self, right, "-short", "-narrow")
        self.side = Side(self, text, right, self.panels, self.detail, one_part)
        self.reading_on = ReadingOn(self, text, self._show_status)
        self.encoding = BackgroundEncoding(self, self._show_tokens)
        self.unstable = UnstableMark(self, text)
        self.other_counts = OtherCounts(self)
        Finding(self, text)
        Reading(self, text, self.choice)
        Exporting(self, CopyTokens(self, text).shown)
        self.editing = Editing(self, text)
        self.split_lab = SplitLab(self, self.panels, self.side.show_panel)
        Explaining(self, self._asked_why)
        self._update_seconds: float | None = None

    def on_mount(self) -> None:
        """Show the text."""
        self.refresh_document()

    def begin(self) -> None:
        """Start once all of the text has been read."""
        if self.live.has_rest:
            self.call_after_refresh(self._show_panels)
            self.call_after_refresh(self.reading_on.start, self.begin)
        else:
            super().begin()

    def _show_panels(self) -> None:
        self.panels.show(self.panels.shown)
        self.call_after_refresh(self.side.sync)

    def started(self) -> None:
        """Start the work that the first frame does not need."""
        self._show_panels()
        # All current objects stay alive, so the collector can skip them.
        gc.freeze()
        gc.set_threshold(*COLLECTED_AFTER)
        gc.enable()
        share_one_heap()
        for note in self.session.notes:
            self.say(note, "warning")
        self.encoding.allow()
        self.other_counts.begin()
        self.files.safe.begin()
        self.set_timer(RECOVERY_DELAY, self.recovery.begin)
        self.costs.read()
        super().started()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Update the compared tokenizers, and encode pending text.

        The tokenizer may have changed and changed back in the meantime.
        """
        self.other_counts.sync()
        self.encoding.start()

    def on_screen_suspend(self) -> None:
        """Stop encoding with the compared tokenizers."""
        self.other_counts.rest()

    # -- the document has changed

    def _edited(self) -> None:
        """Show an edit in all parts of the screen in the same frame."""
        started = time.perf_counter()
        self.session.edits += 1
        self.session.version = self.editor.history.version
        self.session.is_sample = False
        self.unstable.note()
        self.side.sync()
        self._update_seconds = self.editor.last_edit_seconds + time.perf_counter() - started
        self._show_name()
        self.editing.look()
        self._show_status()
        self.other_counts.sync()
        self.encoding.start()

    def refresh_document(self) -> None:
        """Update all parts of the screen after the document has changed."""
        if self.session.edits == 0:
            self._update_seconds = None
        self.editing.look()
        self._show_tokens()
        self._show_name()
        self.encoding.start()
        if not self.is_current:
            self.session.tell(TextChanged())

    def _show_tokens(self) -> None:
        """Show newly encoded tokens."""
        self.unstable.note()
        self.editor.refresh()
        self.side.sync()
        self._show_status()
        self.other_counts.sync()

    def tokenizer_changed(self, tokenizer: Tokenizer) -> None:
        """Show the tokens of another tokenizer."""
        self.refresh_document()

    def answer(self, request: Request) -> None:
        """Handle a request of another screen."""
        match request:
            case ShowText(text):
                self.text.replace_all(text)
            case OpenPath(path):
                self.files.open_path(path)
            case GoToToken(index):
                self.call_after_refresh(self.text.editor.go_to_token, index)
            case UseTokenizer(source):
                self.choice.use(source)
            case ShowSavedText():
                self._show_saved(request)

    def _show_saved(self, saved: ShowSavedText) -> None:
        """Show the text of a session file, then the screen that was shown."""
        for asked_before in ("open", "specials"):
            self.workers.cancel_group(self, asked_before)
        if saved.parse_specials != self.live.parse_specials:
            self.live.set_parse_specials(saved.parse_specials)
        if any(kind.id == saved.panel for kind in PANELS):
            self.side.show_panel(saved.panel)
        self.split_lab.recall()

        def shown() -> None:
            self.session.mark_replaced(None)
            self.refresh_document()
            self.text.go_to(max(0, min(saved.cursor, self.live.n_chars)))
            if any(kind.id == saved.then for kind in SCREENS):
                self.session.ask(ShowScreen(saved.then))

        # Keys typed while a long text is prepared edit the previous text.
        in_thread(
            self,
            "open",
            lambda task: self.editor.prepare(saved.text),
            lambda _: self.text.replace_all(saved.text, shown),
        )

    def saved(self) -> dict[str, Any]:
        """Return the cursor's offset."""
        return {"cursor": self.text.selected_range()[0]}

    def _asked_why(self) -> Asked | str:
        """Return the clicked token of the Mask panel if the text lacks it, otherwise the text's."""
        from tokviz.tui.widgets.mask_panel import MaskPanel

        panel = self.panels.current
        if isinstance(panel, MaskPanel) and panel.flow.has_focus and not panel.is_of_text:
            return asked_of(panel.flow.tokens, panel.flow.pinned)
        return asked_in(self.editor)

    # -- routing

    def _cursor_moved(self) -> None:
        self.side.follow_cursor()
        self._show_status()

    def _take_back_paste(self, pasted: Pasted) -> None:
        """Undo the paste unless the text was edited afterwards."""
        if self.editor.history.version is pasted.version:
            self.editor.undo()
            if self.live.text == sample_text():
                self.session.mark_replaced(None, is_sample=True)
                self._show_name()

    def _edit_prices(self, path: Path) -> None:
        self.files.unless_unsaved(lambda: self.files.open_path(path))

    def on_pre_token_clicked(self, message: PreTokenClicked) -> None:
        """Select the pre-token clicked in the Splits panel."""
        self.text.go_to(message.offset, message.end)

    def on_mask_panel_chat_wanted(self, message: MaskPanel.ChatWanted) -> None:
        """Show the conversation of the Mask panel on the Chat screen."""
        self.session.ask(ShowConversation(message.conversation))

    def on_text_wanted(self, message: TextWanted) -> None:
        """Replace the text with one from a panel. Undo restores the previous text."""
        self.text.replace_all(message.text)

    # -- the lines above and below

    def _show_name(self) -> None:
        session = self.session
        path = session.path
        name = safe(path.name) if path else _SAMPLE if session.is_sample else "text"
        changed = " •" if session.modified else ""
        self.editor.border_title = f" {name}{changed} ".replace("[", r"\[")

    def _show_status(self) -> None:
        live = self.live
        fate = "become U+FFFD" if live.n_raw_bytes > 1 else "becomes U+FFFD"
        self.status.show(
            StatusState(
                tokens=live.n_tokens,
                chars=live.n_chars,
                bytes=live.n_bytes,
                pending_chars=live.n_pending_chars,
                failure="" if live.failure is None else str(live.failure),
                specials_parsed=live.parse_specials,
                seconds=self._update_seconds,
                selection=self._selection_counts(),
                notes=(
                    f"{pluralize(live.n_raw_bytes, 'invalid byte')} "
                    f"{fate if live.replaces_bytes else 'kept'}",
                )
                if live.n_raw_bytes
                else (),
                lossless=live.lossless,
                loss=live.tokenizer.normalizer.name if live.tokenizer is not None else "",
                cost=self.costs.note(),
                ids=self.editing.note,
                share_read=self.reading_on.share,
            )
        )

    def _selection_counts(self) -> SelectionCounts | None:
        if self.editor.selection.is_empty:
            return None
        chars, n_bytes, tokens = self.live.counts(*self.text.selected_range())
        return SelectionCounts(tokens=tokens, chars=chars, bytes=n_bytes)

    def fitted(self) -> None:
        """Update the panels after a resize."""
        self.side.sync()
