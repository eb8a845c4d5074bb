"""Tokens as Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from tokviz.share.figure import Chip, Figure


def write(figure: Figure) -> Iterator[str]:
    """Write the title, followed by one table per part."""
    yield f"**{_plain(figure.title)}**"
    for fact in figure.facts:
        yield from ("", _plain(fact))
    rows = list(figure.chips)
    heads = {"#": "---:", "id": "---:", "bytes": "---", "pre-token": "---:", "text": "---"}
    if any(chip.mark or chip.note for _, chip in rows):
        heads["note"] = "---"
    for heading, group in groupby(rows, lambda row: row[0]):
        yield from ("", f"**{_plain(heading)}**") if heading else ()
        yield from ("", _row(heads), _row(heads.values()))
        yield from (_row(_cells(chip)[: len(heads)]) for _, chip in group)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(chip: Chip) -> list[str]:
    label = f"**{_code(chip.label)}**" if chip.is_special else _code(chip.label)
    pre_token = str(chip.pre_token + 1) if chip.pre_token >= 0 else ""
    note = _plain(": ".join(filter(None, (chip.mark, chip.note))))
    return [str(chip.number), str(chip.id), chip.data.hex(" "), pre_token, label, note]


def _code(text: str) -> str:
    """Format a text as inline code, even if it contains backticks."""
    marks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{marks}{space}{text}{space}{marks}".replace("|", "\\|")


def _plain(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>()#|!" else char for char in text)
