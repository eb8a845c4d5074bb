"""Where the rows of a conversation stand: pure functions, without a widget.

Every message is a header row, and for each of its parts the wrapped rows of its text, below a row
that names the part's kind where it has one. The part that is edited leaves room for the editor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

from textual.cache import LRUCache

from tokviz.glyphs import Glyphs
from tokviz.tui.widgets.editor.breaks import breaks

RowKind = Literal["header", "kind", "text", "more", "editor", "add"]

MOST_ROWS = 400
"""A part that is not being edited shows so many rows."""
_LONG_LINE = 8192
"""Characters of a line that are laid out in a part that is not being edited."""
_KEPT = 1024


def end_of(text: str) -> tuple[int, int]:
    r"""Give the line and column behind the last character of a text.

    >>> end_of("one"), end_of("one\ntwo")
    ((0, 3), (1, 3))
    """
    return text.count("\n"), len(text) - (text.rfind("\n") + 1)


class PartBlock(NamedTuple):
    """A part of a message.

    Attributes:
        kind: The kind of a part, empty for a message whose content is a text.
        text: Its text.
        learned: Whether any of its tokens is supervised.
    """

    kind: str
    text: str
    learned: bool = False


class MessageBlock(NamedTuple):
    """A message as the list shows it."""

    role: str
    parts: tuple[PartBlock, ...]
    note: str = ""
    """What is said of it at the right: its tokens, or what is wrong with it."""
    warns: bool = False
    """Whether a finding is about it."""


class PartPlace(NamedTuple):
    """A part by the index of its message and its own in the message."""

    message: int
    part: int = 0


class BlockRow(NamedTuple):
    """What a row is about."""

    kind: RowKind
    message: int
    part: int = 0
    start: int = 0
    """Offset of its first character in the part's text."""
    end: int = 0


class WrappedText(NamedTuple):
    """The rows of a text: offsets of their first characters and behind their last ones."""

    rows: tuple[tuple[int, int], ...]
    complete: bool
    """Whether the rows show all of the text."""


class Wrapper:
    """Wraps texts, and keeps what it has wrapped."""

    def __init__(self) -> None:
        """Begin with nothing wrapped."""
        self._kept: LRUCache[tuple[str, int, bool], WrappedText] = LRUCache(_KEPT)

    def wrap(self, text: str, width: int, glyphs: Glyphs) -> WrappedText:
        """Break a text into rows of at most `width` cells, as the editor does."""
        key = (text, width, glyphs.style.blanks)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = wrap_text(text, width, glyphs)
        return found


def wrap_text(text: str, width: int, glyphs: Glyphs) -> WrappedText:
    r"""Break a text into rows.

    >>> from tokviz.glyphs import HIDDEN
    >>> wrap_text("one two\nx", 4, HIDDEN).rows
    ((0, 4), (4, 7), (8, 9))
    """
    rows: list[tuple[int, int]] = []
    start = 0
    while len(rows) < MOST_ROWS:
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline
        line = text[start : min(end, start + _LONG_LINE)]
        cuts = [0, *breaks(line, max(1, width), glyphs), len(line)]
        rows += [(start + first, start + last) for first, last in pairwise(cuts)]
        if len(line) < end - start:
            return WrappedText(tuple(rows[:MOST_ROWS]), complete=False)
        if newline < 0:
            return WrappedText(tuple(rows[:MOST_ROWS]), len(rows) <= MOST_ROWS)
        start = newline + 1
    return WrappedText(tuple(rows[:MOST_ROWS]), complete=False)


class BlockRows:
    """The rows of all messages, found by number."""

    def __init__(
        self,
        blocks: Sequence[MessageBlock],
        live: PartPlace | None,
        editor_height: int,
        width: int,
        glyphs: Glyphs,
        wrapper: Wrapper,
    ) -> None:
        """Lay the messages out.

        Args:
            blocks: The messages.
            live: The part that is edited.
            editor_height: The rows of the editor.
            width: The cells of a row of text.
            glyphs: How characters are drawn.
            wrapper: Wraps the texts.
        """
        self._blocks = blocks
        self._live = live
        self._editor_height = editor_height
        self._wrapped: list[list[WrappedText | None]] = []
        heights: list[int] = []
        for number, block in enumerate(blocks):
            wrapped = [
                None if live == (number, index) else wrapper.wrap(part.text, width, glyphs)
                for index, part in enumerate(block.parts)
            ]
            self._wrapped.append(wrapped)
            heights.append(1 + sum(map(self._part_height, block.parts, wrapped)))
        self._tops = [0, *accumulate(heights)]
        self.n_rows = self._tops[-1] + 1
        """The number of rows, that for adding a message included."""

    def _part_height(self, part: PartBlock, wrapped: WrappedText | None) -> int:
        return bool(part.kind) + self._text_height(wrapped)

    def _text_height(self, wrapped: WrappedText | None) -> int:
        if wrapped is None:
            return self._editor_height
        return len(wrapped.rows) + (not wrapped.complete)

    def row(self, number: int) -> BlockRow:
        """Say what a row is about."""
        message = bisect_right(self._tops, number) - 1
        if message >= len(self._blocks):
            return BlockRow("add", message)
        below = number - self._tops[message]
        if below == 0:
            return BlockRow("header", message)
        below -= 1
        for index, (part, wrapped) in enumerate(
            zip(self._blocks[message].parts, self._wrapped[message], strict=True)
        ):
            height = self._part_height(part, wrapped)
            if below >= height:
                below -= height
                continue
            if part.kind and below == 0:
                return BlockRow("kind", message, index)
            below -= bool(part.kind)
            if wrapped is None:
                return BlockRow("editor", message, index, below)
            if below == len(wrapped.rows):
                return BlockRow("more", message, index)
            return BlockRow("text", message, index, *wrapped.rows[below])
        raise IndexError(number)

    def top_of(self, place: PartPlace) -> int:
        """Give the first row of a part's text."""
        row = self._tops[place.message] + 1
        parts, wrapped = self._blocks[place.message].parts, self._wrapped[place.message]
        for part, lines in zip(parts[: place.part], wrapped, strict=False):
            row += self._part_height(part, lines)
        return row + bool(parts[place.part].kind)

    def header_of(self, message: int) -> int:
        """Give the row of a message's header."""
        return self._tops[message]

    def end_of(self, message: int) -> int:
        """Give the row behind a message."""
        return self._tops[message + 1]
