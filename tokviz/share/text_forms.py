"""Figures as lines of text: in terminal colors, as a plain table, or as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from tokviz.share.colours import DARK
from tokviz.share.figure import Chip, Figure

_RESET = "\x1b[0m"


def write_ansi(figure: Figure) -> Iterator[str]:
    """Write tokens in 24-bit color, one line per line of the text; marked ones are underlined."""
    several = len(figure.parts) > 1
    if several:
        yield figure.title
    for part in figure.parts:
        if part.heading:
            yield f"{_paint(38, DARK.muted)}{part.heading}{_RESET}"
        for row in part.rows():
            yield "".join(_colored(chip, label) for chip, label in row)
    yield from figure.facts


def _colored(chip: Chip | None, label: str) -> str:
    if chip is None:
        return f"{_paint(38, DARK.muted)}{label}{_RESET}"
    style = "\x1b[1;3m" * chip.is_special + "\x1b[1;4m" * bool(chip.mark)
    colours = f"{_paint(38, DARK.text)}{_paint(48, DARK.all_fills[chip.hue])}"
    return f"{style}{colours}{label}{_RESET}"


def _paint(code: int, colour: str) -> str:
    red, green, blue = bytes.fromhex(colour[1:])
    return f"\x1b[{code};2;{red};{green};{blue}m"


def write_table(figure: Figure) -> Iterator[str]:
    """Write one line per token: number, id, byte range, pre-token, bytes, text.

    A highlighted token's line ends in its mark. If there are several parts, each starts with a line
    "# heading".
    """
    for heading, group in groupby(figure.chips, lambda row: row[0]):
        yield from [f"# {heading}"] if heading else ()
        yield from (_table_line(chip) for _, chip in group)


def _table_line(chip: Chip) -> str:
    return (
        f"{chip.number} {chip.id} {chip.start}-{chip.start + len(chip.data)} "
        f"{chip.pre_token if chip.pre_token >= 0 else '-'} {chip.data.hex() or '-'} "
        f"{chip.label}{' special' * chip.is_special}{f' {chip.mark}' if chip.mark else ''}"
    )


def write_markdown(figure: Figure) -> Iterator[str]:
    """Write the title, followed by one Markdown table per part."""
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
