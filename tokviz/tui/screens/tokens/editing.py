"""Edits other than typing, and settings of how the text is read and drawn."""

from __future__ import annotations

import re

from textual.app import SuspendNotSupported
from textual.widgets import Input
from textual.worker import Worker

from tokviz.errors import TokvizError
from tokviz.explain.ids import ids_in
from tokviz.formats.registry import BUILTIN_TOKENIZERS
from tokviz.process.confinement import confinement
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
from tokviz.workspace.external_editor import edited
from tokviz.workspace.session import notes_about

_DECODE_KEY = "alt+d"
_MOST_CHARS = 50_000
"""In a longer text ids are not detected after every key."""
_LINE_END = re.compile("\r\n|\r|\n")


class Reading(Controller):
    """Settings of the text: next and previous tokenizer, special tokens, glyphs, wrapping."""

    def __init__(self, screen: TokvizScreen, text: TextAtHand, choice: TokenizerChoice) -> None:
        """Take the text and the tokenizer choice."""
        super().__init__(screen)
        self._text, self._choice = text, choice
        self._asked: tuple[bool, Worker[None]] | None = None
        """The requested reading of special tokens, and the worker that prepares it."""

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

    @action("Special tokens: parsed or text", "f6", section="Tokenizer")
    def toggle_specials(self) -> None:
        """Encode text such as <|endoftext|> as the special token, or as text."""
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

    @action("Wrap long lines", "alt+z", f"{LEADER} z", section="View", words="settings")
    def toggle_wrap(self) -> None:
        """Break long lines at the right edge, or scroll sideways."""
        editor = self._text.editor
        editor.soft_wrap = not editor.soft_wrap
        self.session.change_settings(wrap=editor.soft_wrap)


class Editing(Controller):
    """Undo, redo, edits by command, and decoding of ids.

    Attributes:
        note: A note that the text consists of ids, otherwise None. A single number counts as an id
            only in brackets.
    """

    def __init__(self, screen: TokvizScreen, text: TextAtHand) -> None:
        """Take the text."""
        super().__init__(screen)
        self._text = text
        self.note: IdsNote | None = None

    @action("Undo", "ctrl+z", section="Edit", bound=False)
    def undo(self) -> None:
        """Undo the last change of the text."""
        self._text.editor.undo()

    @action("Redo", "ctrl+y", section="Edit", bound=False)
    def redo(self) -> None:
        """Redo the last undone change."""
        self._text.editor.redo()

    @action("Select all", "ctrl+a", section="Edit")
    def select_all(self) -> None:
        """Select the whole text, to copy or replace it."""
        field = self.screen.focused
        (field if isinstance(field, Input) else self._text.editor).select_all()

    @action("Insert a character…", "alt+u", section="Edit", words="unicode emoji symbol code point")
    def insert_character(self) -> None:
        """Insert any Unicode character by its name or number."""
        from tokviz.tui.dialogs.insert import InsertCharacterDialog

        self.ask(InsertCharacterDialog(), self._text.editor.type_text)

    @action("Edit the text in your own editor", f"{LEADER} v", section="Edit",
            words="external vim emacs nano $EDITOR $VISUAL outside")  # fmt: skip
    def edit_outside(self) -> None:
        """Open the text in $VISUAL, $EDITOR or the editor of the settings."""
        path = self.session.path
        before = b"".join([part.data for part in self._text.live.parts()])
        try:
            if confinement() is not None:
                raise TokvizError("an editor needs a terminal, and a browser has none")
            with self.app.suspend():
                after = edited(before, path.name if path else "text.txt", self.settings.editor)
        except (TokvizError, SuspendNotSupported) as error:
            self.say(failure_message("The text is unchanged", error), "error")
            return
        if after != before:
            text = bytetext.from_bytes(after)
            editor = self._text.editor
            editor.rewrite(lambda old: text, lambda: editor.move_cursor(editor.cursor_location))
            for note in notes_about(looks_binary(after), bytetext.n_raw_bytes(text)):
                self.say(note, "warning")

    @action("Line ends: make all LF", section="Edit")
    def convert_line_endings_lf(self) -> None:
        """Turn every CRLF and CR into LF."""
        self._convert_line_ends("\n")

    @action("Line ends: make all CRLF", section="Edit")
    def convert_line_endings_crlf(self) -> None:
        """Turn every LF and CR into CRLF."""
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
        """Detect, after a change, whether the text consists of ids."""
        live = self._text.live
        begins = live.text_in(0, 1)
        self.note = None
        if live.n_chars <= _MOST_CHARS and (begins.isspace() or begins in "[(0123456789"):
            ids = ids_in(live.text)
            if ids is not None and (len(ids) > 1 or begins in "[("):
                self.note = IdsNote(len(ids), key_label(_DECODE_KEY))

    @action("Decode token ids…", _DECODE_KEY, section="Edit", words="numbers detokenize paste list")
    def decode_ids(self) -> None:
        """Decode ids with the current tokenizer, and insert their text.

        The dialog starts with the selected ids, or with the whole text if it consists of ids.
        """
        from tokviz.tui.dialogs.insert import DecodeIdsDialog

        selected = self._text.live.text_in(*self._text.selected_range())
        begin, put = "", self._text.editor.type_text
        if len(selected) <= _MOST_CHARS and ids_in(selected):
            begin = selected
        elif self.note is not None:
            begin, put = self._text.live.text, self._text.replace_all
        dialog = DecodeIdsDialog(self.session.tokenizer, " ".join(begin.split()))
        self.ask(dialog, lambda data: put(bytetext.from_bytes(data)))
