"""Copying text, ids and tokens."""

from __future__ import annotations

import json
from typing import Any

from textual import work

from tokviz.errors import TokvizError
from tokviz.tui.clipboard import CopyResult, copy
from tokviz.tui.messages import CopyRequested
from tokviz.tui.screens.tokens.base import TokensBase


class CopyActions(TokensBase):
    """Copy the selection, or everything where nothing is selected."""

    def action_copy_text(self) -> None:
        """Copy the text as it is."""
        start, end = self._range()
        self.copy(self.live.text[start:end], f"{end - start:,} characters")

    def action_copy_ids(self) -> None:
        """Copy token ids as a JSON list."""
        if not self._all_known():
            return
        first, stop = self._token_range()
        ids = list(self.live.ids()[first:stop])
        self.copy(json.dumps(ids), f"{len(ids):,} token ids")

    def action_copy_tokens_json(self) -> None:
        """Copy every token with its id, text, bytes and place as JSON."""
        if not self._all_known():
            return
        first, stop = self._token_range()
        tokens = [self._as_json(index) for index in range(first, stop)]
        self.copy(json.dumps(tokens, ensure_ascii=False), f"{len(tokens):,} tokens as JSON")

    def _as_json(self, index: int) -> dict[str, Any]:
        info = self.live.token(index)
        assert self.live.tokenizer is not None
        data = self.live.tokenizer.token_bytes(info.id)
        return {
            "index": index,
            "id": info.id,
            "text": data.decode("utf-8", "replace"),
            "bytes": data.hex(" "),
            "byte_span": [info.byte_start, info.byte_end],
            "special": info.special,
        }

    def on_copy_requested(self, message: CopyRequested) -> None:
        """Copy what a panel shows."""
        self.copy(message.text, message.what)

    def copy(self, text: str, what: str) -> None:
        """Copy in a thread, and say where the copy went."""
        self._copy(text, what)

    @work(group="copy", exit_on_error=False)
    async def _copy(self, text: str, what: str) -> None:
        try:
            result = await copy(self.app, text)
        except TokvizError as error:
            self.say(f"Not copied. {error}", "error")
            return
        self.say(_sentence(result, what))

    def _all_known(self) -> bool:
        if not self.live.complete:
            self.say("Not all tokens are known yet: try again when the count stands still.")
        return self.live.complete

    def _range(self) -> tuple[int, int]:
        start, end = self.selected_range()
        return (start, end) if start < end else (0, self.live.n_chars)

    def _token_range(self) -> tuple[int, int]:
        start, end = self.selected_range()
        if start == end:
            return 0, self.live.n_tokens
        first = self.live.token_index_at(start)
        last = self.live.token_index_at(end - 1)
        if first is None or last is None:
            return 0, 0
        while last + 1 < self.live.n_tokens and self.live.token(last + 1).start < end:
            last += 1
        return first, last + 1


def _sentence(result: CopyResult, what: str) -> str:
    places = {
        "clipboard": f"Copied {what}.",
        "terminal": f"Copied {what}: sent to the terminal (OSC 52).",
        "file": f"Copied {what} to a file, since no clipboard could take it.",
    }
    return f"{places[result.method]} {result.detail}".rstrip()
