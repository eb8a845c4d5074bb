"""Commands to find text, go to a position, and step through occurrences of a token."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

from tokviz.tui.actions import LEADER, action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.tokens.text import TextAtHand
from tokviz.workspace.session import ShowToken

if TYPE_CHECKING:
    from tokviz.live.find import FindQuery, Matches
    from tokviz.tui.dialogs.find import FindResult

_TOKEN_ID = re.compile(r"#(\d{1,9})", re.ASCII)
_MOST_TOKENS = 10_000
"""Maximum number of matches for a token id."""


class Finding(Controller):
    """Find, go to, next and previous occurrence."""

    def __init__(self, screen: TokvizScreen, text: TextAtHand) -> None:
        """Take the text."""
        super().__init__(screen)
        self._text = text
        self._query: FindQuery | None = None
        self._put = ""

    @action("Find text", "ctrl+f", section="Find", footer="find", words="search regex")
    def find(self) -> None:
        """Search the text for words, a regular expression, or tokens by id (#498)."""
        self._open(False)

    @action("Replace text", f"{LEADER} r", section="Find", words="substitute change")
    def replace(self) -> None:
        r"""Search the text, and replace one match or all. \1 inserts a regex group."""
        self._open(True)

    def _open(self, replacing: bool) -> None:
        from tokviz.tui.dialogs.find import FindDialog

        text = self._text
        start, _ = text.selected_range()

        def change(first: int, last: int, new: str) -> str:
            text.put(first, last, new)
            return text.live.text

        dialog = FindDialog(
            text.live.text,
            start,
            self._query,
            text.go_to,
            change,
            tokens=self._tokens,
            placeholder="Text, or #498 for a token id",
            prepare=text.editor.prepare,
            put=self._put,
            replacing=replacing,
        )
        self.app.push_screen(dialog, self._found)

    def _tokens(self, query: FindQuery) -> Matches | None:
        """Find the tokens of an id such as #498."""
        from tokviz.live.find import Matches

        wanted = _TOKEN_ID.fullmatch(query.text)
        if wanted is None or query.regex:
            return None
        live, token_id = self._text.live, int(wanted[1])
        number, indexes = live.occurrences(token_id, _MOST_TOKENS)
        if not indexes:
            hint = f"Ctrl+L 6 opens the Vocabulary screen, which finds #{token_id}."
            return Matches(problem=f"The text has no token {token_id}. {hint}")
        found = [live.token(index) for index in indexes]
        starts, ends = [token.start for token in found], [token.end for token in found]
        return Matches(array("q", starts), array("q", ends), complete=number == len(found))

    def _found(self, result: FindResult | None) -> None:
        if result is not None:
            self._query, self._put = result.query, result.put
        self._text.editor.focus()

    @action("Go to…", "ctrl+g", section="Find")
    def goto(self) -> None:
        """Jump to a line (12 or 12:3), a token (#12) or a byte (@345)."""
        from tokviz.tui.dialogs.ask_text import GotoDialog, Numbered

        live = self._text.live
        kinds = [
            Numbered("", "12 or 12:3", "line", 1, live.n_lines, self._go_to_line),
            Numbered("#", "#12", "token", 0, live.n_tokens - 1, self._go_to_token),
            Numbered("@", "@345", "byte", 0, live.n_bytes, self._go_to_byte),
        ]
        self.ask(GotoDialog(kinds), lambda go: go())

    def _go_to_line(self, number: int, column: int) -> None:
        live = self._text.live
        row = min(number, live.n_lines) - 1
        start = live.line_start(row)
        end = live.line_start(row + 1) - 1 if row + 1 < live.n_lines else live.n_chars
        self._text.go_to(min(start + column - 1, end))

    def _go_to_token(self, number: int, _column: int) -> None:
        self._text.editor.go_to_token(min(number, self._text.live.n_tokens - 1))

    def _go_to_byte(self, number: int, _column: int) -> None:
        live = self._text.live
        offset = bisect_right(range(live.n_chars), number, key=live.byte_offset) - 1
        self._text.go_to(offset)

    def _at_cursor(self) -> int | None:
        index = self._text.editor.token_at_cursor()
        if index is None:
            self.say("There is no token at the cursor.")
        return index

    @action("Show the token in the vocabulary", "alt+w", section="Tokenizer", words="lookup id")
    def show_token_in_vocabulary(self) -> None:
        """Show the page of the token at the cursor on the Vocabulary screen."""
        index = self._at_cursor()
        if index is not None:
            self.session.ask(ShowToken(self._text.live.token(index).id))

    @action("Next occurrence of the token", "f3", section="Find")
    def next_occurrence(self) -> None:
        """Jump to the next occurrence of this token."""
        self._occurrence(1)

    @action("Previous occurrence of the token", f"{LEADER} b", "shift+f3", section="Find")
    def previous_occurrence(self) -> None:
        """Jump to the previous occurrence of this token."""
        self._occurrence(-1)

    def _occurrence(self, step: int) -> None:
        index, live = self._at_cursor(), self._text.live
        if index is None:
            return
        found = live.next_occurrence(live.token(index).id, index, step)
        if found is None:
            self.say("This token occurs only here.")
        else:
            self._text.editor.go_to_token(found)
