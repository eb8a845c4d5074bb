"""Jumping to something that has a number, such as a line, a token or a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from textual.content import Content

from tokviz.tui.dialogs.ask_text import AskDialog, Wrong

_TYPED = re.compile(
    r"(?P<sign>[^0-9\s]?)\s*(?P<number>0[xX][0-9a-fA-F]+|[0-9][0-9_,\s]*)"
    r"(?::\s*(?P<column>[0-9]+)?)?\s*"
)
_MOST_CHARS = 40


class Numbered(NamedTuple):
    """Things of a kind that have numbers.

    Attributes:
        sign: What stands before the number of one.
        example: What can be typed.
        name: What one is called.
        first: The first number.
        last: The last one, less than the first where there are none.
        go: Goes to a number and a column, counted from 1; most have no columns.
    """

    sign: str
    example: str
    name: str
    first: int
    last: int
    go: Callable[[int, int], object]


def read_place(text: str, kinds: Sequence[Numbered]) -> Callable[[], object]:
    """Read a place such as `12`, `12:3` (with a column), `#12` or `@0x1f`; give what goes there.

    Args:
        text: What is typed.
        kinds: What has numbers; one without a sign is of the first kind.

    Raises:
        Wrong: If it is none, or there is none of that number.
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
        """Take what can be gone to."""
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
