"""Tokens as a table in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokviz.share.figure import Figure


def write(figure: Figure) -> Iterator[str]:
    """Write the table below its title."""
    yield f"**{_plain(figure.title)}**: {figure.facts}"
    yield ""
    yield "| # | id | bytes | piece | text |"
    yield "| ---: | ---: | --- | ---: | --- |"
    for chip in figure.chips:
        label = f"**{_code(chip.label)}**" if chip.is_special else _code(chip.label)
        yield f"| {chip.number} | {chip.id} | {chip.data.hex(' ')} | {chip.piece + 1} | {label} |"


def _code(text: str) -> str:
    """Quote a text as code, whatever is in it."""
    marks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{marks}{space}{text}{space}{marks}".replace("|", "\\|")


def _plain(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>()#|!" else char for char in text)
