"""Choosing any character of Unicode."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from tokviz.text.characters import USEFUL, Character, by_number, search
from tokviz.text.glyphs import token_label
from tokviz.tui.dialogs.base import ListDialog
from tokviz.tui.tasks import in_thread
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Span


class InsertCharacterDialog(ListDialog[str, Character]):
    """Dialog that finds a character. Its result may be unsafe for a terminal."""

    dialog_title = "Insert a character"
    verb = "insert"
    rows_wanted = 18
    """Room for a dozen characters."""

    def __init__(self) -> None:
        """Create the dialog with an empty field."""
        super().__init__(paint_character, "characters")
        self._found_for = ""
        self._choose_when_found = False

    def compose_body(self) -> ComposeResult:
        """Yield the field and the list."""
        return self.compose_search(Field(placeholder="U+200B, zwsp, or words of the name"))

    def on_mount(self) -> None:
        """Offer characters that matter to tokenizers."""
        self.rows.show(USEFUL, 0)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        problem = by_number(event.value)
        self.show_error(problem if isinstance(problem, str) else "")
        self._choose_when_found = False
        text = event.value
        in_thread(
            self,
            "characters",
            lambda task: search(text, stop=lambda: task.cancelled),
            lambda found: self._show_found(text, found),
        )

    def _show_found(self, text: str, found: Sequence[Character]) -> None:
        if text != self.query_one(Field).value:
            return
        self._found_for = text
        self.rows.show(found, 0 if found else None)
        if self._choose_when_found:
            self.action_choose()
        if not found and not isinstance(by_number(text), str):
            self.show_error("No character name contains these words.")

    @on(Input.Submitted)
    @on(RowList.Picked)
    def action_choose(self) -> None:
        """Close with the highlighted character, once the search has finished."""
        self._choose_when_found = self._found_for != self.query_one(Field).value
        if self._choose_when_found:
            return
        character = self.rows.row
        if character is not None:
            self.dismiss(character.text)


def paint_character(character: Character, width: int) -> list[Span]:
    """Draw a row: glyph, number, name, UTF-8 bytes."""
    glyph = token_label(character.text.encode())
    data = character.text.encode().hex(" ") if width >= 50 else ""
    shown_glyph = fit(glyph, 10)
    column = 12 if width >= 34 else 0
    glyph_cell = " " + shown_glyph + " " * (column - 1 - cell_len(shown_glyph)) if column else " "
    room = max(0, width - len(data) - cell_len(glyph_cell) - 10)
    return [
        Span(glyph_cell, "accent"),
        Span(f"{character.label:<9}", "dim"),
        Span(fit(character.name, room - 1).ljust(room)),
        Span(data, "dim"),
    ]
