r"""The text area's document, exact: what it holds is the live document's byte text.

Textual's own document splits at every kind of line end and joins with one kind; this one splits at
"\n" only and normalises nothing. Every edit, undo and redo of the text area comes through
`replace_range`, which passes it on as a change of offsets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from textual.document._document import Document, EditResult, Location, Selection
from textual.geometry import Size

from tokviz.live.document import LiveDocument


class LineChange(NamedTuple):
    """What a replacement did to the lines."""

    first: int
    """The first changed line."""
    last: int
    """The last changed line as lines were counted before."""
    n_lines: int
    """How many lines took their place, at least 1."""
    column: int
    """Where in the first line the change begins."""
    n_removed: int
    """Characters taken out, line feeds included."""
    n_inserted: int
    """Characters put in, line feeds included."""


class ExactDocument(Document):
    """The lines of a live document, for the text area."""

    def __init__(self, live: LiveDocument) -> None:
        """Take the live document; its text must change only through here."""
        self._newline = "\n"
        self._lines = live.text.split("\n")
        self._live = live
        self.on_change: Callable[[LineChange], None] = lambda change: None
        """Called after every replacement."""

    def get_size(self, tab_width: int) -> Size:
        """Return the longest line's characters and the number of lines."""
        return Size(max(map(len, self._lines)), len(self._lines))

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Replace the text between two locations, and tell the live document."""
        top, bottom = sorted((self._clamped(start), self._clamped(end)))
        replaced = self.get_text_range(top, bottom)
        (first, column), (last, last_column) = top, bottom
        lines = self._lines
        inserted = text.split("\n")
        end_column = len(inserted[-1]) + (column if len(inserted) == 1 else 0)
        inserted[0] = lines[first][:column] + inserted[0]
        inserted[-1] += lines[last][last_column:]
        offset = self._live.line_start(first) + column
        lines[first : last + 1] = inserted
        self._live.edit(offset, len(replaced), text)
        self.on_change(LineChange(first, last, len(inserted), column, len(replaced), len(text)))
        return EditResult((first + len(inserted) - 1, end_column), replaced)

    def get_text_range(self, start: Location, end: Location) -> str:
        """Return the text between two locations, exactly."""
        (first, column), (last, last_column) = sorted((self._clamped(start), self._clamped(end)))
        if first == last:
            return self._lines[first][column:last_column]
        return "\n".join(
            [
                self._lines[first][column:],
                *self._lines[first + 1 : last],
                self._lines[last][:last_column],
            ]
        )

    def get_index_from_location(self, location: Location) -> int:
        """Return the offset of a location in characters."""
        row, column = self._clamped(location)
        return self._live.line_start(row) + column

    def get_location_from_index(self, index: int) -> Location:
        """Return the location of an offset in characters."""
        return self._live.location(max(0, min(index, self._live.n_chars)))

    def offsets(self, selection: Selection) -> tuple[int, int]:
        """Return the offsets of a selection's beginning and end, in text order."""
        first, last = sorted(selection)
        return self.get_index_from_location(first), self.get_index_from_location(last)

    def _clamped(self, location: Location) -> Location:
        row, column = location
        if row < 0:
            return 0, 0
        if row >= len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        return row, max(0, min(column, len(self._lines[row])))
