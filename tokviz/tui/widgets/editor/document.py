r"""Exact document of the text area, backed by a live document.

Textual's own document splits at every kind of line end and joins with one kind; this one splits at
"\n" only and normalizes nothing. Every edit, undo and redo of the text area calls `replace_range`,
which edits the live document.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, overload

from textual.widgets.text_area import Document, EditResult, Location, Selection

from tokviz.live.document import LiveDocument


class LineChange(NamedTuple):
    """A replacement, and the lines that it changed."""

    first: int
    """The first changed line."""
    last: int
    """The last changed line, as counted before."""
    n_lines: int
    """How many lines replaced them, at least 1."""
    column: int
    """The column in the first line at which the change starts."""
    last_column: int
    """The column in the last line at which the removed text ended."""
    n_removed: int
    """Characters removed, including line feeds."""
    inserted: str
    """The inserted text."""


class Follower(Protocol):
    """An object that is notified of every change of a document."""

    def before_change(self, first: int, last: int) -> None:
        """Prepare for a replacement in the lines `first` to `last`."""

    def after_change(self, change: LineChange) -> None:
        """Follow a replacement."""

    def reload(self) -> None:
        """Start again with another text."""


class LineText:
    """A line of a live document. Only the slices that are taken are read."""

    __slots__ = ("_end", "_live", "_start")

    def __init__(self, live: LiveDocument, start: int, end: int) -> None:
        """Take the document, and the offsets of the line's start and end."""
        self._live, self._start, self._end = live, start, end

    def __len__(self) -> int:
        """Count the characters."""
        return self._end - self._start

    def __getitem__(self, columns: slice) -> str:
        """Read a slice."""
        first, last, _ = columns.indices(len(self))
        return self._live.text_in(self._start + first, self._start + last)


class ExactDocument(Document):
    """The lines of a live document, for the text area. Only the last line read is cached."""

    def __init__(self, live: LiveDocument) -> None:
        """Take the live document; its text must change only through here."""
        self._newline = "\n"
        self.live = live
        self._last_read: tuple[int, int, str] = -1, -1, ""
        self.follower: Follower | None = None
        """The wrapped document, which is notified of every change."""

    @property
    def text(self) -> str:
        """The whole text."""
        return self.live.text

    @property
    def lines(self) -> list[str]:
        """All lines; reading them takes time proportional to the text."""
        return self.live.text.split("\n")

    @property
    def line_count(self) -> int:
        """The number of lines."""
        return self.live.n_lines

    @property
    def end(self) -> Location:
        """The location after the last character."""
        return self.live.location(self.live.n_chars)

    def line(self, number: int) -> LineText:
        """Return a line, valid until the text changes; only its slices are read."""
        return LineText(self.live, self.live.line_start(number), self.live.line_end(number))

    @overload
    def __getitem__(self, line_index: int) -> str: ...

    @overload
    def __getitem__(self, line_index: slice) -> list[str]: ...

    def __getitem__(self, line_index: int | slice) -> str | list[str]:
        """Return a line, or several, without their line feeds."""
        if isinstance(line_index, slice):
            return self.lines[line_index]
        number, revision = line_index % self.line_count, self.live.revision
        if self._last_read[:2] != (number, revision):
            self._last_read = number, revision, self.live.lines(number, number + 1)[0]
        return self._last_read[2]

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Replace the text between two locations in the live document."""
        top, bottom = sorted((self.clamped(start), self.clamped(end)))
        (first, column), (last, last_column) = top, bottom
        offset = self._offset(top)
        replaced = self.live.text_in(offset, self._offset(bottom))
        n_lines = text.count("\n") + 1
        end_column = len(text) - text.rfind("\n") - 1 + (column if n_lines == 1 else 0)
        if self.follower is not None:
            self.follower.before_change(first, last)
        self.live.edit(offset, len(replaced), text)
        if self.follower is not None:
            change = LineChange(first, last, n_lines, column, last_column, len(replaced), text)
            self.follower.after_change(change)
        return EditResult((first + n_lines - 1, end_column), replaced)

    def load(self, text: str) -> None:
        """Replace the whole text."""
        self.live.set_text(text)
        if self.follower is not None:
            self.follower.reload()

    def get_text_range(self, start: Location, end: Location) -> str:
        """Return the text between two locations, exactly."""
        top, bottom = sorted((self.clamped(start), self.clamped(end)))
        return self.live.text_in(self._offset(top), self._offset(bottom))

    def get_index_from_location(self, location: Location) -> int:
        """Return the offset of a location in characters."""
        return self._offset(self.clamped(location))

    def get_location_from_index(self, index: int) -> Location:
        """Return the location of an offset in characters."""
        return self.live.location(max(0, min(index, self.live.n_chars)))

    def offsets(self, selection: Selection) -> tuple[int, int]:
        """Return the offsets of a selection's start and end, in text order."""
        first, last = sorted(selection)
        return self.get_index_from_location(first), self.get_index_from_location(last)

    def _offset(self, location: Location) -> int:
        row, column = location
        return self.live.line_start(row) + column

    def clamped(self, location: Location) -> Location:
        """Return the nearest location of the text."""
        row, column = location
        if row < 0:
            return 0, 0
        if row >= self.line_count:
            return self.end
        return row, max(0, min(column, len(self.line(row))))
