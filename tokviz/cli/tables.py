"""Tables of names and numbers, aligned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokviz.compare.figures import TableRow


def plain_table(rows: Sequence[TableRow]) -> Iterator[str]:
    """Align a table whose first row are heads: names to the left, numbers to the right."""
    sizes = [[_n_columns(cell) for cell in row] for row in rows]
    widths = list(map(max, zip(*sizes, strict=True)))
    for row, own in zip(rows, sizes, strict=True):
        gaps = [" " * (width - size) for width, size in zip(widths, own, strict=True)]
        numbers = (gap + cell for cell, gap in zip(row[1:], gaps[1:], strict=True))
        yield "  ".join((row[0] + gaps[0], *numbers)).rstrip()


def _n_columns(text: str) -> int:
    """Count the columns that text takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
