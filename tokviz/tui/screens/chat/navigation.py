"""Navigation: views, focus, the explained token, findings, and places by number."""

from __future__ import annotations

from dataclasses import field

from textual import on
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from tokviz.text import bytetext
from tokviz.tui.actions import LEADER, action, action_each
from tokviz.tui.dialogs.ask_text import GotoDialog, Numbered
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.chat.dataset import Rows
from tokviz.tui.screens.chat.editing import place_in, text_at
from tokviz.tui.screens.chat.rendering import RenderedConversation
from tokviz.tui.screens.chat.state import ConversationAtHand
from tokviz.tui.screens.chat.views import VIEWS, ChatViews
from tokviz.tui.screens.single_pane import OnePart
from tokviz.tui.widgets.conversation.rows import PartPlace, end_of
from tokviz.tui.widgets.conversation.view import MessageList
from tokviz.tui.widgets.mask.base import MaskTokenPicked, MaskView, kept_pin
from tokviz.tui.widgets.mask.counts import byte_of_token, token_at_byte
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import GoTo, ToFinding
from tokviz.tui.widgets.view_switcher import ViewSwitcher


class Looking(Controller):
    """The visible view of the tokens, and the explained token."""

    _chat: ConversationAtHand
    _rendered: RenderedConversation
    _left: ViewSwitcher
    _views: ChatViews
    _rows: Rows
    _one_part: OnePart
    _came_by_token: tuple[PartPlace, Selection] | None = field(default=None, init=False)
    """Cursor position set by choosing a token."""
    _marked: object = field(default=None, init=False)

    # -- views

    @action("Next view", "f2", section="View", footer="view")
    def next_view(self) -> None:
        """Show the tokens in another way."""
        self._step(1)

    @action("Previous view", "shift+f2", section="View")
    def previous_view(self) -> None:
        """Show the tokens in the previous way."""
        self._step(-1)

    def _step(self, by: int) -> None:
        is_hidden = self._one_part.is_hidden
        self._show_side()
        if not is_hidden:
            self._views.step(by)

    @action_each(VIEWS, "{} view", call="show_view", section="View", words="explain why")
    def show_view(self, view: str) -> None:
        """Show the tokens in one of the ways there are."""
        self._show_side()
        self._views.show_view(view)

    def _show_side(self) -> None:
        self.screen.set_class(False, "-no-side")
        if self._one_part.is_small:
            self._focus_views()

    @action("Go between messages and tokens", "f5", section="View", footer="tokens")
    def switch_focus(self) -> None:
        """Move the keyboard from the messages to the tokens and back."""
        views = self._views
        if views.has_focus_within or not views.display:
            self.focus_left()
        else:
            self._focus_views()

    def _focus_views(self) -> None:
        views = self._views
        views.turns.focus(scroll_visible=False)
        if isinstance(views.current, MaskView) and views.pin is None:
            views.current.action_pick()

    def focus_left(self) -> None:
        """Focus the visible widget on the left."""
        self._left.focus(scroll_visible=False)

    @action("Show or hide the tokens", "f9", section="View")
    def toggle_side(self) -> None:
        """Show or hide the tokens beside the messages."""
        if self._one_part.is_small and self._views.display:
            self.switch_focus()
            return
        self.screen.toggle_class("-no-side")
        if self.screen.has_class("-no-side"):
            self._chat.messages.focus(scroll_visible=False)

    # -- findings

    @action("Next finding", "f3", section="View")
    def next_finding(self) -> None:
        """Go to the message and the token of the next finding."""
        findings = self._rendered.findings
        if not findings and not self._rendered.is_looking:
            self.say("No findings.")
            return
        index = (self._rendered.finding + 1) % max(1, len(findings))
        if self._go_to_finding(index):
            self.say(findings[index].message, "warning")

    @on(RowsView.Picked)
    def _finding_picked(self, message: RowsView.Picked) -> None:
        if isinstance(message.action, ToFinding):
            self._go_to_finding(message.action.number)
        elif isinstance(message.action, GoTo):
            self.pick_token(message.action.token_index)

    def _go_to_finding(self, index: int) -> bool:
        """Go to the place of a finding; return False if it no longer exists."""
        if self._rendered.is_looking:
            self.say("The conversation is still being checked.")
            return False
        findings = self._rendered.findings
        if not 0 <= index < len(findings):
            return False
        self._rendered.finding = index
        finding = findings[index]
        self._left.show("conversation")
        if finding.token_index is not None and self._rendered.rendering is not None:
            self._show_side()
            if not isinstance(self._views.current, MaskView):
                self._views.show_view("tokens")
            self._go_to_token(finding.token_index)
            self.pick_token(finding.token_index)
        elif finding.message_index is not None:
            self._go_to_message(finding.message_index + 1)
            self.focus_left()
        return True

    # -- tokens

    @on(MaskTokenPicked)
    def _token_picked(self, message: MaskTokenPicked) -> None:
        self.pick_token(message.index, scroll=False)

    def pick_token(self, index: int | None, *, scroll: bool = True) -> None:
        """Choose the token to explain."""
        self._views.set_pin(index, scroll=scroll)

    def mark_change(self) -> None:
        """Explain the first token changed by a variable or the policy, once after the change."""
        change = self._rendered.change
        if change is not self._marked and change is not None and change.first is not None:
            self.pick_token(change.first)
        self._marked = change

    @on(MaskView.Entered)
    def _token_entered(self) -> None:
        """Go to the message of the chosen token."""
        if self._views.pin is not None:
            self._go_to_token(self._views.pin)

    def _go_to_token(self, index: int) -> None:
        """Move the cursor to a token's text, or to the message's start for template text."""
        rendering, conversation = self._rendered.rendering, self._chat.conversation
        if rendering is None or index >= len(rendering):
            return
        run = rendering.run_of(index)
        place = place_in(conversation, PartPlace(run.message, max(0, run.part)))
        if run.message < 0 or place is None:
            return
        location = (0, 0)
        if not rendering.from_structure[index] and run.part >= 0:
            data = bytetext.to_bytes(text_at(conversation, place))
            n_bytes = byte_of_token(rendering, self._rendered.counts, index)
            location = end_of(bytetext.from_bytes(data[:n_bytes]))
        self._chat.messages.go_to(place, location)
        self._came_by_token = (place, self._chat.messages.editor.selection)
        self.focus_left()

    @on(TextArea.SelectionChanged)
    def follow_cursor(self) -> None:
        """Choose the token at the cursor, unless the cursor went there because of a token."""
        editor = self._chat.messages.editor
        if editor.has_focus:
            self.pick_token(self.wanted_pin())

    def wanted_pin(self) -> int | None:
        """Return the token to explain: the chosen one, or else the one at the cursor."""
        editor, place = self._chat.messages.editor, self._chat.place
        rendering = self._rendered.rendering
        if rendering is None or place is None or not editor.has_focus:
            return kept_pin(self._views.pin, self._views.rendering, rendering)
        if (place, editor.selection) == self._came_by_token:
            kept = kept_pin(self._views.pin, self._views.rendering, rendering)
            if kept is not None:
                return kept
        self._came_by_token = None
        row, column = editor.cursor_location
        offset = editor.live.byte_offset(editor.live.line_start(row) + column)
        counts = self._rendered.counts
        return token_at_byte(rendering, counts, place.message, place.part, offset)

    @on(MessageList.Moved)
    def _message_moved(self, message: MessageList.Moved) -> None:
        """Bring the tokens of the message at the cursor into view."""
        self._chat.remember_cursor()
        self._chat.history.break_run()
        self._views.show_message(message.place.message)
        self.follow_cursor()

    @action("Show or hide invisible characters", f"{LEADER} m", section="View", words="whitespace")
    def toggle_invisibles(self) -> None:
        """Draw spaces, tabs, line ends and other invisible characters as glyphs."""
        messages = self._chat.messages
        show = not messages.editor.show_invisibles
        messages.set_invisibles(show)
        self.session.change_settings(show_invisibles=show)

    # -- places by number

    @action("Go to…", "ctrl+g", section="View")
    def goto(self) -> None:
        """Jump to a row of the dataset (12), a message (m3) or a token (#12)."""
        rendering, dataset, chat = self._rendered.rendering, self._rows.dataset, self._chat
        n_messages = len(chat.conversation.messages)
        last_token = -1 if rendering is None else len(rendering) - 1
        kinds = [
            Numbered("m", "m3", "message", 1, n_messages, self._go_to_message),
            Numbered("#", "#12", "token", 0, last_token, lambda n, _: self.pick_token(n)),
        ]
        if dataset is not None and dataset.n_rows:
            go_to_row = self._rows.go_to
            rows = Numbered("", "12", "row", 1, dataset.n_rows, lambda n, _: go_to_row(n - 1))
            kinds.insert(0, rows)
        self.ask(GotoDialog(kinds), lambda go: go())

    def _go_to_message(self, number: int, _column: int = 1) -> None:
        # A file or row with fewer messages may have been opened in the meantime.
        place = place_in(self._chat.conversation, PartPlace(number - 1))
        if place is not None:
            self._chat.messages.go_to(place, (0, 0))
