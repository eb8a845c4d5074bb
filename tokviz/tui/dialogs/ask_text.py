"""Asking for something that is typed in a line of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from tokviz.glyphs import safe
from tokviz.tui.dialogs.base import Dialog, field_row, rule
from tokviz.tui.widgets.field import Field

ResultT = TypeVar("ResultT")


class Wrong(ValueError):
    """What is typed makes no sense; a sentence that says why."""


class AskDialog(Dialog[ResultT], Generic[ResultT]):
    """Its result is what the text means."""

    DEFAULT_CSS = """
    AskDialog #dialog { width: 60; }
    """

    def __init__(
        self,
        title: str,
        note: str | Content,
        read: Callable[[str], ResultT],
        *,
        value: str = "",
        placeholder: str = "",
        verb: str = "go",
    ) -> None:
        """Take what is asked.

        Args:
            title: What stands in the frame.
            note: What can be typed.
            read: Gives what a text means, or raises `Wrong`.
            value: What stands in the field at first.
            placeholder: An example, while the field is empty.
            verb: What Enter does.
        """
        super().__init__()
        self.dialog_title = title
        self._note = Content(safe(note)) if isinstance(note, str) else note
        self._read = read
        self._field = (value, placeholder)
        self.verb = verb

    def compose_body(self) -> ComposeResult:
        """Yield the field and what can be typed."""
        yield field_row(Field(*self._field))
        yield Static(classes="error")
        yield rule()
        yield Static(self._note, classes="note")

    @on(Input.Changed)
    def _changed(self) -> None:
        self.show_error("")

    @on(Input.Submitted)
    def action_choose(self) -> None:
        """End with what the text means, or say what is wrong with it."""
        try:
            result = self._read(self.query_one(Field).value.strip())
        except Wrong as wrong:
            self.show_error(str(wrong))
        else:
            self.dismiss(result)
