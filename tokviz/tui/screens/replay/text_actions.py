"""Choosing and editing the user's text."""

from __future__ import annotations

from textual import on
from textual.widgets import Input, TextArea

from tokviz.tui.screens.replay.base import ReplayBase
from tokviz.tui.screens.replay.own_text import OwnText


class TextActions(ReplayBase):
    """Takes the text of the Tokens screen, or one that is typed here."""

    _text_taken: tuple[int, str] | None = None
    """The revision of the text of the Tokens screen that was taken last, and the text."""

    def take_text_at_hand(self) -> None:
        """Take the text of the Tokens screen, unless the user has given another one here."""
        live = self.session.live
        if not self.own.is_own and self._text_taken != (live.revision, live.text):
            self.action_text_at_hand()

    def action_text_at_hand(self) -> None:
        """Take the text of the Tokens screen."""
        live = self.session.live
        self._text_taken = (live.revision, live.text)
        self.own.end_edit()
        self.own.set_text(live.text, is_own=False)

    def action_edit_text(self) -> None:
        """Edit the user's text."""
        self.pause()
        self.show_view("texts", focus=False)
        self.own.edit()

    def action_select_all(self) -> None:
        """Select everything where the keyboard is."""
        if isinstance(self.focused, (Input, TextArea)):
            self.focused.select_all()

    @on(OwnText.Changed)
    def _text_changed(self, event: OwnText.Changed) -> None:
        event.stop()
        self.want_frame()
        self.compare_text()
