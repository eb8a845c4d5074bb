"""Asking for a line of text that must make sense."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from tokviz.glyphs import safe
from tokviz.tui.dialogs.base import Dialog, Field, Hint, field_row, rule


class AskDialog(Dialog[str]):
    """Its result is a text that the check has nothing against."""

    DEFAULT_CSS = """
    AskDialog #dialog { width: 60; }
    """

    def __init__(
        self,
        title: str,
        note: str,
        check: Callable[[str], str],
        *,
        value: str = "",
        placeholder: str = "",
    ) -> None:
        """Take what is asked.

        Args:
            title: What stands in the frame.
            note: What can be typed.
            check: Gives a sentence that says what is wrong with a text, empty for nothing.
            value: What stands in the field at first.
            placeholder: An example, while the field is empty.
        """
        super().__init__()
        self.dialog_title = title
        self._note = note
        self._check = check
        self._value = value
        self._placeholder = placeholder

    def compose_body(self) -> ComposeResult:
        """Yield the field and what can be typed."""
        yield field_row(Field(self._value, placeholder=self._placeholder))
        yield Static(classes="error")
        yield rule()
        yield Static(Content(safe(self._note)), classes="note")

    def hints(self) -> Sequence[Hint]:
        """Say that Enter goes on."""
        return [("Enter", "go", "choose"), ("Esc", "cancel", "cancel")]

    @on(Input.Changed)
    def _changed(self) -> None:
        self.show_error("")

    @on(Input.Submitted)
    def action_choose(self) -> None:
        """End with the text, or say what is wrong with it."""
        text = self.query_one(Field).value.strip()
        wrong = self._check(text)
        if wrong:
            self.show_error(wrong)
        else:
            self.dismiss(text)
