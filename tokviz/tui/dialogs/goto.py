"""Jumping to a line, a token or a byte."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from tokviz.tui.dialogs.base import Dialog, Field, Hint, field_row, rule

_TARGET = re.compile(
    r"(?P<sign>[#@]?)\s*(?P<number>0[xX][0-9a-fA-F]+|[0-9][0-9_,\s]*)(?::\s*(?P<column>[0-9]+)?)?\s*"
)


@dataclass(frozen=True, slots=True)
class GotoTarget:
    """A place in the text."""

    kind: Literal["line", "token", "byte"]
    number: int
    """The line counted from 1, or the token or byte counted from 0."""
    column: int = 1
    """The character in the line, counted from 1."""


@dataclass(frozen=True, slots=True)
class GotoLimits:
    """How much of each there is."""

    n_lines: int
    n_tokens: int
    n_bytes: int


def parse_target(text: str, limits: GotoLimits) -> GotoTarget | str:
    """Read a place: `12` or `12:3` (line, column), `#12` (token) or `@345` (byte; also `@0x1f`).

    Returns:
        The place, or a sentence that says what is wrong.
    """
    match = _TARGET.fullmatch(text.strip())
    if match is None or len(text) > 40:
        return "Type 12 or 12:3 for a line, #12 for a token, @345 for a byte."
    digits = re.sub(r"[_,\s]", "", match["number"])
    number = int(digits, 16 if digits[:2] in ("0x", "0X") else 10)
    if match["sign"] == "#":
        return _within("token", number, limits.n_tokens - 1) or GotoTarget("token", number)
    if match["sign"] == "@":
        return _within("byte", number, limits.n_bytes) or GotoTarget("byte", number)
    if not 1 <= number <= limits.n_lines:
        return f"The lines go from 1 to {limits.n_lines:,}."
    return GotoTarget("line", number, max(1, int(match["column"] or 1)))


def _within(kind: str, number: int, last: int) -> str:
    if last < 0:
        return f"There is no {kind} yet."
    return "" if number <= last else f"The {kind}s go from 0 to {last:,}."


class GotoDialog(Dialog[GotoTarget]):
    """Its result is a place that the text had when the dialog opened."""

    DEFAULT_CSS = """
    GotoDialog #dialog { width: 52; }
    """

    dialog_title = "Go to"

    def __init__(self, limits: GotoLimits) -> None:
        """Take how much there is to go to."""
        super().__init__()
        self._limits = limits

    def compose_body(self) -> ComposeResult:
        """Yield the field and what can be typed."""
        yield field_row(Field(placeholder="12   12:3   #12   @345"))
        yield Static(classes="error")
        yield rule()
        yield Static(self._possible(), classes="note")

    def hints(self) -> Sequence[Hint]:
        """Say that Enter goes on."""
        return [("Enter", "go", "choose"), ("Esc", "cancel", "cancel")]

    def _possible(self) -> Content:
        limits = self._limits
        rows = [
            ("12, 12:3", "line, column", f"1 – {limits.n_lines:,}"),
            ("#12", "token", f"0 – {max(0, limits.n_tokens - 1):,}"),
            ("@345", "byte", f"0 – {limits.n_bytes:,}"),
        ]
        return Content("\n").join(
            Content.assemble((f"{typed:<10}", "$foreground"), f"{kind:<14}", span)
            for typed, kind, span in rows
        )

    @on(Input.Changed)
    def _changed(self) -> None:
        self.show_error("")

    @on(Input.Submitted)
    def action_choose(self) -> None:
        """Go, or say what is wrong."""
        target = parse_target(self.query_one(Field).value, self._limits)
        if isinstance(target, GotoTarget):
            self.dismiss(target)
        else:
            self.show_error(target)
