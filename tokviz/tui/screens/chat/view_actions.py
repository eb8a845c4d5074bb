"""Looking: the views, the focus, the token that is explained, and findings."""

from __future__ import annotations

from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from tokviz import bytetext
from tokviz.chat.lint import Finding
from tokviz.tui.screens.chat.base import ChatBase
from tokviz.tui.screens.chat.editing import place_in, text_at
from tokviz.tui.screens.chat.findings import FindingList
from tokviz.tui.screens.chat.views import ChatViews
from tokviz.tui.widgets.conversation.rows import PartPlace
from tokviz.tui.widgets.conversation.view import MessageList
from tokviz.tui.widgets.mask.base import MaskTokenPicked, MaskView
from tokviz.tui.widgets.mask.counts import byte_of_token, token_at_byte


class ViewActions(ChatBase):
    """What is seen of the tokens."""

    views: ChatViews
    findings: list[Finding]
    _finding = -1
    _came_by_token: tuple[PartPlace, Selection] | None = None
    """Where the cursor is because a token was chosen."""

    # -- views

    def action_show_view(self, view: str) -> None:
        """Show the tokens in one of the ways there are."""
        self.set_class(False, "-no-side")
        self.views.show_view(view)

    def action_next_view(self) -> None:
        """Show the next view."""
        self.set_class(False, "-no-side")
        self.views.step(1)

    def action_previous_view(self) -> None:
        """Show the view before."""
        self.set_class(False, "-no-side")
        self.views.step(-1)

    def action_toggle_side(self) -> None:
        """Show or hide the tokens."""
        self.toggle_class("-no-side")
        if self.has_class("-no-side"):
            self.messages.editor.focus(scroll_visible=False)

    def action_switch_focus(self) -> None:
        """Move the keyboard between the messages and the tokens."""
        if self.views.has_focus_within or not self.views.display:
            self.focus_left()
        else:
            self.views.current.focus(scroll_visible=False)
            if isinstance(self.views.current, MaskView) and self.views.pin is None:
                self.views.current.action_pick()

    def focus_left(self) -> None:
        """Move the keyboard to what is in sight on the left."""
        raise NotImplementedError

    def show_left(self, view: str) -> None:
        """Show the conversation, the rows or their lengths."""
        raise NotImplementedError

    def action_toggle_invisibles(self) -> None:
        """Draw invisible characters as glyphs, or not."""
        show = not self.messages.editor.show_invisibles
        self.messages.set_invisibles(show)
        self.session.change_settings(show_invisibles=show)

    # -- tokens

    def on_mask_token_picked(self, event: MaskTokenPicked) -> None:
        """Explain the token that was chosen."""
        event.stop()
        self.pick_token(event.index, scroll=False)

    def on_mask_view_entered(self, event: MaskView.Entered) -> None:
        """Go to the message of the chosen token."""
        event.stop()
        if self.views.pin is not None:
            self._go_to_token(self.views.pin)

    def _go_to_token(self, index: int) -> None:
        """Put the cursor at the text of a token; at the message's beginning for structure."""
        rendering = self.rendering
        if rendering is None or index >= len(rendering) or rendering.message_of[index] < 0:
            return
        place = place_in(
            self.conversation,
            PartPlace(rendering.message_of[index], max(0, rendering.part_of[index])),
        )
        if place is None:
            return
        location = (0, 0)
        if not rendering.from_structure[index]:
            text = text_at(self.conversation, place)
            data = bytetext.to_bytes(text)[: byte_of_token(rendering, self.counts, index)]
            head = bytetext.from_bytes(data)
            location = (head.count("\n"), len(head) - (head.rfind("\n") + 1))
        self.messages.go_to(place, location)
        self._came_by_token = (place, self.messages.editor.selection)
        self.focus_left()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        """Explain the token at the cursor."""
        event.stop()
        self.follow_cursor()

    def follow_cursor(self) -> None:
        """Choose the token at the cursor, unless the cursor went there because of a token."""
        editor = self.messages.editor
        editor.set_marks(None, editor.token_at_cursor())
        if editor.has_focus:
            self.pick_token(self.wanted_pin())

    def wanted_pin(self) -> int | None:
        """Give the token to explain: the one at the cursor, unless another one was chosen."""
        editor, place, rendering = self.messages.editor, self.place, self.rendering
        if rendering is None or place is None or not editor.has_focus:
            return self.views.pin
        if (place, editor.selection) == self._came_by_token:
            return self.views.pin
        self._came_by_token = None
        row, column = editor.cursor_location
        offset = self.live.byte_offset(self.live.line_start(row) + column)
        return token_at_byte(rendering, self.counts, place.message, place.part, offset)

    def pick_token(self, index: int | None, *, scroll: bool = True) -> None:
        """Choose the token that is explained."""
        self.views.set_pin(index, scroll=scroll)

    def on_message_list_moved(self, event: MessageList.Moved) -> None:
        """Bring the tokens of the message at the cursor into view."""
        event.stop()
        self.remember_cursor()
        self.history.break_run()
        self.views.show_message(event.place.message)
        self.follow_cursor()

    # -- findings

    def on_finding_list_go_to(self, event: FindingList.GoTo) -> None:
        """Go to where a finding is."""
        event.stop()
        self._go_to_finding(event.index)

    def action_next_finding(self) -> None:
        """Go to where the next finding is."""
        if not self.findings:
            self.say("Nothing was found.")
            return
        self._go_to_finding((self._finding + 1) % len(self.findings))
        self.say(self.findings[self._finding].message, "warning")

    def _go_to_finding(self, index: int) -> None:
        if index >= len(self.findings):
            return
        self._finding = index
        finding = self.findings[index]
        self.show_left("conversation")
        if finding.token_index is not None and self.rendering is not None:
            self.set_class(False, "-no-side")
            if not isinstance(self.views.current, MaskView):
                self.views.show_view("tokens")
            self._go_to_token(finding.token_index)
            self.pick_token(finding.token_index)
        elif finding.message_index is not None:
            self.go_to_message(finding.message_index)

    def go_to_message(self, message: int) -> None:
        """Edit a message, its beginning in view."""
        place = place_in(self.conversation, PartPlace(message))
        if place is not None:
            self.messages.go_to(place, (0, 0))
            self.focus_left()

    def show_findings(self) -> None:
        """Show the newest findings."""
        self._finding = -1
        self.views.show_findings(self.findings)
        self.show_rendering()
