"""Changing the text other than by typing, and how it is drawn and read."""

from __future__ import annotations

import re

from textual.app import SuspendNotSupported
from textual.worker import Worker

from tokviz.errors import TokvizError
from tokviz.formats.registry import BUILTIN_TOKENIZERS
from tokviz.storage.files import looks_binary
from tokviz.text import bytetext
from tokviz.text.sentences import failure_message
from tokviz.tui.actions import LEADER, action, key_label
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.choosing import TokenizerChoice
from tokviz.tui.screens.tokens.text import TextAtHand
from tokviz.tui.tasks import Task, in_thread, pending_or
from tokviz.tui.widgets.status_line import IdsNote
from tokviz.tui.widgets.view_switcher import neighbour
from tokviz.workspace.session import notes_about

_DECODE_KEY = "alt+d"
_MOST_CHARS = 50_000
"""A longer text is not looked at for ids after every key."""
_LINE_END = re.compile("\r\n|\r|\n")


class Reading(Controller):
    """How the text is read and drawn: neighbouring tokenizers, special tokens, glyphs, wrapping."""

    def __init__(self, screen: TokvizScreen, text: TextAtHand, choice: TokenizerChoice) -> None:
        """Take the text, and what chooses the tokenizer."""
        super().__init__(screen)
        self._text, self._choice = text, choice
        self._asked: tuple[bool, Worker[None]] | None = None
        """How special tokens are to be read, and what prepares that."""

    @action("Next tokenizer", "ctrl+right_square_bracket", f"{LEADER} n", section="Tokenizer")
    def tokenizer_next(self) -> None:
        """See the same text with the next tokenizer of the list."""
        self._neighbour(1)

    @action("Previous tokenizer", "ctrl+backslash", f"{LEADER} p", section="Tokenizer")
    def tokenizer_previous(self) -> None:
        """See the same text with the previous tokenizer of the list."""
        self._neighbour(-1)

    def _neighbour(self, step: int) -> None:
        names = [builtin.name for builtin in BUILTIN_TOKENIZERS]
        self._choice.use(neighbour(names, self._choice.coming, step))

    @action("Special tokens: recognised or as text", "f6", section="Tokenizer")
    def toggle_specials(self) -> None:
        """Read text such as <|endoftext|> as one special token, or as ordinary text."""
        live = self._text.live
        tokenizer = self.session.tokenizer
        parsed = not pending_or(self._asked, live.parse_specials)

        def read(task: Task) -> None:
            live.prepare_reading(tokenizer, parsed)

        def use(nothing: None) -> None:
            live.set_parse_specials(parsed)
            self._text.refresh()

        self._asked = parsed, in_thread(self.screen, "specials", read, use)

    @action("Show or hide invisible characters", f"{LEADER} m", section="View",
            words="settings spaces whitespace blanks tabs")  # fmt: skip
    def toggle_invisibles(self) -> None:
        """Draw spaces, tabs, line ends and other invisible characters as glyphs."""
        editor = self._text.editor
        editor.show_invisibles = not editor.show_invisibles
        self.session.change_settings(show_invisibles=editor.show_invisibles)

    @action("Wrap long lines or not", "alt+z", f"{LEADER} z", section="View", words="settings")
    def toggle_wrap(self) -> None:
        """Break long lines at the right edge, or scroll sideways."""
        editor = self._text.editor
        editor.soft_wrap = not editor.soft_wrap
        self.session.change_settings(wrap=editor.soft_wrap)


class Editing(Controller):
    """Undo, redo, and edits that no key types; ids in place of a text are decoded.

    Attributes:
        note: That the text is nothing but ids, None where it is anything else. A single number is
            taken for an id only in brackets.
    """

    def __init__(self, screen: TokvizScreen, text: TextAtHand) -> None:
        """Take the text."""
        super().__init__(screen)
        self._text = text
        self.note: IdsNote | None = None

    @action("Undo", "ctrl+z", section="Edit", bound=False)
    def undo(self) -> None:
        """Take back the last change of the text."""
        self._text.editor.undo()

    @action("Redo", "ctrl+y", section="Edit", bound=False)
    def redo(self) -> None:
        """Do again what was taken back."""
        self._text.editor.redo()

    @action("Select all", "ctrl+a", section="Edit")
    def select_all(self) -> None:
        """Select the whole text, to copy it or to type or paste another in its place."""
        from textual.widgets import Input

        field = self.screen.focused
        (field if isinstance(field, Input) else self._text.editor).select_all()

    @action("Insert a character…", "alt+u", section="Edit", words="unicode emoji symbol code point")
    def insert_character(self) -> None:
        """Any character by its name or number, also those that no keyboard has."""
        from tokviz.tui.dialogs.insert_character import InsertCharacterDialog

        self.ask(InsertCharacterDialog(), self._text.editor.type_text)

    @action("Edit the text in your own editor", f"{LEADER} v", section="Edit",
            words="external vim emacs nano $EDITOR $VISUAL outside")  # fmt: skip
    def edit_outside(self) -> None:
        """Open the text in $VISUAL, $EDITOR or what the settings name. Undo brings the old back."""
        from tokviz.process.confinement import confinement
        from tokviz.workspace.external_editor import edited

        path = self.session.path
        before = b"".join([part.data for part in self._text.live.parts()])
        try:
            if confinement() is not None:
                raise TokvizError("in a browser no other program has a terminal")
            with self.app.suspend():
                after = edited(before, path.name if path else "text.txt", self.settings.editor)
        except (TokvizError, SuspendNotSupported) as error:
            self.say(failure_message("The text stays as it was", error), "error")
            return
        if after != before:
            text = bytetext.from_bytes(after)
            editor = self._text.editor
            editor.rewrite(lambda old: text, lambda: editor.move_cursor(editor.cursor_location))
            for note in notes_about(looks_binary(after), bytetext.n_raw_bytes(text)):
                self.say(note, "warning")

    @action("Line ends: make all LF", section="Edit")
    def convert_line_endings_lf(self) -> None:
        """Turn every CRLF and CR into LF. Undo takes it back."""
        self._convert_line_ends("\n")

    @action("Line ends: make all CRLF", section="Edit")
    def convert_line_endings_crlf(self) -> None:
        """Turn every LF and CR into CRLF. Undo takes it back."""
        self._convert_line_ends("\r\n")

    def _convert_line_ends(self, line_end: str) -> None:
        live, editor = self._text.live, self._text.editor
        row, revision = editor.cursor_location[0], live.revision

        def converted() -> None:
            if live.revision == revision:
                self.say(f"All line ends are {'LF' if line_end == chr(10) else 'CRLF'} already.")
            else:
                editor.move_cursor((min(row, live.n_lines - 1), 0))

        editor.rewrite(lambda text: _LINE_END.sub(line_end, text), converted)

    # -- ids

    def look(self) -> None:
        """See whether the text, which has changed, is nothing but ids."""
        live = self._text.live
        begins = live.text_in(0, 1)
        self.note = None
        if live.n_chars <= _MOST_CHARS and (begins.isspace() or begins in "[(0123456789"):
            from tokviz.explain.ids import ids_in

            ids = ids_in(live.text)
            if ids is not None and (len(ids) > 1 or begins in "[("):
                self.note = IdsNote(len(ids), key_label(_DECODE_KEY))

    @action("Decode token ids…", _DECODE_KEY, section="Edit", words="numbers detokenize paste list")
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
