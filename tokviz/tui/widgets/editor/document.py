r"""The text area's document, exact: what it holds is the live document's byte text.

Textual's own document splits at every kind of line end and joins with one kind; this one splits at
"\n" only and normalises nothing. Every edit, undo and redo of the text area comes through
`replace_range`, which passes it on as a change of offsets.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, overload

from textual.widgets.text_area import Document, EditResult, Location, Selection

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
    last_column: int
    """Where in the last line what was taken out ended."""
    n_removed: int
    """Characters taken out, line feeds included."""
    inserted: str
    """What was put in."""


class Follower(Protocol):
    """An object that is notified of every change of a document."""

    def before_change(self, first: int, last: int) -> None:
        """Prepare for a replacement in the lines `first` to `last`."""

    def after_change(self, change: LineChange) -> None:
        """Follow a replacement."""

    def reload(self) -> None:
        """Start again with another text."""


class LineText:
    """A line of a live document, a slice of which costs what the slice is long."""

    __slots__ = ("_end", "_live", "_start")

    def __init__(self, live: LiveDocument, start: int, end: int) -> None:
        """Take the document, and the offsets between which the line stands in it."""
        self._live, self._start, self._end = live, start, end

    def __len__(self) -> int:
        """Count the characters."""
        return self._end - self._start

    def __getitem__(self, columns: slice) -> str:
        """Read some of them."""
        first, last, _ = columns.indices(len(self))
        return self._live.text_in(self._start + first, self._start + last)


class ExactDocument(Document):
    """The lines of a live document, for the text area. It keeps none of them but the last asked."""

    def __init__(self, live: LiveDocument) -> None:
        """Take the live document; its text must change only through here."""
        self._newline = "\n"
        self.live = live
        self._asked: tuple[int, int, str] = -1, -1, ""
        self.follower: Follower | None = None
        """The wrapped document, which is notified of every change."""

    @property
    def text(self) -> str:
        """The whole text."""
        return self.live.text

    @property
    def lines(self) -> list[str]:
        """All lines; what it costs grows with the text."""
        return self.live.text.split("\n")

    @property
    def line_count(self) -> int:
        """The number of lines."""
        return self.live.n_lines

    @property
    def end(self) -> Location:
        """The location behind the last character."""
        return self.live.location(self.live.n_chars)

    def line(self, number: int) -> LineText:
        """Give a line, as long as the text stays as it is; nothing of it is read before a slice."""
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
        if self._asked[:2] != (number, revision):
            self._asked = number, revision, self.live.lines(number, number + 1)[0]
        return self._asked[2]

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Replace the text between two locations, and tell the live document."""
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
        """Take another text in place of this one."""
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
        """Return the offsets of a selection's beginning and end, in text order."""
        first, last = sorted(selection)
        return self.get_index_from_location(first), self.get_index_from_location(last)

    def _offset(self, location: Location) -> int:
        row, column = location
        return self.live.line_start(row) + column

    def clamped(self, location: Location) -> Location:
        """Give a location if it is in the text, else the nearest one that is."""
        row, column = location
        if row < 0:
            return 0, 0
        if row >= self.line_count:
            return self.end
        return row, max(0, min(column, len(self.line(row))))
