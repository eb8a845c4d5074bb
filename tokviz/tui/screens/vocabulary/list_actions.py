"""What can be done with the list: filters, order, moving, copying, going to the text."""

from __future__ import annotations

from textual import on

from tokviz.explain.facts import entry_of
from tokviz.session import GoToToken
from tokviz.tui.screens.vocabulary.page_actions import PageActions
from tokviz.tui.screens.vocabulary.table import TokenTable
from tokviz.tui.widgets.card_rows import token_copies
from tokviz.vocabulary.query import split_words, toggle_word
from tokviz.vocabulary.search import ORDERS


class ListActions(PageActions):
    """Filters, order, the mark in the list, and what is done with the marked token."""

    _wanted_id: int | None = None
    """A token to show once the vocabulary is read."""
    _marked_id: int | None = None
    """The token that was marked last."""

    # -- filters

    def put(self, text: str) -> None:
        """Put a text into the search field."""
        self.field.value = text
        self.field.cursor_position = len(text)

    def flags(self) -> set[str]:
        """Give the properties that are asked for by now, such as "special"."""
        words = split_words(self.typed)
        return {word.value for word in words if word.name == "is" and not word.negated}

    def action_toggle_word(self, name: str, value: str) -> None:
        """Put a filter into the search field, or take it out."""
        self.put(toggle_word(self.typed, name, value))

    def action_only_used(self) -> None:
        """Show only the tokens of the text, or all."""
        self.action_toggle_word("is", "used")

    def action_only_special(self) -> None:
        """Show only special tokens, or all."""
        self.action_toggle_word("is", "special")

    def action_only_partial(self) -> None:
        """Show only tokens with cut characters, or all."""
        self.action_toggle_word("is", "partial")

    def action_only_unreachable(self) -> None:
        """Show only unreachable tokens, or all."""
        self.action_toggle_word("is", "unreachable")

    def action_clear_search(self) -> None:
        """Go back to the search field; from there, show all tokens."""
        if self.field.has_focus or not len(self.table):
            self.put("")
        self.field.focus()

    # -- order

    @on(TokenTable.SortAsked)
    def _sort_asked(self, event: TokenTable.SortAsked) -> None:
        event.stop()
        if event.order == self.order:
            self.descending = not self.descending
        else:
            self.order = event.order
            # Who sorts by a number of something looks for the greatest.
            self.descending = event.order in ("length", "characters", "uses")
        self.search()

    def action_next_order(self) -> None:
        """Sort by the next column."""
        self.order = ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        self.descending = self.order in ("length", "characters", "uses")
        self.search()

    def action_reverse_order(self) -> None:
        """Begin at the other end."""
        self.descending = not self.descending
        self.search()

    def action_longest_first(self) -> None:
        """Sort by bytes, the longest first."""
        self.order, self.descending = "length", True
        self.search()

    # -- the list

    def action_move(self, step: int) -> None:
        """Move the mark in the list."""
        self.table.move(step)

    def action_page(self, step: int) -> None:
        """Move the mark by a page."""
        self.table.move(step * self.table.page)

    def action_to_edge(self, end: bool) -> None:
        """Move the mark to the first or the last token."""
        self.table.move_to_edge(end)

    @on(TokenTable.Highlighted)
    def _highlighted(self, event: TokenTable.Highlighted) -> None:
        event.stop()
        if self.table.token_id == self._marked_id:
            return
        self._marked_id = self.table.token_id
        self._trail = ()
        if self.side.shown == "token":
            self.show_side(anew=True)
        if self.has_class("-huge"):
            self.show_beside()

    @on(TokenTable.Opened)
    def _opened(self, event: TokenTable.Opened) -> None:
        event.stop()
        if not self.beside.display:
            self.choose_page("token")

    def action_open_token(self) -> None:
        """Show the marked token's page and go there."""
        if self.beside.display:
            self.beside.rows.focus()
        else:
            self.choose_page("token")
            self.side.rows.focus()

    def action_find_id(self, token_id: int) -> None:
        """Mark a token and show its page, also if the list does not hold it."""
        if self.index is None:
            self._wanted_id = token_id
        elif self.table.highlight_id(token_id):
            self.go_to_page(())
        elif self.index.row_of(token_id) is not None:
            self.go_to_page((token_id,))

    def action_jump_to_text(self) -> None:
        """Show where the text uses the token that is marked or shown."""
        token_id = self.shown_id
        live = self.session.live
        found = None if token_id is None else live.next_occurrence(token_id, -1)
        if found is None:
            self.say("The text on the Tokens screen does not use this token.")
        else:
            self.action_jump(found)

    def action_jump(self, index: int) -> None:
        """Show a token of the text."""
        if index >= self.session.live.n_tokens:
            self.say("The text has changed: it has no such token any more.")
            return
        self.session.ask(GoToToken(index))

    def action_copy_id(self) -> None:
        """Copy the marked token's id."""
        self._copy_part(0)

    def action_copy_bytes(self) -> None:
        """Copy the marked token's bytes in hexadecimal."""
        self._copy_part(1)

    def action_copy_token_text(self) -> None:
        """Copy the marked token's text."""
        self._copy_part(2)

    def _copy_part(self, number: int) -> None:
        token_id = self.shown_id
        if self.index is None or token_id is None:
            self.say("There is no token to copy.")
            return
        copies = token_copies(entry_of(self.index.tokenizer, token_id))
        if number >= len(copies):
            self.say("These bytes are no text: Shift+F4 copies them in hexadecimal.")
            return
        self.copy(*copies[number])
