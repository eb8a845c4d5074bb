"""Going to a row of the dataset, a message or a token by its number."""

from __future__ import annotations

import re

from tokviz.tui.dialogs.ask_text import AskDialog
from tokviz.tui.screens.chat.dataset_actions import DatasetActions
from tokviz.tui.widgets.conversation.rows import PartPlace

_GOTO = re.compile(r"(?P<sign>[#m]?)\s*(?P<number>[0-9][0-9,_ ]{0,14})")


class GotoActions(DatasetActions):
    """Jumps."""

    def action_goto(self) -> None:
        """Jump to a row, a message or a token."""
        n_rows = self.dataset.n_rows if self.dataset is not None else 0
        n_messages = len(self.conversation.messages)
        n_tokens = 0 if self.rendering is None else len(self.rendering)
        kinds = []
        if n_rows:
            kinds.append(f"12 row, 1 to {n_rows:,}")
        kinds.append(f"m3 message, 1 to {n_messages:,}")
        kinds.append(f"#12 token, 0 to {max(0, n_tokens - 1):,}")

        def check(text: str) -> str:
            match = _GOTO.fullmatch(text)
            if match is None:
                return "Type " + ", ".join(kinds) + "."
            number = _int(match["number"])
            if match["sign"] == "#":
                return "" if number < n_tokens else f"The tokens go from 0 to {n_tokens - 1:,}."
            if match["sign"] == "m" or not n_rows:
                ok = 1 <= number <= n_messages
                return "" if ok else f"The messages go from 1 to {n_messages:,}."
            return "" if 1 <= number <= n_rows else f"The rows go from 1 to {n_rows:,}."

        def go(text: str | None) -> None:
            match = _GOTO.fullmatch(text or "")
            if match is None:
                return
            number = _int(match["number"])
            if match["sign"] == "#":
                self.pick_token(number)
            elif match["sign"] == "m" or not n_rows:
                self.messages.go_to(PartPlace(number - 1), (0, 0))
            else:
                self.go_to_row(number - 1)

        dialog = AskDialog("Go to", "; ".join(kinds), check, placeholder="12   m3   #12")
        self.app.push_screen(dialog, go)


def _int(digits: str) -> int:
    return int(re.sub("[,_ ]", "", digits))
