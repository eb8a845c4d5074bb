"""Tokens in color, for a terminal with 24-bit color; highlighted tokens are also underlined."""

from __future__ import annotations

from collections.abc import Iterator

from tokviz.share.colours import DARK
from tokviz.share.figure import Chip, Figure

_RESET = "\x1b[0m"


def write(figure: Figure) -> Iterator[str]:
    """Write one line per line of the text."""
    several = len(figure.parts) > 1
    if several:
        yield figure.title
    for part in figure.parts:
        if part.heading:
            yield f"{_paint(38, DARK.muted)}{part.heading}{_RESET}"
        for row in part.rows():
            yield "".join(_item(chip, label) for chip, label in row)
    yield from figure.facts


def _item(chip: Chip | None, label: str) -> str:
    if chip is None:
        return f"{_paint(38, DARK.muted)}{label}{_RESET}"
    style = "\x1b[1;3m" * chip.is_special + "\x1b[1;4m" * bool(chip.mark)
    colours = f"{_paint(38, DARK.text)}{_paint(48, DARK.all_fills[chip.hue])}"
    return f"{style}{colours}{label}{_RESET}"


def _paint(code: int, colour: str) -> str:
    red, green, blue = bytes.fromhex(colour[1:])
    return f"\x1b[{code};2;{red};{green};{blue}m"
