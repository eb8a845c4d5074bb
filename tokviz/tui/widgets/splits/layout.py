"""Where the characters of a stretch of text stand when several ways to split it are stacked.

All patterns share the columns: wherever any of them begins a piece, a column is kept free for the
mark, in every row. So the same text stands at the same columns in each row, and a boundary that
one pattern has and another lacks is seen at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len

from tokviz.glyphs import SHOWN, display


class Cell(NamedTuple):
    """What stands at a column: a character's glyph, or (glyph "") the room for a mark before it."""

    column: int
    char: int
    """Its number in the text that was laid out."""
    glyph: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """As many characters as fit into one row.

    Attributes:
        start: Number of the first character.
        end: Number behind the last one.
        cells: What stands in the row, from left to right.
    """

    start: int
    end: int
    cells: tuple[Cell, ...]

    def char_at(self, column: int) -> int | None:
        """Find the character whose glyph, or mark, is at a column; None beside the text."""
        found = None
        for cell in self.cells:
            if cell.column > column:
                break
            found = cell
        if found is None or column >= found.column + max(1, cell_len(found.glyph)):
            return None
        return found.char


def stretches(
    text: str, marks: Collection[int], breaks: Collection[int], width: int
) -> list[Stretch]:
    """Lay out a text in rows.

    A row that is full ends before the last break if that leaves it at least half full.

    Args:
        text: A line or a part of one.
        marks: Numbers of the characters before which any pattern begins a piece.
        breaks: Those of them at which a row ends well: where all patterns begin a piece.
        width: Columns of a row.

    Returns:
        One stretch per row; at least one, also for an empty text.
    """
    glyphs = display(text, SHOWN)
    marked = [index in marks for index in range(len(text))]
    breaking = [index in breaks for index in range(len(text))]
    sizes = [cell_len(glyph) + mark for glyph, mark in zip(glyphs, marked, strict=True)]
    rows = [
        Stretch(first, last, _cells(glyphs, marked, sizes, first, last))
        for first, last in _wrap(sizes, breaking, width)
    ]
    return rows or [Stretch(0, 0, ())]


def _wrap(sizes: Sequence[int], breaks: Sequence[bool], width: int) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    first = column = 0
    good_end = 0
    for index, size in enumerate(sizes):
        while column + size > width and index > first:
            last = good_end if good_end > first else index
            rows.append((first, last))
            first = last
            column = sum(sizes[first:index])
        if breaks[index] and column >= width // 2:
            good_end = index
        column += size
    if sizes:
        rows.append((first, len(sizes)))
    return rows


def _cells(
    glyphs: Sequence[str],
    marked: Sequence[bool],
    sizes: Sequence[int],
    first: int,
    last: int,
) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    column = 0
    for index in range(first, last):
        if marked[index]:
            cells.append(Cell(column, index, ""))
        cells.append(Cell(column + marked[index], index, glyphs[index]))
        column += sizes[index]
    return tuple(cells)
