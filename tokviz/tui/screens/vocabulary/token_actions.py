"""Actions on the selected token, or on the token of the current page."""

from __future__ import annotations

from textual import on
from textual.widgets import Input

from tokviz.explain.facts import entry_of
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.vocabulary.pages import Pages
from tokviz.tui.widgets.card_rows import token_copies
from tokviz.tui.widgets.lists import RowList
from tokviz.workspace.session import GoToToken


class TokenActions(Controller):
    """Going to its page, to the text that uses it, and copying it."""

    def __init__(self, screen: TokvizScreen, pages: Pages) -> None:
        """Create the controller with the pages."""
        super().__init__(screen)
        self._pages = pages

    @on(RowList.Picked, "#table")
    def _clicked(self) -> None:
        if not self._pages.beside.display:
            self._pages.show_page("token")

    @on(Input.Submitted, "#query")
    @action("Show the token's page", "enter", section="Tokens", footer="token", bound=False)
    def open_token(self) -> None:
        """Show the selected token: bytes, merges, the tokens it is merged into, your text."""
        if self._pages.beside.display:
            self._pages.beside.focus()
        else:
            self._pages.show_page("token")
            self._pages.rows.focus()

    @action("Back to the previous token", "backspace", section="Tokens", bound=False)
    def token_before(self) -> None:
        """Go back to the page of the previous token."""
        self._pages.go_back()

    @action("Go to the token in the text", "f3", section="Tokens", footer="in text")
    def jump_to_text(self) -> None:
        """Show the Tokens screen with the cursor on the first place that uses the marked token."""
        token_id, live = self._pages.shown_id, self.session.live
        found = None if token_id is None else live.next_occurrence(token_id, -1)
        if found is None:
            self.say("The text on the Tokens screen does not use this token.")
        else:
            self.jump(found)

    def jump(self, index: int) -> None:
        """Show a token of the text."""
        if index >= self.session.live.n_tokens:
            self.say("The text has changed and no longer has that token.")
            return
        self.session.ask(GoToToken(index))

    @action("Copy the token's id", "f4", section="Tokens", footer="copy id")
    def copy_id(self) -> None:
        """Copy the id of the marked token."""
        self._copy_part(0)

    @action("Copy the token's bytes", "shift+f4", section="Tokens")
    def copy_bytes(self) -> None:
        """Copy the bytes of the marked token in hexadecimal."""
        self._copy_part(1)

    @action("Copy the token's text", "alt+c", section="Tokens")
    def copy_token_text(self) -> None:
        """Copy the text of the marked token exactly as it is."""
        self._copy_part(2)

    def _copy_part(self, number: int) -> None:
        token_id = self._pages.shown_id
        if token_id is None:
            self.say("There is no token to copy.")
            return
        copies = token_copies(entry_of(self.session.tokenizer, token_id))
        if number >= len(copies):
            self.say("These bytes are not text. Shift+F4 copies them in hexadecimal.")
            return
        self.copy(*copies[number])
