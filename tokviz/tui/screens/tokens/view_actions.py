"""What is shown and how: tokenizer, special tokens, invisibles, wrapping, line ends."""

from __future__ import annotations

import re

from textual import work
from textual.widgets import Input

from tokviz.errors import TokvizError
from tokviz.formats.registry import BUILTIN_TOKENIZERS, load
from tokviz.tokenizer import Tokenizer
from tokviz.tui.messages import SpecialsToggled
from tokviz.tui.screens.tokens.base import TokensBase

_LINE_END = re.compile("\r\n|\r|\n")


class ViewActions(TokensBase):
    """Choose the tokenizer and how the text is drawn."""

    # -- the tokenizer

    def action_pick_tokenizer(self) -> None:
        """Choose a tokenizer from the list."""
        self.pick_tokenizer()

    def pick_tokenizer(self, source: str = "") -> None:
        """Ask for a tokenizer; one whose source is given is loaded at once."""
        from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker

        picker = TokenizerPicker(self._tokenizer_source(), source)

        def picked(name: str | None) -> None:
            if name is not None and picker.loaded is not None:
                self._use(picker.loaded, name)

        self.app.push_screen(picker, picked)

    def action_tokenizer_next(self) -> None:
        """Go to the next built-in tokenizer."""
        self._neighbour(1)

    def action_tokenizer_previous(self) -> None:
        """Go to the previous built-in tokenizer."""
        self._neighbour(-1)

    def _neighbour(self, step: int) -> None:
        names = [builtin.name for builtin in BUILTIN_TOKENIZERS]
        current = self._tokenizer_name()
        place = names.index(current) if current in names else -step
        self.use_tokenizer(names[(place + step) % len(names)])

    def _tokenizer_source(self) -> str:
        """What the tokenizer at hand was loaded by, as far as that is known."""
        name = self._tokenizer_name()
        known = {builtin.name for builtin in BUILTIN_TOKENIZERS}
        return name if name in known else self.settings.tokenizer

    def _tokenizer_name(self) -> str:
        return self.live.tokenizer.name if self.live.tokenizer else ""

    def use_tokenizer(self, name: str) -> None:
        """Tokenize by another tokenizer, once its tables are built; the old tokens stay till then.

        What is in view is coloured again in the same frame as the rest changes.
        """
        self._build_tokenizer(name)

    @work(thread=True, exclusive=True, group="tokenizer", exit_on_error=False)
    def _build_tokenizer(self, name: str) -> None:
        try:
            tokenizer = load(name)
        except TokvizError as error:
            self.call_here(self.say, str(error), "error")
            return
        tokenizer.prepare()
        known = {builtin.name for builtin in BUILTIN_TOKENIZERS}
        self.call_here(self._use, tokenizer, tokenizer.name if tokenizer.name in known else name)

    def _use(self, tokenizer: Tokenizer, name: str) -> None:
        """Tokenize by a tokenizer from now on, and load it by this name at the next start."""
        if tokenizer is self.live.tokenizer:
            return
        self.live.set_tokenizer(tokenizer)
        self.tokviz.change_settings(tokenizer=name)
        self.tokviz.tokenizer_changed.publish(tokenizer)
        self.refresh_document()

    # -- special tokens

    def on_specials_toggled(self, message: SpecialsToggled) -> None:
        """Answer a click on the status line."""
        message.stop()
        self.action_toggle_specials()

    def action_toggle_specials(self) -> None:
        """Read special-token text as special tokens, or as plain text."""
        self.live.set_parse_specials(not self.live.parse_specials)
        self.refresh_document()

    # -- drawing

    def action_toggle_invisibles(self) -> None:
        """Draw invisible characters as glyphs, or not."""
        self.editor.show_invisibles = not self.editor.show_invisibles
        self.tokviz.change_settings(show_invisibles=self.editor.show_invisibles)

    def action_toggle_wrap(self) -> None:
        """Wrap long lines, or scroll sideways."""
        self.editor.soft_wrap = not self.editor.soft_wrap
        self.tokviz.change_settings(wrap=self.editor.soft_wrap)

    # -- characters

    def action_insert_character(self) -> None:
        """Insert any character of Unicode."""
        from tokviz.tui.dialogs.insert_character import InsertCharacterDialog

        self.app.push_screen(InsertCharacterDialog(), self._insert)

    def _insert(self, character: str | None) -> None:
        if character is not None:
            start, end = sorted(self.editor.selection)
            self.editor.replace(character, start, end, maintain_selection_offset=False)

    def action_select_all(self) -> None:
        """Select everything where the keyboard is: in a field, or the whole text."""
        field = self.focused
        if isinstance(field, Input):
            field.select_all()
        else:
            self.editor.select_all()

    def action_convert_line_endings_lf(self) -> None:
        """Make every line end LF."""
        self._convert_line_ends("\n")

    def action_convert_line_endings_crlf(self) -> None:
        """Make every line end CRLF."""
        self._convert_line_ends("\r\n")

    def _convert_line_ends(self, line_end: str) -> None:
        text = self.live.text
        converted = _LINE_END.sub(line_end, text)
        if converted == text:
            self.say("All line ends are so already.")
            return
        row = self.editor.cursor_location[0]
        self.replace_all(converted)
        self.editor.move_cursor((min(row, self.live.n_lines - 1), 0))
