"""Looking: the views, the focus, the token that is explained, and findings."""

from __future__ import annotations

from tokviz.chat.lint import Finding
from tokviz.tui.screens.chat.base import ChatBase
from tokviz.tui.screens.chat.editing import place_in
from tokviz.tui.screens.chat.findings import FindingList
from tokviz.tui.screens.chat.views import ChatViews
from tokviz.tui.widgets.conversation.rows import PartPlace
from tokviz.tui.widgets.conversation.view import MessageList
from tokviz.tui.widgets.mask.base import MaskTokenPicked, MaskView


class ViewActions(ChatBase):
    """What is seen of the tokens."""

    views: ChatViews
    findings: list[Finding]
    _finding = -1

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

    def action_toggle_invisibles(self) -> None:
        """Draw invisible characters as glyphs, or not."""
        show = not self.messages.editor.show_invisibles
        self.messages.set_invisibles(show)
        self.tokviz.change_settings(show_invisibles=show)

    # -- tokens

    def on_mask_token_picked(self, event: MaskTokenPicked) -> None:
        """Explain the token that was chosen."""
        event.stop()
        self.pick_token(event.index, scroll=False)

    def on_mask_view_entered(self, event: MaskView.Entered) -> None:
        """Go to the message of the chosen token."""
        event.stop()
        rendering, index = self.rendering, self.views.pin
        if rendering is None or index is None or index >= len(rendering):
            return
        message = rendering.message_of[index]
        if message >= 0:
            self._go_to_token(message, index)

    def _go_to_token(self, message: int, index: int) -> None:
        """Put the cursor at the text of a token; at the message's beginning for structure."""
        rendering = self.rendering
        assert rendering is not None
        place = place_in(self.conversation, PartPlace(message, max(0, rendering.part_of[index])))
        if place is None:
            return
        location = (0, 0)
        if not rendering.from_structure[index]:
            location = self._location_of(place, index)
        self.messages.go_to(place, location)
        self.focus_left()

    def _location_of(self, place: PartPlace, index: int) -> tuple[int, int]:
        """Find the line and column at which a content token begins in its part."""
        rendering = self.rendering
        assert rendering is not None
        n_bytes = 0
        for before in range(index - 1, -1, -1):
            same = (rendering.message_of[before], rendering.part_of[before]) == place
            if not same:
                break
            if not rendering.from_structure[before]:
                n_bytes += len(rendering.token_bytes(before))
        message = self.conversation.messages[place.message]
        text = message.parts[place.part].text if message.parts else ""
        from tokviz import bytetext

        head = bytetext.from_bytes(bytetext.to_bytes(text)[:n_bytes])
        return head.count("\n"), len(head) - (head.rfind("\n") + 1)

    def pick_token(self, index: int | None, *, scroll: bool = True) -> None:
        """Choose the token that is explained."""
        self.views.set_pin(index, scroll=scroll)

    def on_message_list_moved(self, event: MessageList.Moved) -> None:
        """Bring the tokens of the message at the cursor into view."""
        event.stop()
        self.remember_cursor()
        self.history.break_run()
        self.views.show_message(event.place.message)

    # -- findings

    def on_finding_list_picked(self, event: FindingList.Picked) -> None:
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
        if finding.token_index is not None and self.rendering is not None:
            self.set_class(False, "-no-side")
            if not isinstance(self.views.current, MaskView):
                self.views.show_view("tokens")
            self.pick_token(finding.token_index)
        if finding.message_index is not None:
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
