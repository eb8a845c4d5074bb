"""Where the rows of a conversation stand: pure functions, without a widget.

Every message is a header row, and for each of its parts the wrapped rows of its text, below a row
that names the part's kind where it has one. The part that is edited leaves room for the editor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Literal, NamedTuple

from tokviz.tui.widgets.editor.cells import breaks, glyph_table

RowKind = Literal["header", "kind", "text", "more", "editor", "add"]

MOST_ROWS = 400
"""A part that is not being edited shows so many rows."""
_LONG_LINE = 8192
"""Characters of a line that are laid out in a part that is not being edited."""
_KEPT = 256
_MOST_CHARS = 4
"""Characters of a cell that are looked at: more are combining ones, or have no width."""


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


def wrap_text(text: str, width: int, show_invisibles: bool) -> WrappedText:
    r"""Break a text into rows of at most `width` cells, as the editor does.

    >>> wrap_text("one two\nx", 4, False).rows
    ((0, 4), (4, 7), (8, 9))
    """
    # What is kept is kept with its text, so of a long one only what its rows can show.
    shown = text[: _MOST_CHARS * MOST_ROWS * max(1, width)]
    wrapped = _wrap(shown, width, show_invisibles)
    return wrapped if shown == text else wrapped._replace(complete=False)


@lru_cache(maxsize=_KEPT)
def _wrap(text: str, width: int, show_invisibles: bool) -> WrappedText:
    glyphs = glyph_table(show_invisibles)
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
        show_invisibles: bool,
    ) -> None:
        """Lay the messages out.

        Args:
            blocks: The messages.
            live: The part that is edited.
            editor_height: The rows of the editor.
            width: The cells of a row of text.
            show_invisibles: Whether invisible characters are drawn as glyphs.
        """
        # Rows that are about the same: the first one, their kind, and where their text is broken.
        self._same: list[tuple[int, RowKind, int, int, WrappedText | None]] = []
        self._headers: list[int] = []
        self._tops: list[list[int]] = []
        same, top = self._same, 0
        for message, block in enumerate(blocks):
            tops: list[int] = []
            self._headers.append(top)
            self._tops.append(tops)
            same.append((top, "header", message, 0, None))
            top += 1
            for index, part in enumerate(block.parts):
                if part.kind:
                    same.append((top, "kind", message, index, None))
                    top += 1
                tops.append(top)
                if live == (message, index):
                    same.append((top, "editor", message, index, None))
                    top += editor_height
                    continue
                wrapped = wrap_text(part.text, width, show_invisibles)
                same.append((top, "text", message, index, wrapped))
                top += len(wrapped.rows)
                if not wrapped.complete:
                    same.append((top, "more", message, index, None))
                    top += 1
        same.append((top, "add", len(blocks), 0, None))
        self.n_rows = top + 1
        """The number of rows, that for adding a message included."""

    def row(self, number: int) -> BlockRow:
        """Say what a row is about."""
        place = bisect_right(self._same, number, key=itemgetter(0)) - 1
        top, kind, message, part, wrapped = self._same[place]
        start, end = (0, 0) if wrapped is None else wrapped.rows[number - top]
        return BlockRow(kind, message, part, start, end)

    def top_of(self, place: PartPlace) -> int:
        """Give the first row of a part's text."""
        return self._tops[place.message][place.part]

    def header_of(self, message: int) -> int:
        """Give the row of a message's header."""
        return self._headers[message]
