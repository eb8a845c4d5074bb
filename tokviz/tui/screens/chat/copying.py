"""Copying ids, mask, rendered text and the conversation itself."""

from __future__ import annotations

import json
from collections.abc import Callable

from tokviz.chat.rendering import Rendering
from tokviz.share.figure import mask_figure
from tokviz.text import bytetext
from tokviz.text.sentences import pluralize
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.chat.editing import json_of
from tokviz.tui.screens.chat.rendering import RenderedConversation
from tokviz.tui.screens.chat.state import ConversationAtHand
from tokviz.tui.screens.exporting import Shown


class CopyConversation(Controller):
    """Copy the training data or the messages."""

    def __init__(
        self, screen: TokvizScreen, chat: ConversationAtHand, rendered: RenderedConversation
    ) -> None:
        """Create the controller of a conversation and its rendering."""
        super().__init__(screen)
        self._chat, self._rendered = chat, rendered

    @action("Copy the token ids", "f4", section="Copy")
    def copy_ids(self) -> None:
        """Copy all ids as a list."""

        def copy(rendering: Rendering) -> None:
            ids = rendering.ids[: rendering.n_kept].tolist()
            self.copy(json.dumps(ids), pluralize(len(ids), "token id"))

        self._with_tokens(copy)

    @action("Copy the mask", "shift+f4", section="Copy")
    def copy_mask(self) -> None:
        """Copy the mask of all tokens as a list."""

        def copy(rendering: Rendering) -> None:
            mask = list(rendering.mask[: rendering.n_kept])
            self.copy(json.dumps(mask), f"the mask of {pluralize(len(mask), 'token')}")

        self._with_tokens(copy)

    @action("Copy the rendered text", section="Copy")
    def copy_rendered(self) -> None:
        """Copy the conversation as the template writes it, special tokens included."""

        def copy(rendering: Rendering) -> None:
            data = b"".join(map(rendering.token_bytes, range(rendering.n_kept)))
            text = bytetext.from_bytes(data)
            self.copy(text, f"{pluralize(len(text), 'character')} of rendered text")

        self._with_tokens(copy)

    @action("Copy the conversation as JSON", "alt+c", section="Copy")
    def copy_json(self) -> None:
        """Copy the messages in the shape that they were read in."""
        conversation = self._chat.conversation
        n_messages = len(conversation.messages)
        text = json_of(conversation, indent=2)
        self.copy(text, f"{pluralize(n_messages, 'message')} as JSON")

    def shown(self) -> Shown:
        """Return the content to export: the tokens with their mask."""
        rendering, path = self._rendered.rendering, self._chat.state.origin.path
        if self._rendered.is_waiting:
            return "The tokens are not ready yet. Export them when they are."
        if rendering is None:
            return "There are no tokens to export."
        name = path.name if path else "conversation"
        return name, lambda: mask_figure(name, rendering)

    def _with_tokens(self, do: Callable[[Rendering], None]) -> None:
        """Call a function with the tokens once they are available; report if there are none."""

        def known() -> None:
            rendering, problem = self._rendered.rendering, self._rendered.problem
            if rendering is not None:
                do(rendering)
            else:
                why = "." if problem is None else f": {problem}"
                self.say(f"There are no tokens to copy{why}", "warning")

        self._rendered.once_known(known)
