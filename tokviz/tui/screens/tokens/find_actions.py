"""Moving through the text: find, go to, and from one occurrence of a token to the next."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from tokviz.tui.screens.tokens.base import TokensBase

if TYPE_CHECKING:
    from tokviz.tui.dialogs.find import FindResult
    from tokviz.tui.dialogs.find_text import FindQuery
    from tokviz.tui.dialogs.goto import GotoTarget


class FindActions(TokensBase):
    """Find, go to, next and previous occurrence."""

    _query: FindQuery | None = None

    def action_find(self) -> None:
        """Search the text; the cursor follows the matches."""
        from tokviz.tui.dialogs.find import FindDialog

        start, _ = self.selected_range()
        dialog = FindDialog(self.live.text, start, self._query, self.go_to)
        self.app.push_screen(dialog, self._found)

    def _found(self, result: FindResult | None) -> None:
        if result is not None:
            self._query = result.query
        self.editor.focus()

    def action_goto(self) -> None:
        """Jump to a line, a token or a byte."""
        from tokviz.tui.dialogs.goto import GotoDialog, GotoLimits

        live = self.live
        limits = GotoLimits(live.n_lines, live.n_tokens, live.n_bytes)
        self.app.push_screen(GotoDialog(limits), self._go_to_target)

    def _go_to_target(self, target: GotoTarget | None) -> None:
        if target is None:
            return
        live = self.live
        if target.kind == "token":
            self.pick_token(min(target.number, live.n_tokens - 1))
        elif target.kind == "byte":
            self.go_to(bisect_right(range(live.n_chars), target.number, key=live.byte_offset) - 1)
        else:
            row = min(target.number, live.n_lines) - 1
            start = live.line_start(row)
            end = live.line_start(row + 1) - 1 if row + 1 < live.n_lines else live.n_chars
            self.go_to(min(start + target.column - 1, end))

    def pick_token(self, index: int) -> None:
        """Put the cursor on a token, and let every panel show it."""
        self.editor.go_to_token(index)

    def action_show_token_in_vocabulary(self) -> None:
        """Show the page of the token at the cursor on the Vocabulary screen."""
        index = self.editor.token_at_cursor()
        if index is None:
            self.say("There is no token at the cursor.")
        else:
            self.tokviz.action_show_in_vocabulary(self.live.token(index).id)

    def action_next_occurrence(self) -> None:
        """Jump to the next place where the token at the cursor occurs."""
        self._occurrence(1)

    def action_previous_occurrence(self) -> None:
        """Jump to the previous place where the token at the cursor occurs."""
        self._occurrence(-1)

    def _occurrence(self, step: int) -> None:
        index = self.editor.token_at_cursor()
        if index is None:
            self.say("There is no token at the cursor.")
            return
        found = self.live.next_occurrence(self.live.token(index).id, index, step)
        if found is None:
            self.say("This token occurs only here.")
        else:
            self.pick_token(found)
