r"""The text area's document, exact: what it holds is the live document's byte text.

Textual's own document splits at every kind of line end and joins with one kind; this one splits at
"\n" only and normalises nothing. Every edit, undo and redo of the text area comes through
`replace_range`, which passes it on as a change of offsets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from textual.document._document import Document, EditResult, Location, Selection
from textual.geometry import Size

from tokviz.live.document import LiveDocument

_STEP: Final = 1 << 18
"""Characters that are split in one go."""


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
    last_column: int
    """Where in the last line what was taken out ended."""
    n_removed: int
    """Characters taken out, line feeds included."""
    inserted: str
    """What was put in."""


def lines_of(text: str) -> list[str]:
    r"""Split a text at "\n", in steps between which other threads get their turn."""
    lines: list[str] = []
    start = 0
    while (end := text.find("\n", start + _STEP)) >= 0:
        lines += text[start:end].split("\n")
        start = end + 1
    return lines + text[start:].split("\n")


class ExactDocument(Document):
    """The lines of a live document, for the text area."""

    def __init__(self, live: LiveDocument) -> None:
        """Take the live document; its text must change only through here."""
        self._newline = "\n"
        self._lines = lines_of(live.text)
        self._live = live
        self._prepared: tuple[str, list[str]] | None = None
        self.on_change: Callable[[LineChange], None] = lambda change: None
        """Called after every replacement."""

    def get_size(self, tab_width: int) -> Size:
        """Return the longest line's characters and the number of lines."""
        return Size(max(map(len, self._lines)), len(self._lines))

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Replace the text between two locations, and tell the live document."""
        top, bottom = sorted((self._clamped(start), self._clamped(end)))
        (first, column), (last, last_column) = top, bottom
        offset = self._offset(top)
        replaced = self._live.text_in(offset, self._offset(bottom))
        lines = self._lines
        inserted = self._inserted(text)
        end_column = len(inserted[-1]) + (column if len(inserted) == 1 else 0)
        inserted[0] = lines[first][:column] + inserted[0]
        inserted[-1] += lines[last][last_column:]
        n_lines = len(inserted)
        if n_lines < len(lines):
            lines[first : last + 1] = inserted
        else:
            # The shorter list is copied into the longer one: ten million lines take a while.
            inserted[:0] = lines[:first]
            inserted += lines[last + 1 :]
            self._lines = inserted
        self._live.edit(offset, len(replaced), text)
        self.on_change(LineChange(first, last, n_lines, column, last_column, len(replaced), text))
        return EditResult((first + n_lines - 1, end_column), replaced)

    def load(self, text: str) -> None:
        """Take another text in place of this one."""
        (last, last_column), n_removed = self.end, self._live.n_chars
        self._live.set_text(text)
        self._lines = self._inserted(text)
        self.on_change(LineChange(0, last, len(self._lines), 0, last_column, n_removed, text))

    def prepare_edit(self, text: str) -> list[str]:
        """Split a text that is about to be inserted into lines. For any thread."""
        lines = lines_of(text)
        self._prepared = (text, lines)
        return lines

    def _inserted(self, text: str) -> list[str]:
        prepared, self._prepared = self._prepared, None
        return lines_of(text) if prepared is None or prepared[0] != text else prepared[1]

    def get_text_range(self, start: Location, end: Location) -> str:
        """Return the text between two locations, exactly."""
        top, bottom = sorted((self._clamped(start), self._clamped(end)))
        return self._live.text_in(self._offset(top), self._offset(bottom))

    def get_index_from_location(self, location: Location) -> int:
        """Return the offset of a location in characters."""
        return self._offset(self._clamped(location))

    def get_location_from_index(self, index: int) -> Location:
        """Return the location of an offset in characters."""
        return self._live.location(max(0, min(index, self._live.n_chars)))

    def offsets(self, selection: Selection) -> tuple[int, int]:
        """Return the offsets of a selection's beginning and end, in text order."""
        first, last = sorted(selection)
        return self.get_index_from_location(first), self.get_index_from_location(last)

    def _offset(self, location: Location) -> int:
        row, column = location
        return self._live.line_start(row) + column

    def _clamped(self, location: Location) -> Location:
        row, column = location
        if row < 0:
            return 0, 0
        if row >= len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        return row, max(0, min(column, len(self._lines[row])))
