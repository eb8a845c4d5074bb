"""The rows of a conversation's messages, drawn; what is clicked is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple, get_args

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip

from tokviz.text.glyphs import safe
from tokviz.tui.widgets.conversation.rows import (
    BlockRow,
    BlockRows,
    MessageBlock,
    MessageBlocks,
    PartPlace,
)
from tokviz.tui.widgets.editor.cells import glyph_table, lay_out
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.line_scroll_view import DiffedScroll

GUTTER = 2
"""Columns before a text, for the sign of what is learned."""
_SIGNS = ("│ ", "┃ ")
_STRIPS_KEPT = 512
_WORDED = ("header", "kind", "add")
"""The rows between the texts, which are made of words."""


Look = Literal[
    "rule", "role", "live", "muted", "warning", "button", "main", "text", "learned", "other"
]
LOOKS: tuple[Look, ...] = get_args(Look)


class Words(NamedTuple):
    """Some words of a row.

    Attributes:
        text: What is drawn, safe for the terminal.
        look: How.
        action: What a click does, empty for nothing.
    """

    text: str
    look: Look
    action: str = ""


def header_words(block: MessageBlock, index: int, width: int, *, is_live: bool) -> list[Words]:
    """Draw the header of a message.

    A click on the role asks for another one, and the signs at the right move and delete it; a
    narrow list leaves out what the note says last, the note, and then them.
    """
    look: Look = "live" if is_live else "role"
    role = Words(f"{fit(safe(block.role), 16)} ▾", look, "role")
    left = [Words(f"{index + 1} ", look), role, Words(" ", "rule")]
    said = block.note.split(", ") if block.note else []
    notes = [", ".join(said[:n]) for n in range(len(said), 0, -1)]
    signs = [
        Words(" ", "rule"),
        Words("↑", "button", "up"),
        Words(" ", "rule"),
        Words("↓", "button", "down"),
        Words(" ", "rule"),
        Words("✕", "button", "delete"),
    ]
    noted = ([Words(f" {note} ", "warning" if block.warns else "muted"), *signs] for note in notes)
    for right in (*noted, signs, []):
        rule = width - _width(left) - _width(right)
        if rule >= 1:
            break
    return _cut([*left, Words("─" * max(0, rule), "rule"), *right], width)


def kind_words(kind: str, width: int, *, is_live: bool) -> list[Words]:
    """Draw the row above a part that names its kind."""
    look: Look = "live" if is_live else "muted"
    words = [
        Words(f"{safe(kind)} ▾", look, "kind"),
        Words("  ", "rule"),
        Words("✕", "button", "delete_part"),
    ]
    return _cut(words, width)


def add_words(roles: Sequence[str], width: int) -> list[Words]:
    """Draw the last row: a button for each role, the one whose turn it is first."""
    words: list[Words] = []
    for number, role in enumerate(roles):
        words.append(Words(f" + {safe(role)} ", "button" if number else "main", f"add:{role}"))
        words.append(Words(" ", "rule"))
    return _cut(words, width)


def action_at(words: Sequence[Words], x: int) -> str:
    """Find what a click at a column does."""
    for word in words:
        x -= cell_len(word.text)
        if x < 0:
            return word.action
    return ""


def _width(words: Sequence[Words]) -> int:
    return sum(cell_len(word.text) for word in words)


def _cut(words: Sequence[Words], width: int) -> list[Words]:
    """Leave out what does not fit."""
    kept: list[Words] = []
    for word in words:
        width -= cell_len(word.text)
        if width < 0:
            break
        kept.append(word)
    return kept


class Blocks(DiffedScroll, can_focus=False):
    """The rows of all messages; those of the part that is edited are behind the editor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"blocks--{look}" for look in LOOKS}
    DEFAULT_CSS = """
    Blocks {
        layer: blocks;
        width: 1fr;
        height: 1fr;
        .blocks--rule { color: $border-quiet; }
        .blocks--role { color: $foreground; text-style: bold; }
        .blocks--live { color: $text-accent; text-style: bold; }
        .blocks--muted { color: $text-muted; }
        .blocks--warning { color: $text-warning; }
        .blocks--button { color: $text-muted; }
        .blocks--main { color: $text-accent; text-style: bold; }
        .blocks--text { color: $foreground; }
        .blocks--learned { color: $text-success; text-style: bold; }
        .blocks--other { color: $border-quiet; }
    }
    """

    class Clicked(Message):
        """The user clicked a row."""

        def __init__(self, action: str, row: BlockRow, x: int) -> None:
            """Take what the click asks for, the row, and the column in its text."""
            super().__init__()
            self.action = action
            self.row = row
            self.x = x

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__()
        self.blocks = MessageBlocks((), [].__getitem__)
        self.live: PartPlace | None = None
        self.roles: Sequence[str] = ()
        self.show_invisibles = True
        self.cells = 0
        """The columns of a row, told with the rows: asking for them at every row takes time."""
        self.rows: BlockRows | None = None
        self._strips: LRUCache[object, Strip] = LRUCache(_STRIPS_KEPT)
        self._styles: dict[str, Style] = {}
        self._hovered: tuple[int, str] | None = None

    def render_line(self, y: int) -> Strip:
        """Draw one row of the view."""
        number = self.top_row + y
        if self.rows is None or number >= self.rows.n_rows:
            return self._draw([])
        row = self.rows.row(number)
        hovered = self._hovered[1] if self._hovered and self._hovered[0] == number else ""
        if row.kind in _WORDED:
            key: object = (tuple(self._words(row)), hovered, self.cells)
        else:
            part = self.blocks[row.message].parts[row.part]
            shown = part.text[row.start : row.end]
            key = (shown, row.kind, part.learned, self.cells, self.show_invisibles)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._draw(self._words(row), hovered)
        return strip

    def _glyphs(self, text: str) -> str:
        return "".join(lay_out(text, glyph_table(self.show_invisibles)).glyphs)

    def _words(self, row: BlockRow) -> list[Words]:
        width = self.cells
        if row.kind == "add":
            return add_words(self.roles, width)
        block = self.blocks[row.message]
        if row.kind == "header":
            is_live = self.live is not None and self.live.message == row.message
            return header_words(block, row.message, width, is_live=is_live)
        part = block.parts[row.part]
        gutter = Words(_SIGNS[part.learned], "learned" if part.learned else "other")
        if row.kind == "kind":
            is_live = self.live == (row.message, row.part)
            return [gutter, *kind_words(part.kind, width - GUTTER, is_live=is_live)]
        if row.kind == "more":
            return [gutter, Words("… there is more: click to see it all", "muted")]
        return [gutter, Words(self._glyphs(part.text[row.start : row.end]), "text")]

    def _draw(self, words: Sequence[Words], hovered: str = "") -> Strip:
        underline = Style(underline=True)
        segments = []
        for word in words:
            style = self._style(word.look)
            is_hovered = hovered and word.action == hovered
            segments.append(Segment(word.text, style + underline if is_hovered else style))
        return Strip(segments).adjust_cell_length(self.size.width, self.ground)

    def _style(self, look: str) -> Style:
        style = self._styles.get(look)
        if style is None:
            component = self.get_component_rich_style(f"blocks--{look}", partial=True)
            style = self._styles[look] = self.ground + component
        return style

    def restyle(self) -> None:
        """Forget what was drawn, and draw everything again."""
        self._styles.clear()
        self._strips.clear()
        super().restyle()

    # -- mouse

    def _at(self, place: Offset | None) -> tuple[int, BlockRow, int] | None:
        if place is None or self.rows is None or place.y >= self.rows.n_rows:
            return None
        return place.y, self.rows.row(place.y), place.x

    def point_at(self, place: Offset | None) -> None:
        """Underline what a click would do."""
        at = self._at(place)
        action = "" if at is None else action_at(self._words(at[1]), at[2])
        hovered = (at[0], action) if at is not None and action else None
        if hovered != self._hovered:
            self._hovered = hovered
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Tell what was clicked."""
        at = self._at(self.place_at(event))
        if at is not None:
            _, row, x = at
            self.post_message(self.Clicked(action_at(self._words(row), x), row, x - GUTTER))
