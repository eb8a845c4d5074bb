"""Commands that copy text, ids and tokens."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tokviz.share.figure import figure_of
from tokviz.text.bytetext import to_bytes
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.exporting import Shown
from tokviz.tui.screens.tokens.text import TextAtHand

if TYPE_CHECKING:
    from tokviz.share.figure import Figure


class CopyTokens(Controller):
    """Copy the selection, or everything if nothing is selected."""

    def __init__(self, screen: TokvizScreen, text: TextAtHand) -> None:
        """Create the controller of the text."""
        super().__init__(screen)
        self._text = text

    @action("Copy the text", "alt+c", section="Copy")
    def copy_text(self) -> None:
        """Copy the selected text, or all of it, exactly as it is."""
        start, end = self._range()
        self.copy(self._text.live.text_in(start, end), pluralize(end - start, "character"))

    @action("Copy the token ids", "f4", section="Copy")
    def copy_ids(self) -> None:
        """Copy the ids of the selected tokens, or of all, as a list."""
        self._copy_ids(lambda first: lambda ids: json.dumps(ids.tolist()), "token id")

    @action("Copy the tokens as JSON", "shift+f4", section="Copy", words="export")
    def copy_tokens_json(self) -> None:
        """Copy id, text, bytes and byte span of the selected tokens, or of all."""
        live = self._text.live

        def renderer(first: int) -> Callable[[array[int]], str]:
            byte_start = live.token(first).byte_start if first < live.n_tokens else 0
            return partial(tokens_json, self.session.tokenizer, first, byte_start)

        self._copy_ids(renderer, "token", " as JSON")

    def shown(self) -> Shown:
        """Return the name and figure to export: the selected tokens, or all."""
        live, path = self._text.live, self.session.path
        text = live.text_in(*self._range())
        tokenizer, parsed = self.session.tokenizer, live.parse_specials
        name = path.name if path else "text"

        def make() -> Figure:
            return figure_of(tokenizer, name, to_bytes(text), parsed)

        return name, make

    def _copy_ids(
        self, renderer: Callable[[int], Callable[[array[int]], str]], unit: str, how: str = ""
    ) -> None:
        """Render token ids in a thread, then copy what came of them."""
        if not self._text.live.complete:
            self.say("Not all tokens are encoded yet. Try again when the count is complete.")
            return
        first, stop = self._token_range()
        ids = self._text.live.ids()[first:stop]
        render = renderer(first)
        self.in_thread(
            "render",
            lambda task: render(ids),
            lambda text: self.copy(text, pluralize(len(ids), unit) + how),
            exclusive=False,
        )

    def _range(self) -> tuple[int, int]:
        start, end = self._text.selected_range()
        live = self._text.live
        return (start, end) if start < end else (0, live.n_chars)

    def _token_range(self) -> tuple[int, int]:
        start, end = self._text.selected_range()
        live = self._text.live
        if start == end:
            return 0, live.n_tokens
        first = live.token_index_at(start)
        last = live.token_index_at(end - 1)
        if first is None or last is None:
            return 0, 0
        while last + 1 < live.n_tokens and live.token(last + 1).start < end:
            last += 1
        return first, last + 1


def tokens_json(tokenizer: Tokenizer, index: int, byte_start: int, ids: array[int]) -> str:
    """Render consecutive tokens of a text as a JSON list.

    Args:
        tokenizer: Decodes the ids.
        index: The first token's index in the text.
        byte_start: The first token's offset in the text's bytes.
        ids: The token ids.
    """
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
