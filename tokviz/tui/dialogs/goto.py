"""Jumping to a line, a token or a byte."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from textual.content import Content

from tokviz.tui.dialogs.ask_text import AskDialog, Wrong

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


def parse_target(text: str, limits: GotoLimits) -> GotoTarget:
    """Read a place: `12` or `12:3` (line, column), `#12` (token) or `@345` (byte; also `@0x1f`).

    Raises:
        Wrong: If it is none, or not one of this text.
    """
    match = _TARGET.fullmatch(text.strip())
    if match is None or len(text) > 40:
        raise Wrong("Type 12 or 12:3 for a line, #12 for a token, @345 for a byte.")
    digits = re.sub(r"[_,\s]", "", match["number"])
    number = int(digits, 16 if digits[:2] in ("0x", "0X") else 10)
    if match["sign"] == "#":
        return _within("token", number, limits.n_tokens - 1)
    if match["sign"] == "@":
        return _within("byte", number, limits.n_bytes)
    if not 1 <= number <= limits.n_lines:
        raise Wrong(f"The lines go from 1 to {limits.n_lines:,}.")
    return GotoTarget("line", number, max(1, int(match["column"] or 1)))


def _within(kind: Literal["token", "byte"], number: int, last: int) -> GotoTarget:
    if last < 0:
        raise Wrong(f"There is no {kind} yet.")
    if number > last:
        raise Wrong(f"The {kind}s go from 0 to {last:,}.")
    return GotoTarget(kind, number)


class GotoDialog(AskDialog[GotoTarget]):
    """Its result is a place that the text had when the dialog opened."""

    DEFAULT_CSS = """
    GotoDialog #dialog { width: 52; }
    """

    def __init__(self, limits: GotoLimits) -> None:
        """Take how much there is to go to."""
        rows = [
            ("12, 12:3", "line, column", f"1 – {limits.n_lines:,}"),
            ("#12", "token", f"0 – {max(0, limits.n_tokens - 1):,}"),
            ("@345", "byte", f"0 – {limits.n_bytes:,}"),
        ]
        possible = Content("\n").join(
            Content.assemble((f"{typed:<10}", "$foreground"), f"{kind:<14}", span)
            for typed, kind, span in rows
        )
        super().__init__(
            "Go to",
            possible,
            lambda text: parse_target(text, limits),
            placeholder="12   12:3   #12   @345",
        )
