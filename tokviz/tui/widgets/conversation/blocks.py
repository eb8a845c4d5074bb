"""Widget that draws the rows of a conversation's messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from rich.cells import cell_len
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
