"""Copying ids, mask, rendered text and the conversation itself."""

from __future__ import annotations

import json

from tokviz import bytetext
from tokviz.tui.screens.chat.base import ChatBase
from tokviz.tui.screens.legacy import LegacyCopying


class CopyActions(LegacyCopying, ChatBase):
    """Copies what a training would see, or the messages."""

    def action_copy_ids(self) -> None:
        """Copy the kept ids as a JSON list."""
        rendering = self.rendering
        if rendering is None:
            self._nothing()
            return
        ids = rendering.ids[: rendering.n_kept].tolist()
        self.copy(json.dumps(ids), f"{len(ids):,} token ids")

    def action_copy_mask(self) -> None:
        """Copy the mask of the kept tokens as a JSON list."""
        rendering = self.rendering
        if rendering is None:
            self._nothing()
            return
        mask = list(rendering.mask[: rendering.n_kept])
        self.copy(json.dumps(mask), f"the mask of {len(mask):,} tokens")

    def action_copy_rendered(self) -> None:
        """Copy the text that the kept tokens spell."""
        rendering = self.rendering
        if rendering is None:
            self._nothing()
            return
        data = b"".join(map(rendering.token_bytes, range(rendering.n_kept)))
        text = bytetext.from_bytes(data)
        self.copy(text, f"{len(text):,} characters of rendered text")

    def action_copy_json(self) -> None:
        """Copy the messages."""
        n_messages = len(self.conversation.messages)
        text = json.dumps(self.conversation.to_json(), ensure_ascii=False, indent=2)
        self.copy(text, f"{n_messages:,} message{'s' * (n_messages != 1)} as JSON")

    def _nothing(self) -> None:
        why = f" {self.problem}" if self.problem is not None else ""
        self.say(f"There are no tokens to copy.{why}", "warning")
