"""Dialogs that ask for a line of text, such as a place to go to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from tokviz.text.glyphs import safe
from tokviz.tui.dialogs.base import Dialog, field_row, rule
from tokviz.tui.widgets.field import Field

ResultT = TypeVar("ResultT")


class Wrong(ValueError):
    """The typed text is invalid; the message is a sentence with the reason."""


class AskDialog(Dialog[ResultT], Generic[ResultT]):
    """Dialog for a line of text. Its result is the parsed value."""

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
        """Create the dialog.

        Args:
            title: The title.
            note: Description of the input.
            read: Parses a text, or raises `Wrong`.
            value: Initial value of the field.
            placeholder: An example for the empty field.
            verb: Label of Enter.
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
        """Close with the parsed value, or show why the text is invalid."""
        try:
            result = self._read(self.query_one(Field).value.strip())
        except Wrong as wrong:
            self.show_error(str(wrong))
        else:
            self.dismiss(result)


_TYPED = re.compile(
    r"(?P<sign>[^0-9\s]?)\s*(?P<number>0[xX][0-9a-fA-F]+|[0-9][0-9_,\s]*)"
    r"(?::\s*(?P<column>[0-9]+)?)?\s*"
)
_MOST_CHARS = 40


class Numbered(NamedTuple):
    """A kind of numbered places.

    Attributes:
        sign: Prefix of a number.
        example: Example of an input.
        name: Name of one of them.
        first: The first number.
        last: The last number, less than the first if there are none.
        go: Goes to a number and a column, counted from 1; most have no columns.
    """

    sign: str
    example: str
    name: str
    first: int
    last: int
    go: Callable[[int, int], object]


def read_place(text: str, kinds: Sequence[Numbered]) -> Callable[[], object]:
    """Parse a place such as `12`, `12:3` (with a column), `#12` or `@0x1f`.

    Args:
        text: The input.
        kinds: The kinds of places; a number without a sign is of the first kind.

    Raises:
        Wrong: If it is not a place, or does not exist.
    """
    match = _TYPED.fullmatch(text.strip()) if len(text) <= _MOST_CHARS else None
    by_sign = {"": kinds[0], **{kind.sign: kind for kind in kinds}}
    if match is None or match["sign"] not in by_sign:
        raise Wrong(f"Type {', '.join(f'{kind.example} for a {kind.name}' for kind in kinds)}.")
    kind = by_sign[match["sign"]]
    digits = re.sub(r"[_,\s]", "", match["number"])
    number = int(digits, 16 if digits[:2] in ("0x", "0X") else 10)
    if kind.last < kind.first:
        raise Wrong(f"There are no {kind.name}s.")
    if not kind.first <= number <= kind.last:
        raise Wrong(f"The {kind.name}s go from {kind.first:,} to {kind.last:,}.")
    return partial(kind.go, number, max(1, int(match["column"] or 1)))


class GotoDialog(AskDialog[Callable[[], object]]):
    """Its result goes to a place that was there when the dialog opened."""

    DEFAULT_CSS = """
    GotoDialog #dialog { width: 52; }
    """

    def __init__(self, kinds: Sequence[Numbered]) -> None:
        """Create the dialog for some kinds of places."""
        there = [kind for kind in kinds if kind.last >= kind.first]
        possible = Content("\n").join(
            Content.assemble(
                (f"{kind.example:<12}", "$foreground"),
                f"{kind.name:<10}",
                f"{kind.first:,} – {kind.last:,}",
            )
            for kind in there
        )
        super().__init__(
            "Go to",
            possible if there else "There is nothing to go to.",
            lambda text: read_place(text, kinds),
            placeholder="   ".join(kind.example for kind in there),
        )
