"""The rows between texts: a message's header, a part's kind, and what can be added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from rich.cells import cell_len

from tokviz.glyphs import safe
from tokviz.tui.widgets.conversation.rows import MessageBlock
from tokviz.tui.widgets.fit import fit

Look = Literal[
    "rule", "role", "live", "muted", "warning", "button", "main", "text", "learned", "other"
]
LOOKS: tuple[Look, ...] = get_args(Look)


class Words(NamedTuple):
    """Some words of a row.

    Attributes:
        text: What is drawn, safe for the terminal.
        look: How.
        action: What a click does, empty for nothing.
    """

    text: str
    look: Look
    action: str = ""


def header_words(block: MessageBlock, index: int, width: int, *, is_live: bool) -> list[Words]:
    """Draw the header of a message.

    A click on the role asks for another one, and the signs at the right move and delete it; a
    narrow list leaves them and the note out.
    """
    look: Look = "live" if is_live else "role"
    role = Words(f"{fit(safe(block.role), 16)} ▾", look, "role")
    left = [Words(f"{index + 1} ", look), role, Words(" ", "rule")]
    note = [Words(f" {block.note} ", "warning" if block.warns else "muted")] if block.note else []
    signs = [
        Words(" ", "rule"),
        Words("↑", "button", "up"),
        Words(" ", "rule"),
        Words("↓", "button", "down"),
        Words(" ", "rule"),
        Words("✕", "button", "delete"),
    ]
    for right in ([*note, *signs], signs, []):
        rule = width - _width(left) - _width(right)
        if rule >= 1:
            break
    return _cut([*left, Words("─" * max(0, rule), "rule"), *right], width)


def kind_words(kind: str, width: int, *, is_live: bool) -> list[Words]:
    """Draw the row above a part that names its kind."""
    look: Look = "live" if is_live else "muted"
    words = [
        Words(f"{safe(kind)} ▾", look, "kind"),
        Words("  ", "rule"),
        Words("✕", "button", "delete_part"),
    ]
    return _cut(words, width)


def add_words(roles: Sequence[str], width: int) -> list[Words]:
    """Draw the last row: a button for each role, the one whose turn it is first."""
    words: list[Words] = []
    for number, role in enumerate(roles):
        words.append(Words(f" + {safe(role)} ", "button" if number else "main", f"add:{role}"))
        words.append(Words(" ", "rule"))
    return _cut(words, width)


def action_at(words: Sequence[Words], x: int) -> str:
    """Find what a click at a column does."""
    for word in words:
        x -= cell_len(word.text)
        if x < 0:
            return word.action
    return ""


def _width(words: Sequence[Words]) -> int:
    return sum(cell_len(word.text) for word in words)


def _cut(words: Sequence[Words], width: int) -> list[Words]:
    """Leave out what does not fit."""
    kept: list[Words] = []
    for word in words:
        width -= cell_len(word.text)
        if width < 0:
            break
        kept.append(word)
    return kept
