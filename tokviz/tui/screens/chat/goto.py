"""Going to a row of the dataset, a message or a token by its number."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tokviz.tui.actions import action
from tokviz.tui.dialogs.ask_text import AskDialog, Wrong
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.chat.dataset import Rows
from tokviz.tui.screens.chat.rendering import RenderedConversation
from tokviz.tui.screens.chat.state import ConversationAtHand
from tokviz.tui.widgets.conversation.rows import PartPlace

_GOTO = re.compile(r"(?P<sign>[#m]?)\s*(?P<number>[0-9][0-9,_ ]{0,14})")


class _Kind(NamedTuple):
    """What has numbers: an example and its name, the numbers, and what goes to one, from 0."""

    example: str
    name: str
    first: int
    last: int
    go: Callable[[int], object]

    @property
    def words(self) -> str:
        return f"{self.example} for a {self.name} ({self.first:,} to {self.last:,})"


class GoTo(Controller):
    """Jumps."""

    def __init__(
        self,
        screen: TokvizScreen,
        chat: ConversationAtHand,
        rendered: RenderedConversation,
        rows: Rows,
        pick_token: Callable[[int], object],
    ) -> None:
        """Take what has numbers, and what chooses a token."""
        super().__init__(screen)
        self._chat, self._rendered, self._rows = chat, rendered, rows
        self._pick_token = pick_token

    @action("Go to…", "ctrl+g", section="View")
    def goto(self) -> None:
        """Jump to a row of the dataset (12), a message (m3) or a token (#12)."""
        kinds = self._kinds()
        there = [kind for kind in kinds.values() if kind.last >= kind.first]

        def read(text: str) -> Callable[[], object]:
            match = _GOTO.fullmatch(text)
            if match is None:
                raise Wrong(f"Type {', '.join(kind.words for kind in there)}.")
            kind = kinds.get(match["sign"], kinds["m"])
            number = int(re.sub("[,_ ]", "", match["number"]))
            if kind not in there:
                raise Wrong(f"There are no {kind.name}s.")
            if not kind.first <= number <= kind.last:
                raise Wrong(f"The {kind.name}s go from {kind.first:,} to {kind.last:,}.")
            return partial(kind.go, number - kind.first)

        words = "; ".join(kind.words for kind in there) or "There is nothing to go to."
        examples = "   ".join(kind.example for kind in there)
        dialog = AskDialog("Go to", words, read, placeholder=examples)
        self.ask(dialog, lambda go: go())

    def _kinds(self) -> dict[str, _Kind]:
        """Give what has numbers now, by the sign before the number."""
        rendering, dataset = self._rendered.rendering, self._rows.dataset
        n_messages = len(self._chat.conversation.messages)
        n_tokens = 0 if rendering is None else len(rendering)
        kinds = {
            "m": _Kind("m3", "message", 1, n_messages, self._go_to_message),
            "#": _Kind("#12", "token", 0, n_tokens - 1, self._pick_token),
        }
        if dataset is None or not dataset.n_rows:
            return kinds
        return {"": _Kind("12", "row", 1, dataset.n_rows, self._rows.go_to), **kinds}

    def _go_to_message(self, message: int) -> None:
        self._chat.messages.go_to(PartPlace(message), (0, 0))
