"""Layout of a conversation's messages in rows, as pure functions.

Every message is a header row, and for each of its parts the wrapped rows of its text, below a row
that names the part's kind if it has one. The edited part leaves space for the editor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import ClassVar, Literal, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.cache import LRUCache
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip

from tokviz.text.glyphs import safe
from tokviz.tui.widgets.editor.cells import breaks, glyph_table, lay_out
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.line_scroll_view import LineScrollView
from tokviz.tui.widgets.spans import Role, RunAction, Span, draw, span_at, width_of

GUTTER = 2
"""Columns before a text, for the sign that it is in the loss."""
_SIGNS = ("│ ", "┃ ")
_STRIPS_KEPT = 512
_WORDED = ("header", "kind", "add")
"""The kinds of rows between the texts."""


def header_spans(block: MessageBlock, index: int, width: int, *, is_live: bool) -> list[Span]:
    """Draw the header of a message.

    A click on the role opens the list of roles; the buttons at the right move and delete the
    message. A narrow list leaves out the note from its end, and then the buttons.
    """
    role: Role = "key" if is_live else "heading"
    name = Span(f"{fit(safe(block.role), 16)} ▾", role, RunAction("role"))
    left = [Span(f"{index + 1} ", role), name, Span(" ", "rule")]
    facts = block.note.split(", ") if block.note else []
    notes = [", ".join(facts[:n]) for n in range(len(facts), 0, -1)]
    buttons = [
        Span(" ", "rule"),
        Span("↑", "dim", RunAction("up")),
        Span(" ", "rule"),
        Span("↓", "dim", RunAction("down")),
        Span(" ", "rule"),
        Span("✕", "dim", RunAction("delete")),
    ]
    noted = ([Span(f" {note} ", "warning" if block.warns else "dim"), *buttons] for note in notes)
    for right in (*noted, buttons, []):
        rule = width - width_of(left) - width_of(right)
        if rule >= 1:
            break
    return _cut([*left, Span("─" * max(0, rule), "rule"), *right], width)


def kind_spans(kind: str, width: int, *, is_live: bool, has_kinds: bool = True) -> list[Span]:
    """Draw the row above a part that names its kind, or the key of a field."""
    action = RunAction("kind") if has_kinds else None
    name = Span(safe(kind) + " ▾" * has_kinds, "key" if is_live else "dim", action)
    return _cut([name, Span("  ", "rule"), Span("✕", "dim", RunAction("delete_part"))], width)


def add_spans(roles: Sequence[str], width: int) -> list[Span]:
    """Draw the last row: a button for each role, the expected role first."""
    spans: list[Span] = []
    for number, role in enumerate(roles):
        spans.append(
            Span(f" + {safe(role)} ", "dim" if number else "key", RunAction(f"add:{role}"))
        )
        spans.append(Span(" ", "rule"))
    return _cut(spans, width)


def _cut(spans: Sequence[Span], width: int) -> list[Span]:
    """Leave out the spans that do not fit."""
    ends = accumulate(cell_len(span.text) for span in spans)
    return [span for span, end in zip(spans, ends, strict=True) if end <= width]


class Blocks(LineScrollView, can_focus=False):
    """The rows of all messages. The editor covers those of the edited part."""

    PREFIX = "blocks"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"blocks--{role}" for role in ("rule", "heading", "key", "dim", "warning", "good")
    }
    DEFAULT_CSS = """
    Blocks {
        layer: blocks;
        width: 1fr;
        height: 1fr;
        .blocks--rule { color: $border-quiet; }
        .blocks--heading { color: $foreground; text-style: bold; }
        .blocks--key { color: $text-accent; text-style: bold; }
        .blocks--dim { color: $text-muted; }
        .blocks--warning { color: $text-warning; }
        .blocks--good { color: $text-success; text-style: bold; }
    }
    """

    @dataclass
    class Clicked(Message):
        """The user clicked a row."""

        action: str
        row: BlockRow
        x: int
        """The column in the text of the row."""

    def __init__(self) -> None:
        """Create an empty list."""
        super().__init__()
        self.blocks = MessageBlocks((), [].__getitem__)
        self.live: PartPlace | None = None
        self.roles: Sequence[str] = ()
        self.show_invisibles = True
        self.cells = 0
        """The columns of a row, set together with the rows because computing them takes time."""
        self.rows: BlockRows | None = None
        self._strips: LRUCache[object, Strip] = LRUCache(_STRIPS_KEPT)
        self._hovered: tuple[int, RunAction] | None = None

    def render_line(self, y: int) -> Strip:
        """Draw a row of the view."""
        number = self.top_row + y
        if self.rows is None or number >= self.rows.n_rows:
            return self._draw([])
        row = self.rows.row(number)
        hovered = self._hovered[1] if self._hovered and self._hovered[0] == number else None
        if row.kind in _WORDED:
            key: object = (tuple(self._spans(row)), hovered, self.cells)
        else:
            part = self.blocks[row.message].parts[row.part]
            shown = part.text[row.start : row.end]
            key = (shown, row.kind, part.learned, self.cells, self.show_invisibles)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._draw(self._spans(row), hovered)
        return strip

    def _glyphs(self, text: str) -> str:
        return "".join(lay_out(text, glyph_table(self.show_invisibles)).glyphs)

    def _spans(self, row: BlockRow) -> list[Span]:
        width = self.cells
        if row.kind == "add":
            return add_spans(self.roles, width)
        block = self.blocks[row.message]
        if row.kind == "header":
            is_live = self.live is not None and self.live.message == row.message
            return header_spans(block, row.message, width, is_live=is_live)
        part = block.parts[row.part]
        gutter = Span(_SIGNS[part.learned], "good" if part.learned else "rule")
        if row.kind == "kind":
            is_live = self.live == (row.message, row.part)
            how = {"is_live": is_live, "has_kinds": part.has_kinds}
            return [gutter, *kind_spans(part.kind, width - GUTTER, **how)]
        if row.kind == "more":
            return [gutter, Span("… click to show all of it", "dim")]
        return [gutter, Span(self._glyphs(part.text[row.start : row.end]))]

    def _draw(self, spans: Sequence[Span], hovered: RunAction | None = None) -> Strip:
        return draw(spans, self.role_styles, self.size.width, hovered, are_targets=False)

    def restyle(self) -> None:
        """Forget the drawn rows, and redraw."""
        self._strips.clear()
        super().restyle()

    # -- mouse

    def _at(self, place: Offset | None) -> tuple[int, BlockRow, int] | None:
        if place is None or self.rows is None or place.y >= self.rows.n_rows:
            return None
        return place.y, self.rows.row(place.y), place.x

    def _action_at(self, row: BlockRow, x: int) -> RunAction | None:
        action = span_at(self._spans(row), x).action
        return action if isinstance(action, RunAction) else None

    def hover_at(self, place: Offset | None) -> None:
        """Underline the action under the mouse."""
        at = self._at(place)
        action = None if at is None else self._action_at(*at[1:])
        hovered = None if at is None or action is None else (at[0], action)
        if hovered != self._hovered:
            self._hovered = hovered
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Post what was clicked."""
        at = self._at(self.place_at(event))
        if at is not None:
            _, row, x = at
            action = self._action_at(row, x)
            self.post_message(self.Clicked(action.call if action else "", row, x - GUTTER))


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
