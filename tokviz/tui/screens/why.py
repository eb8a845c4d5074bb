"""The "Why?" and character dialogs, for every screen that shows tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual import on

from tokviz.explain.places import rendered_place, selected_place, token_place
from tokviz.formats.subprocess_loader import load
from tokviz.live.document import LiveDocument
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import LEADER, Gesture, action
from tokviz.tui.messages import WhyWanted
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.choosing import tokenizer_picker
from tokviz.tui.widgets.editor import TokenEditor

if TYPE_CHECKING:
    from tokviz.chat.rendering import Rendering
    from tokviz.explain.places import Place

Asked = tuple[Tokenizer, "Place | Callable[[], Place]"]
"""A tokenizer, and a token or selection, or a function that a thread calls to find it."""
RIGHT_CLICK = Gesture(
    "Right click on a token or a selection",
    "“Why?”: the rule that split it, its merges, why it is not one token. I: its characters.",
)
NO_TOKEN = "There is no token here to explain: move the cursor to one, or select some text."


class Explaining(Controller):
    """Explains a token or a selection."""

    def __init__(self, screen: TokvizScreen, asked: Callable[[], Asked | str]) -> None:
        """Create the controller with a function that returns a token, or why there is none."""
        super().__init__(screen)
        self._asked = asked
        self._second: tuple[str, Tokenizer] | None = None
        """Source of the second tokenizer that was loaded last, and the tokenizer."""

    @on(WhyWanted)
    @action(
        "Why?",
        "shift+f1",
        f"{LEADER} w",
        section="Why",
        footer="why?",
        words="explain reason trace lineage merges cut split pattern not one token healing",
    )
    def why(self) -> None:
        """Explain a token or selection: how it was split and merged, why it is not one token."""
        from tokviz.tui.dialogs.character import CharacterDialog
        from tokviz.tui.dialogs.why import WhyDialog

        found = self._asked()
        if isinstance(found, str):
            self.say(found)
            return
        tokenizer, place = found
        second = self.session.where(self.settings.second_tokenizer)
        second = "" if second == tokenizer.name else second
        dialog = WhyDialog(
            tokenizer,
            place,
            second,
            load=self._load,
            pick=self._pick,
            alone=lambda: self.session.change_settings(second_tokenizer=""),
            inspect=lambda: self.app.push_screen(CharacterDialog(tokenizer, place, self.copy)),
            copy=self.copy,
        )
        self.app.push_screen(dialog)

    @action(
        "What is this character?",
        "shift+f7",
        f"{LEADER} i",
        section="Why",
        words="unicode inspect code point name invisible confusable utf-8 nfc normalization",
    )
    def inspect(self) -> None:
        """Show the code points, bytes, forms and tokens of the character at the cursor.

        It names invisible characters and look-alikes.
        """
        from tokviz.tui.dialogs.character import CharacterDialog

        found = self._asked()
        if isinstance(found, str):
            self.say(found)
        else:
            self.app.push_screen(CharacterDialog(*found, self.copy))

    def _load(self, source: str) -> Tokenizer:
        """Load a tokenizer, or return it if it was loaded last; may run in any thread."""
        if self._second is None or self._second[0] != source:
            self._second = source, load(source)
        return self._second[1]

    def _pick(self, take: Callable[[str], object]) -> None:
        """Ask for the second tokenizer and remember it."""
        picker = tokenizer_picker(self.session, title="Second tokenizer")

        def picked(source: str) -> None:
            if picker.loaded is not None:
                self._second = source, picker.loaded
                self.session.change_settings(second_tokenizer=source)
                take(source)

        self.ask(picker, picked)


def asked_in(editor: TokenEditor, tokenizer: Tokenizer | None = None) -> Asked | str:
    """Return the selection of an editor, otherwise the token at its cursor.

    Args:
        editor: The editor.
        tokenizer: The tokenizer, by default the one that the editor shows.
    """
    live = editor.live
    tok = tokenizer or live.tokenizer
    if tok is None or not live.n_chars:
        return NO_TOKEN
    if not editor.selection.is_empty:
        start, end = editor.document.offsets(editor.selection)
        return tok, selected_place(live, start, end)
    offset = editor.document.get_index_from_location(editor.cursor_location)
    offset = min(offset, live.n_chars - 1)
    index = editor.token_at_cursor()
    if index is not None and tok is live.tokenizer:
        place = token_place(live, index)
        first = live.token(index).byte_start - place.start
        return tok, replace(place, cursor=live.byte_offset(offset) - first)
    return asked_at(live, offset, tok)


def asked_at(live: LiveDocument, offset: int, tokenizer: Tokenizer) -> Asked:
    """Ask about the token of a character."""
    return tokenizer, replace(selected_place(live, offset, offset + 1), is_point=True)


def asked_of(tokens: Rendering | None, index: int | None) -> Asked | str:
    """Ask about a token of a rendered conversation."""
    if tokens is None or index is None or not 0 <= index < len(tokens):
        return NO_TOKEN
    # It may call a child process, which would block the screen.
    return tokens.tokenizer, partial(rendered_place, tokens, index)
