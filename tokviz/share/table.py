"""Plain lines, one per token, for programs and screen readers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tokviz.share.figure import Chip, Figure


def write(figure: Figure) -> Iterator[str]:
    """Write one line per token: number, id, byte range, pre-token, bytes, text.

    A highlighted token's line ends in its mark. If there are several parts, each starts with a line
    "# heading".
    """
    for heading, group in groupby(figure.chips, lambda row: row[0]):
        yield from [f"# {heading}"] if heading else ()
        yield from (_line(chip) for _, chip in group)


def _line(chip: Chip) -> str:
    return (
        f"{chip.number} {chip.id} {chip.start}-{chip.start + len(chip.data)} "
        f"{chip.pre_token if chip.pre_token >= 0 else '-'} {chip.data.hex() or '-'} "
        f"{chip.label}{' special' * chip.is_special}{f' {chip.mark}' if chip.mark else ''}"
    )
