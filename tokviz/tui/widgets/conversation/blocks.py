"""The rows of a conversation's messages, drawn; what is clicked is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip

from tokviz.glyphs import Glyphs
from tokviz.tui.widgets.conversation.header import (
    LOOKS,
    Words,
    action_at,
    add_words,
    header_words,
    kind_words,
)
from tokviz.tui.widgets.conversation.rows import BlockRow, BlockRows, MessageBlock, PartPlace
from tokviz.tui.widgets.editor.cells import glyph_table, lay_out
from tokviz.tui.widgets.quiet_scroll import DiffedScroll

GUTTER = 2
"""Columns before a text, for the sign of what is learned."""
_SIGNS = ("│ ", "┃ ")
_STRIPS_KEPT = 512
_WORDED = ("header", "kind", "add")
"""The rows between the texts, which are made of words."""


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
        self.blocks: Sequence[MessageBlock] = ()
        self.live: PartPlace | None = None
        self.roles: Sequence[str] = ()
        self.glyphs: Glyphs = glyph_table(True)
        self.cells = 0
        """The columns of a row, told with the rows: asking for them at every row takes time."""
        self.rows: BlockRows | None = None
        self.raw = ""
        """What is shown where there is no message: a row of a file that is no conversation."""
        self.raw_rows: Sequence[tuple[int, int]] = ()
        self._strips: LRUCache[object, Strip] = LRUCache(_STRIPS_KEPT)
        self._styles: dict[str, Style] = {}
        self._hovered: tuple[int, str] | None = None

    def line(self, y: int) -> Strip:
        """Draw one row of the view."""
        number = self.top_row + y
        width = self.cells
        if self.rows is None or number >= self.rows.n_rows:
            return self._raw_row(number)
        row = self.rows.row(number)
        hovered = self._hovered[1] if self._hovered and self._hovered[0] == number else ""
        if row.kind in _WORDED:
            key: object = (tuple(self._words(row)), hovered, width)
        else:
            part = self.blocks[row.message].parts[row.part]
            key = (part.text[row.start : row.end], row.kind, part.learned, width, id(self.glyphs))
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._draw(row, hovered, width)
        return strip

    def _raw_row(self, number: int) -> Strip:
        at = number - self.rows.n_rows - 1 if self.rows is not None and not self.blocks else -1
        text = ""
        if 0 <= at < len(self.raw_rows):
            start, end = self.raw_rows[at]
            text = "".join(lay_out(self.raw[start:end], self.glyphs).glyphs)
        segments = [Segment(" " * GUTTER, self.rich_style), Segment(text, self._style("muted"))]
        return Strip(segments).adjust_cell_length(self.size.width, self.rich_style)

    def _words(self, row: BlockRow) -> list[Words]:
        width = self.cells
        if row.kind == "add":
            return add_words(self.roles, width)
        block = self.blocks[row.message]
        if row.kind == "header":
            is_live = self.live is not None and self.live.message == row.message
            return header_words(block, row.message, width, is_live=is_live)
        is_live = self.live == (row.message, row.part)
        gutter = self._gutter(row)
        return [gutter, *kind_words(block.parts[row.part].kind, width - GUTTER, is_live=is_live)]

    def _gutter(self, row: BlockRow) -> Words:
        learned = self.blocks[row.message].parts[row.part].learned
        return Words(_SIGNS[learned], "learned" if learned else "other")

    def _draw(self, row: BlockRow, hovered: str, width: int) -> Strip:
        base = self.rich_style
        if row.kind in _WORDED:
            segments = [
                Segment(
                    word.text,
                    self._style(word.look)
                    + Style(underline=bool(hovered) and word.action == hovered),
                )
                for word in self._words(row)
            ]
            return Strip(segments).adjust_cell_length(self.size.width, base)
        part = self.blocks[row.message].parts[row.part]
        gutter = self._gutter(row)
        sign = Segment(gutter.text, self._style(gutter.look))
        if row.kind == "more":
            text = Segment("… there is more: click to see it all", self._style("muted"))
        else:
            shown = "".join(lay_out(part.text[row.start : row.end], self.glyphs).glyphs)
            text = Segment(shown, self._style("text"))
        return Strip([sign, text]).adjust_cell_length(self.size.width, base)

    def _style(self, look: str) -> Style:
        style = self._styles.get(look)
        if style is None:
            component = self.get_component_rich_style(f"blocks--{look}", partial=True)
            style = self._styles[look] = self.rich_style + component
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

    def _action_at(self, row: BlockRow, x: int) -> str:
        return action_at(self._words(row), x) if row.kind in _WORDED else ""

    def point_at(self, place: Offset | None) -> None:
        """Underline what a click would do."""
        at = self._at(place)
        action = "" if at is None else self._action_at(*at[1:])
        hovered = (at[0], action) if at is not None and action else None
        if hovered != self._hovered:
            self._hovered = hovered
            self.refresh_changed()

    def on_click(self, event: events.Click) -> None:
        """Tell what was clicked."""
        at = self._at(self.place_at(event))
        if at is not None:
            _, row, x = at
            self.post_message(self.Clicked(self._action_at(row, x), row, x - GUTTER))
