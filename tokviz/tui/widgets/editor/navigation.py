"""Movement of the cursor by rows of the screen and by words, independent of the text's length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from textual.geometry import Offset
from textual.widgets.text_area import DocumentNavigator, Location

from tokviz.tui.widgets.editor.long_line import Sliceable
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument

_WINDOW: Final = 256
_WORD_START_OR_END: Final = re.compile(r"(?<=\W)(?=\w)|(?<=\w)(?=\W)")
_NEXT_WORD: Final = re.compile(r"\w+")


class ExactNavigator(DocumentNavigator):
    """Moves between the visitable locations of an `ExactWrappedDocument`."""

    _wrapped_document: ExactWrappedDocument

    def get_location_left(self, location: Location) -> Location:
        """Return the previous location; a letter and its marks in one cell are one step."""
        row, column = location
        if column:
            return self._wrapped_document.visitable((row, column - 1))
        return (row - 1, self._wrapped_document.line_length(row - 1)) if row else (0, 0)

    def get_location_right(self, location: Location) -> Location:
        """Return the next location."""
        row, column = location
        if column < self._wrapped_document.line_length(row):
            return self._wrapped_document.after(location)
        return (row + 1, 0) if row + 1 < self._document.line_count else location

    def get_location_above(self, location: Location) -> Location:
        """Return the location a row above, or the start of the text."""
        x, y = self._wrapped_document.location_to_offset(location)
        return self._at(x, y - 1) if y else (0, 0)

    def get_location_below(self, location: Location) -> Location:
        """Return the location a row below, or the end of the text."""
        x, y = self._wrapped_document.location_to_offset(location)
        below = y + 1 < self._wrapped_document.height
        return self._at(x, y + 1) if below else self._document.end

    def _at(self, x: int, y: int) -> Location:
        return self._wrapped_document.offset_to_location(Offset(max(x, self.last_x_offset), y))

    def get_location_home(self, location: Location, smart_home: bool = False) -> Location:
        """Return the start of the row, alternating with its indented text in a line of one row."""
        start, end, ends_line = self._wrapped_document.row_bounds(location)
        if not (smart_home and start == 0 and ends_line):
            return location[0], start
        line = self._document[location[0]]
        indent = end - len(line.lstrip()) if not line.isspace() else 0
        return location[0], indent if location[1] > indent or location[1] == 0 else 0

    def get_location_end(self, location: Location) -> Location:
        """Return the end of the row."""
        _, end, ends_line = self._wrapped_document.row_bounds(location)
        if ends_line:
            return location[0], end
        return self._wrapped_document.visitable((location[0], end - 1))


def word_left(line: Sliceable, column: int) -> int:
    """Return the start of the word before a column, by the rules of the text area."""
    for start in _windows_before(column):
        text = line[start:column].rstrip()
        found = [match.start() for match in _WORD_START_OR_END.finditer(text)]
        if found:
            return start + found[-1]
    return 0


def word_right(line: str, column: int) -> int:
    """Return the end of the word after a column, by the rules of the text area."""
    start = column
    while line[start : start + 1].isspace():
        start += 1
    match = _WORD_START_OR_END.search(line, start + 1) if start < len(line) else None
    return match.start() if match else len(line)


def next_word_end(line: str, column: int) -> int:
    """Return the end of the next word, or of the line if there is none."""
    match = _NEXT_WORD.search(line, column)
    return match.end() if match else len(line)


def word_around(line: str, column: int) -> tuple[int, int]:
    """Return the word, the run of spaces or the run of other characters at a column."""
    if not line:
        return 0, 0
    column = min(column, len(line) - 1)
    kind = _kind(line[column])
    start = column
    while start and _kind(line[start - 1]) == kind:
        start -= 1
    end = column + 1
    while end < len(line) and _kind(line[end]) == kind:
        end += 1
    return start, end


def _kind(char: str) -> str:
    return "word" if char.isalnum() or char == "_" else "space" if char.isspace() else "other"


def _windows_before(column: int) -> Iterator[int]:
    """Yield starts of longer and longer windows before a column; the last start is 0."""
    length = _WINDOW
    while length < column:
        yield column - length
        length *= 4
    yield 0
