"""The cells of characters, and line breaking.

Wrapping, painting and the mouse all use this layout of characters in cells.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from rich.cells import get_character_cell_size

from tokviz.text.glyphs import HIDDEN, SHOWN, Glyphs, display

TAB_WIDTH: Final = 4
_CACHE_SIZE: Final = 16_384


class Cells(NamedTuple):
    """The glyphs of consecutive characters of a line, and their cells.

    A combining mark that is drawn on its letter has the glyph "" and no cell of its own.
    """

    glyphs: Sequence[str]
    """The glyph of each character, in order."""
    starts: Sequence[int]
    """The first cell of each character, followed by the width of all."""

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
        """Return the character drawn at a cell; beyond the last one, the number of characters."""
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
    """Extend each tab to the next multiple of the tab width."""
    arrow = glyphs["\t"] if glyphs.style.blanks else " "
    cell, starts = 0, [0]
    for index, char in enumerate(text):
        if char == "\t":
            drawn[index] = arrow.ljust(TAB_WIDTH - cell % TAB_WIDTH)
        cell += _WIDTHS[drawn[index]]
        starts.append(cell)
    return Cells(drawn, starts)


_WIDE: Final = re.compile(
    "[\u3001-\u3029\u3041-\u3096\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]"
)
"""Characters of East Asian scripts, between which a row may end."""


def is_plain(text: str) -> bool:
    """Return whether a text is ASCII without tabs, so that every character takes one cell."""
    return text.isascii() and "\t" not in text


def breaks(text: str, width: int, glyphs: Glyphs) -> tuple[int, ...]:
    """Break a text into rows, after the last space that fits or between wide characters.

    Args:
        text: A line, or a part of one that is laid out separately.
        width: The cells of a row, at least 1. A wider glyph has a row of its own.
        glyphs: How characters are drawn.

    Returns:
        The index of the first character of every row but the first.
    """
    if is_plain(text):
        return _plain_breaks(text, width)
    found: list[int] = []
    start, likely = 0, width
    while True:
        end = _row_end(text, start, width, glyphs, likely)
        likely = end - start
        if end >= len(text):
            return tuple(found)
        start = _break_before(text, start, end)
        found.append(start)


def _plain_breaks(text: str, width: int) -> tuple[int, ...]:
    n = len(text)
    if " " not in text:
        return tuple(range(width, n, width))
    found: list[int] = []
    end = width
    start = 0
    while end < n:
        if text[end] != " ":
            # After the last space that fits; if there is none, at the end.
            end = text.rfind(" ", start, end) + 1 or end
        found.append(end)
        start = end
        end += width
    return tuple(found)


def _row_end(text: str, start: int, width: int, glyphs: Glyphs, likely: int) -> int:
    """Return the end of the longest row that fits, which has about `likely` characters."""
    # A letter with its marks takes at least a cell and is at most three characters.
    most = 3 * width if glyphs.style.clusters else width
    for reach in (min(likely + likely // 4 + 4, most), most):
        cells = lay_out(text[start : start + reach + 1], glyphs)
        fitting = bisect_right(cells.starts, width) - 1
        if fitting < len(cells.glyphs) - 1:
            # Only a mark on the last character could follow.
            break
    if fitting:
        return start + fitting
    # The first glyph is too wide: it has the row, with its marks.
    return start + next((i for i, glyph in enumerate(cells.glyphs) if i and glyph), len(text))


def _break_before(text: str, start: int, end: int) -> int:
    """Return the break of a row that could reach to `end`."""
    if text[end] == " " or _WIDE.search(text, end - 1, end + 1):
        return end
    space = text.rfind(" ", start, end)
    return end if space < 0 else space + 1


def _is_mark(text: str, index: int) -> bool:
    return index < len(text) and unicodedata.category(text[index]) == "Mn"


def safe_cut(text: str, wanted: int, back: int) -> int:
    """Return where to cut a long line into parts that are laid out separately.

    Args:
        text: The line.
        wanted: The approximate index; less than the length.
        back: How far before that to look for a space.

    Returns:
        An index after a space, else one before a character that is not a combining mark.
    """
    space = text.rfind(" ", wanted - back, wanted)
    if space >= 0:
        return space + 1
    candidates = range(wanted, wanted - back, -1)
    return next((cut for cut in candidates if not _is_mark(text, cut)), wanted)
