"""Copying text, ids and tokens."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial

from textual import work

from tokviz.tokenizer import Tokenizer
from tokviz.tui.screens.copying import Copying
from tokviz.tui.screens.tokens.base import TokensBase


class CopyActions(Copying, TokensBase):
    """Copy the selection, or everything where nothing is selected."""

    def action_copy_text(self) -> None:
        """Copy the text as it is."""
        start, end = self._range()
        self.copy(self.live.text_in(start, end), f"{end - start:,} characters")

    def action_copy_ids(self) -> None:
        """Copy token ids as a JSON list."""
        import json

        if not self._all_known():
            return
        first, stop = self._token_range()
        self._copy_made(lambda ids: json.dumps(ids.tolist()), self._ids(first, stop), "token ids")

    def action_copy_tokens_json(self) -> None:
        """Copy every token with its id, text, bytes and place as JSON."""
        if not self._all_known():
            return
        first, stop = self._token_range()
        tokenizer = self.live.tokenizer
        assert tokenizer is not None
        byte_start = self.live.token(first).byte_start if first < stop else 0
        render = partial(tokens_json, tokenizer, first, byte_start)
        self._copy_made(render, self._ids(first, stop), "tokens as JSON")

    def _ids(self, first: int, stop: int) -> array[int]:
        return self.live.ids()[first:stop]

    @work(thread=True, group="copy", description="copy", exit_on_error=False)
    def _copy_made(self, render: Callable[[array[int]], str], ids: array[int], what: str) -> None:
        """Render token ids in a thread, then copy what came of them."""
        self.call_here(self.copy, render(ids), f"{len(ids):,} {what}")

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


def tokens_json(tokenizer: Tokenizer, index: int, byte_start: int, ids: array[int]) -> str:
    """Render tokens that follow each other in a text as a JSON list.

    Args:
        tokenizer: What the ids mean.
        index: The first token's index in the text.
        byte_start: The first token's offset in the text's bytes.
        ids: The token ids.
    """
    import json

    tokens: list[dict[str, object]] = []
    for place, token_id in enumerate(ids, index):
        data = tokenizer.token_bytes(token_id)
        tokens.append(
            {
                "index": place,
                "id": token_id,
                "text": data.decode("utf-8", "replace"),
                "bytes": data.hex(" "),
                "byte_span": [byte_start, byte_start + len(data)],
                "special": tokenizer.is_special(token_id),
            }
        )
        byte_start += len(data)
    return json.dumps(tokens, ensure_ascii=False)
