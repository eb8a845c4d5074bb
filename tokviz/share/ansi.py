"""Tokens in colour, for a terminal with 24 bits of colour; each also ends where a mark is drawn."""

from __future__ import annotations

from collections.abc import Iterator

from tokviz.share.colours import DARK
from tokviz.share.figure import Figure

_RESET = "\x1b[0m"


def write(figure: Figure) -> Iterator[str]:
    """Write a line for each line of the text."""
    for row in figure.rows():
        parts = []
        for chip, label in row:
            style = "\x1b[1;3m" if chip.is_special else ""
            parts.append(f"{style}{_paint(38, DARK.text)}{_paint(48, DARK.fills[chip.hue])}{label}")
        yield f"{_RESET}".join(parts) + _RESET
    yield figure.facts


def _paint(code: int, colour: str) -> str:
    red, green, blue = bytes.fromhex(colour[1:])
    return f"\x1b[{code};2;{red};{green};{blue}m"
