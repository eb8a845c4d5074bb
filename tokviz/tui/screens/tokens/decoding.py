"""Ids in place of a text: saying so, and decoding them."""

from __future__ import annotations

from tokviz import bytetext
from tokviz.tui.actions import action, key_label
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.tokens.text import TextAtHand
from tokviz.tui.widgets.status_line import IdsNote

_KEY = "alt+d"
_MOST_CHARS = 50_000
"""A longer text is not looked at after every key."""


class Decoding(Controller):
    """Decodes ids that were typed or pasted.

    Attributes:
        note: That the text is nothing but ids, None where it is anything else. A single number is
            taken for an id only in brackets.
    """

    def __init__(self, screen: TokvizScreen, text: TextAtHand) -> None:
        """Take the text."""
        super().__init__(screen)
        self._text = text
        self.note: IdsNote | None = None

    def look(self) -> None:
        """See whether the text, which has changed, is nothing but ids."""
        live = self._text.live
        begins = live.text_in(0, 1)
        self.note = None
        if live.n_chars <= _MOST_CHARS and (begins.isspace() or begins in "[(0123456789"):
            from tokviz.explain.ids import ids_in

            ids = ids_in(live.text)
            if ids is not None and (len(ids) > 1 or begins in "[("):
                self.note = IdsNote(len(ids), key_label(_KEY))

    @action("Decode token ids…", _KEY, section="Edit", words="numbers detokenize paste list")
    def decode_ids(self) -> None:
        """See what ids stand for with the tokenizer at hand, and put their text into yours.

        It begins with the selected ids, or with the whole text where that is nothing but ids.
        """
        from tokviz.explain.ids import ids_in
        from tokviz.tui.dialogs.decode_ids import DecodeIdsDialog

        selected = self._text.live.text_in(*self._text.selected_range())
        begin, put = "", self._text.editor.type_text
        if len(selected) <= _MOST_CHARS and ids_in(selected):
            begin = selected
        elif self.note is not None:
            begin, put = self._text.live.text, self._text.replace_all
        dialog = DecodeIdsDialog(self.session.tokenizer, " ".join(begin.split()))
        self.ask(dialog, lambda data: put(bytetext.from_bytes(data)))
