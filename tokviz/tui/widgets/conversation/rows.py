"""Layout of a conversation's messages in rows, as pure functions.

Every message is a header row, and for each of its parts the wrapped rows of its text, below a row
that names the part's kind if it has one. The edited part leaves space for the editor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Literal, NamedTuple

from tokviz.tui.widgets.editor.cells import breaks, glyph_table

RowKind = Literal["header", "kind", "text", "more", "editor", "add"]

MOST_ROWS = 400
"""The most rows of a part that is not being edited."""
_LONG_LINE = 8192
"""The most characters of a line that are laid out in a part that is not being edited."""
_KEPT = 256
_MOST_CHARS = 4
"""The most characters of a cell that are laid out: more are combining or have no width."""


def end_of(text: str) -> tuple[int, int]:
    r"""Return the line and column after the last character of a text.

    >>> end_of("one"), end_of("one\ntwo")
    ((0, 3), (1, 3))
    """
    return text.count("\n"), len(text) - (text.rfind("\n") + 1)


class PartBlock(NamedTuple):
    """A part of a message.

    Attributes:
        kind: The kind of a part, empty for a message whose content is a text.
        text: Its text.
        learned: Whether any of its tokens is in the loss.
        has_kinds: Whether its kind can be changed.
    """

    kind: str
    text: str
    learned: bool = False
    has_kinds: bool = True


class MessageBlock(NamedTuple):
    """A message as the list shows it."""

    role: str
    parts: tuple[PartBlock, ...]
    note: str = ""
    """The note at the right: its tokens, or what is wrong with it."""
    warns: bool = False
    """Whether there is a finding about it."""


class PartPlace(NamedTuple):
    """A part: the index of its message, and its index in the message."""

    message: int
    part: int = 0


class BlockRow(NamedTuple):
    """The content of a row."""

    kind: RowKind
    message: int
    part: int = 0
    start: int = 0
    """Offset of its first character in the part's text."""
    end: int = 0


class WrappedText(NamedTuple):
    """The rows of a text: the offset of the first character and the one after the last."""

    rows: tuple[tuple[int, int], ...]
    complete: bool
    """Whether the rows contain all of the text."""


def wrap_text(text: str, width: int, show_invisibles: bool) -> WrappedText:
    r"""Break a text into rows of at most `width` cells, as the editor does.

    >>> wrap_text("one two\nx", 4, False).rows
    ((0, 4), (4, 7), (8, 9))
    """
    # The cache keeps the text, so only the part of a long text that its rows can contain.
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


class MessageBlocks:
    """The blocks of messages, each made on first use, because only a few are in view."""

    def __init__(self, sources: Sequence[object], make: Callable[[int], MessageBlock]) -> None:
        """Take a function that makes the block of a message.

        Args:
            sources: The message of each block; the same object has the same parts.
            make: Returns the block of an index.
        """
        self.sources = sources
        self._make = cache(make)

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: int) -> MessageBlock:
        return self._make(range(len(self))[index])


class _Laid(NamedTuple):
    """A message that is laid out in rows, from its header on."""

    n_rows: int
    same: list[tuple[int, RowKind, int, WrappedText | None]]
    """Groups of rows: the first row, their kind, the part, and its rows of text."""
    tops: list[int]
    """The first row of the text of each part."""


_N_ROWS = itemgetter(0)


class BlockRows:
    """The rows of all messages."""

    def __init__(
        self,
        blocks: MessageBlocks,
        live: PartPlace | None,
        editor_height: int,
        width: int,
        show_invisibles: bool,
        known: Iterable[BlockRows] = (),
    ) -> None:
        """Lay the messages out.

        Args:
            blocks: The messages.
            live: The edited part.
            editor_height: The rows of the editor.
            width: The cells of a row of text.
            show_invisibles: Whether invisible characters are drawn as glyphs.
            known: Previous layouts, whose unchanged messages are kept.
        """
        self._how = width, show_invisibles
        self.blocks = blocks
        self._live, self._editor_height = live, editor_height
        self._laid = self._lay_all_out(known)
        self._tops: list[int] = list(accumulate(map(_N_ROWS, self._laid), initial=0))
        self.n_rows = self._tops[-1] + 1
        """The number of rows, including the one for adding a message."""

    def _lay_all_out(self, known: Iterable[BlockRows]) -> list[_Laid]:
        """Lay all messages out; keep the layout of unchanged ones that are and were not edited."""
        sources = self.blocks.sources
        by_id = dict[int, _Laid]()
        for rows in known:
            old = rows.blocks.sources
            if rows._how != self._how:
                continue
            by_id |= zip(map(id, old), rows._laid, strict=True)
            if rows._live is not None:
                by_id.pop(id(old[rows._live.message]), None)
        if self._live is not None:
            by_id.pop(id(sources[self._live.message]), None)
        return [
            by_id.get(id(source)) or self._lay_out(index) for index, source in enumerate(sources)
        ]

    def _lay_out(self, message: int) -> _Laid:
        """Lay a message out, one part of which may be edited."""
        live = self._live.part if self._live and self._live.message == message else None
        same: list[tuple[int, RowKind, int, WrappedText | None]] = [(0, "header", 0, None)]
        tops, top = list[int](), 1
        for index, part in enumerate(self.blocks[message].parts):
            if part.kind:
                same.append((top, "kind", index, None))
                top += 1
            tops.append(top)
            if live == index:
                same.append((top, "editor", index, None))
                top += self._editor_height
                continue
            wrapped = wrap_text(part.text, *self._how)
            same.append((top, "text", index, wrapped))
            top += len(wrapped.rows)
            if not wrapped.complete:
                same.append((top, "more", index, None))
                top += 1
        return _Laid(top, same, tops)

    def row(self, number: int) -> BlockRow:
        """Return the content of a row."""
        message = bisect_right(self._tops, number) - 1
        if message == len(self._laid):
            return BlockRow("add", message)
        number -= self._tops[message]
        same = self._laid[message].same
        top, kind, part, wrapped = same[bisect_right(same, number, key=itemgetter(0)) - 1]
        start, end = (0, 0) if wrapped is None else wrapped.rows[number - top]
        return BlockRow(kind, message, part, start, end)

    def top_of(self, place: PartPlace) -> int:
        """Return the first row of a part's text."""
        return self._tops[place.message] + self._laid[place.message].tops[place.part]

    def header_of(self, message: int) -> int:
        """Return the row of a message's header."""
        return self._tops[message]
