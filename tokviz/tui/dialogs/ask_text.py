"""Asking for something that can be typed in a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from tokviz.glyphs import safe
from tokviz.tui.dialogs.base import Dialog, Field, Hint, ResultT, field_row, rule


class AskDialog(Dialog[ResultT], Generic[ResultT]):
    """Its result is what is made of the text that is typed: anything but a text."""

    DEFAULT_CSS = """
    AskDialog #dialog { width: 60; }
    """

    def __init__(
        self,
        title: str,
        note: str | Content,
        read: Callable[[str], ResultT | str],
        *,
        value: str = "",
        placeholder: str = "",
    ) -> None:
        """Take what is asked.

        Args:
            title: What stands in the frame.
            note: What can be typed.
            read: Makes the result of a text, or a sentence that says what is wrong with it.
            value: What stands in the field at first.
            placeholder: An example, while the field is empty.
        """
        super().__init__()
        self.dialog_title = title
        self._note = Content(safe(note)) if isinstance(note, str) else note
        self._read = read
        self._value = value
        self._placeholder = placeholder

    def compose_body(self) -> ComposeResult:
        """Yield the field and what can be typed."""
        yield field_row(Field(self._value, placeholder=self._placeholder))
        yield Static(classes="error")
        yield rule()
        yield Static(self._note, classes="note")

    def hints(self) -> Sequence[Hint]:
        """Say that Enter goes on."""
        return [("Enter", "go", "choose"), ("Esc", "cancel", "cancel")]

    @on(Input.Changed)
    def _changed(self) -> None:
        self.show_error("")

    @on(Input.Submitted)
    def action_choose(self) -> None:
        """End with the result, or say what is wrong with the text."""
        result = self._read(self.query_one(Field).value.strip())
        if isinstance(result, str):
            self.show_error(result)
        else:
            self.dismiss(result)
