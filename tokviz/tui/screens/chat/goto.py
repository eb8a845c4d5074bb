"""Going to a row of the dataset, a message or a token by its number."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.chat.dataset import Rows
from tokviz.tui.screens.chat.editing import place_in
from tokviz.tui.screens.chat.rendering import RenderedConversation
from tokviz.tui.screens.chat.state import ConversationAtHand
from tokviz.tui.widgets.conversation.rows import PartPlace


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
        from tokviz.tui.dialogs.goto import GotoDialog, Numbered

        rendering, dataset, chat = self._rendered.rendering, self._rows.dataset, self._chat
        n_messages = len(chat.conversation.messages)
        last_token = -1 if rendering is None else len(rendering) - 1
        kinds = [
            Numbered("m", "m3", "message", 1, n_messages, self._go_to_message),
            Numbered("#", "#12", "token", 0, last_token, lambda n, _: self._pick_token(n)),
        ]
        if dataset is not None and dataset.n_rows:
            go_to_row = self._rows.go_to
            rows = Numbered("", "12", "row", 1, dataset.n_rows, lambda n, _: go_to_row(n - 1))
            kinds.insert(0, rows)
        self.ask(GotoDialog(kinds), lambda go: go())

    def _go_to_message(self, number: int, _column: int) -> None:
        # A file or a row may have come since it was asked for, which has fewer messages.
        place = place_in(self._chat.conversation, PartPlace(number - 1))
        if place is not None:
            self._chat.messages.go_to(place, (0, 0))
