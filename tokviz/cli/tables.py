"""Tables of names and numbers, aligned or in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Row = tuple[str, ...]


def ratio(value: float | None) -> str:
    """Write a ratio, "–" where there is none."""
    return "–" if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    """Write a difference in per cent, "–" where there is none."""
    return "–" if value is None else f"{value:+.1%}"


def plain_table(rows: Sequence[Row]) -> Iterator[str]:
    """Align a table whose first row are heads: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        numbers = (f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        yield "  ".join((f"{name:<{widths[0]}}", *numbers)).rstrip()


def markdown_table(rows: Sequence[Row]) -> Iterator[str]:
    """Write a table whose first row are heads as Markdown."""
    for number, row in enumerate(rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
        if not number:
            yield f"|---|{'---:|' * (len(row) - 1)}"
