"""A tokenizer's path that is pasted or dropped on the app is offered to be loaded."""

from __future__ import annotations

import os

from textual import work

from tokviz.tui.messages import Pasted
from tokviz.tui.screens.base import TokvizScreen

_LONGEST_PATH = 4096


class TakesDropped(TokvizScreen):
    """Looks at what is pasted: terminals give the path of a file that is dropped on them."""

    def on_pasted(self, message: Pasted) -> None:
        """Look whether it is the path of a tokenizer."""
        message.stop()
        text = message.text.strip()
        if text and "\n" not in text and len(text) <= _LONGEST_PATH:
            self._look_at_pasted(text)

    @work(thread=True, exclusive=True, group="pasted", exit_on_error=False)
    def _look_at_pasted(self, text: str) -> None:
        from tokviz.formats.recognise import recognise
        from tokviz.places import HUB
        from tokviz.tui.dialogs.tokenizer_rows import typed_source

        source = typed_source(text)
        if source is None or source.startswith(HUB) or not os.path.isabs(source):
            return
        kind = recognise(source) if os.path.exists(source) else None
        if kind is not None:
            self.call_here(self._offer_pasted, source, kind)

    def _offer_pasted(self, source: str, kind: str) -> None:
        from tokviz.places import place_words
        from tokviz.tui.dialogs.confirm import ConfirmDialog

        if not self.is_current:
            return
        name, where = place_words(source)
        question = (
            f"{name} holds a tokenizer ({kind}). Load it in place of the pasted path? {where}"
        )

        def answered(load_it: bool | None) -> None:
            if load_it:
                self.take_back_paste()
                self.tokviz.load_tokenizer(source)

        self.app.push_screen(ConfirmDialog("Tokenizer", question, "load it"), answered)

    def take_back_paste(self) -> None:
        """Take the pasted path out of where it went."""
        raise NotImplementedError
