"""Which cells of a row each character takes: the one truth for wrapping, painting and the mouse."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from rich.cells import get_character_cell_size

from tokviz.glyphs import HIDDEN, SHOWN, Glyphs, display

TAB_WIDTH: Final = 4
_CACHE_SIZE: Final = 16_384


class Cells(NamedTuple):
    """The glyphs of consecutive characters of a line and where they stand.

    A combining mark that is drawn on its letter has the glyph "" and no cell of its own.
    """

    glyphs: Sequence[str]
    """One per character; their texts in order are what is drawn."""
    starts: Sequence[int]
    """The first cell of each character, and behind the last one the width of all."""

    @property
    def width(self) -> int:
        """The number of cells of all characters."""
        return self.starts[-1]

    def visitable(self, index: int) -> int:
        """Move a character index from a mark inside a letter's cell to the letter."""
        while 0 < index < len(self.glyphs) and not self.glyphs[index]:
            index -= 1
        return index

    def index_at(self, cell: int) -> int:
        """Find the character drawn at a cell; the number of characters behind the last one."""
        return self.visitable(max(0, bisect_right(self.starts, cell) - 1))


class _Widths(dict[str, int]):
    """The width of each glyph, as Rich and Textual measure it."""

    def __missing__(self, glyph: str) -> int:
        if len(self) > _CACHE_SIZE:
            self.clear()
        width = self[glyph] = sum(map(get_character_cell_size, glyph))
        return width


_WIDTHS: Final = _Widths()


def glyph_table(show_invisibles: bool) -> Glyphs:
    """Return the editor's glyphs with invisible characters shown or hidden."""
    return SHOWN if show_invisibles else HIDDEN


def lay_out(text: str, glyphs: Glyphs) -> Cells:
    r"""Lay out characters side by side, the first one at cell 0.

    >>> lay_out("世\tx", HIDDEN)
    Cells(glyphs=['世', '  ', 'x'], starts=[0, 2, 4, 5])
    """
    if text.isascii() and text.isprintable():
        return Cells(text.replace(" ", glyphs[" "]), range(len(text) + 1))
    drawn = display(text, glyphs)
    if "\t" in text:
        return _with_tabs(text, drawn, glyphs)
    return Cells(drawn, [0, *accumulate([_WIDTHS[glyph] for glyph in drawn])])


def _with_tabs(text: str, drawn: list[str], glyphs: Glyphs) -> Cells:
    """Let each tab reach to the next multiple of the tab width."""
    arrow = glyphs["\t"] if glyphs.style.blanks else " "
    cell, starts = 0, [0]
    for index, char in enumerate(text):
        if char == "\t":
            drawn[index] = arrow.ljust(TAB_WIDTH - cell % TAB_WIDTH)
        cell += _WIDTHS[drawn[index]]
        starts.append(cell)
    return Cells(drawn, starts)
