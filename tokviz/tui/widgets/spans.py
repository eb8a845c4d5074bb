"""Text with roles: spans, their actions, their layout in rows and their styles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from tokviz.tui.widgets.fit import fit


class Copy(NamedTuple):
    """Copy a text; `what` names it."""

    text: str
    what: str


class GoTo(NamedTuple):
    """Go to a token of the document."""

    token_index: int


class Step(NamedTuple):
    """Go to the next (1) or the previous (-1) occurrence or visited token."""

    step: int


class ToMerge(NamedTuple):
    """Go to a merge of a replay."""

    number: int


class ToToken(NamedTuple):
    """Go to the page of a token id, or to the merge of a replay that makes it."""

    token_id: int


class Highlight(NamedTuple):
    """Highlight a pre-token of the corpus of a replay."""

    pre_token: bytes


class ToFinding(NamedTuple):
    """Go to the place that a finding about a conversation refers to, by its number in the list."""

    number: int


class ChangeVariable(NamedTuple):
    """Change a variable of a chat template: `how` is "next", "edit" or "reset"."""

    name: str
    how: str


class Filter(NamedTuple):
    """Add a filter such as `len:3` to a search, or remove it."""

    name: str
    value: str


class Search(NamedTuple):
    """Replace the current search."""

    typed: str


class RunAction(NamedTuple):
    """Run an action of the screen; `call` is its action string."""

    call: str


Action = (
    Copy | GoTo | Step | ToMerge | ToToken | Highlight | ToFinding | ChangeVariable | Filter
    | Search | RunAction
)  # fmt: skip
Role = Literal[
    # Words.
    "text", "heading", "label", "dim", "accent", "key", "good", "warning", "error", "selection",
    # Words and signs that can be clicked.
    "link", "toggle", "handle",
    # Tokens and pre-tokens.
    "token", "special", "made", "new", "left", "right", "result",
    # Lines and bars.
    "tree", "rule", "bar", "rest", "mark",
]  # fmt: skip
"""Purpose of a span. Every widget has a component class for each role that it draws."""


class Span(NamedTuple):
    """A run of text with one style, safe for the terminal.

    Attributes:
        text: The text.
        role: Its purpose, which determines its style. "text" is the widget's own style.
        action: The action of a click on it.
        hue: The index of its hue in the palette, -1 for none.
    """

    text: str
    role: Role = "text"
    action: Action | None = None
    hue: int = -1


Row = tuple[Span, ...]
Word = Sequence[Span]
"""Spans that stay on one row."""

TARGET = Style.from_meta({"target": True})
"""Marks clickable text for jump mode. It draws nothing."""
_UNDERLINE = Style(underline=True)


class RoleStyles(dict[str, Style]):
    """Partial styles of roles from a widget's component classes, computed on first use.

    Attributes:
        base: The widget's own style, over which they are drawn.
    """

    def __init__(self, widget: Widget, prefix: str) -> None:
        """Use the component classes named `prefix--role`."""
        super().__init__(text=Style.null())
        self.base = widget.rich_style
        self._widget, self._prefix = widget, prefix

    def __missing__(self, role: str) -> Style:
        name = f"{self._prefix}--{role}"
        style = self[role] = self._widget.get_component_rich_style(name, partial=True)
        return style


def draw(
    spans: Iterable[Span],
    styles: RoleStyles,
    width: int,
    hovered: Action | None = None,
    *,
    are_targets: bool = True,
) -> Strip:
    """Draw spans in a row.

    Args:
        spans: The spans, side by side.
        styles: The widget's styles.
        width: Columns of the row.
        hovered: An action whose spans are underlined.
        are_targets: Whether jump mode labels the spans that have an action.
    """
    segments = []
    for span in spans:
        style = styles.base + styles[span.role]
        if span.action is not None:
            style += TARGET if are_targets else Style.null()
            style += _UNDERLINE if span.action == hovered else Style.null()
        segments.append(Segment(span.text, style))
    return Strip(segments).adjust_cell_length(width, styles.base)


def width_of(spans: Iterable[Span]) -> int:
    """Count the cells of spans."""
    return sum(cell_len(span.text) for span in spans)


def span_at(spans: Iterable[Span], x: int) -> Span:
    """Return the span at a column, or an empty one."""
    for span in spans:
        x -= cell_len(span.text)
        if x < 0:
            return span
    return Span("")


def flow(words: Iterable[Word], width: int, indent: Sequence[Span] = ()) -> list[Row]:
    """Arrange words in rows, one space apart.

    Args:
        words: The words. A span wider than a row is broken at its spaces; a word is cut.
        width: Columns of a row.
        indent: Spans before the first word; later rows are indented as far.
    """
    left = sum(cell_len(span.text) for span in indent)
    room = max(1, width - left)
    rows: list[list[Span]] = [list(indent)]
    used = 0
    for whole in chain.from_iterable(_broken(word, room) for word in words):
        word = _cut(whole, room)
        word_width = sum(cell_len(span.text) for span in word)
        if used and used + 1 + word_width > room:
            rows.append([Span(" " * left)] if left else [])
            used = 0
        if used:
            rows[-1].append(Span(" "))
            used += 1
        rows[-1].extend(word)
        used += word_width
    return [tuple(row) for row in rows]


def _broken(word: Word, room: int) -> list[Word]:
    """Break a span that is too wide at its spaces."""
    if len(word) != 1 or " " not in word[0].text or cell_len(word[0].text) <= room:
        return [word]
    return [(word[0]._replace(text=part),) for part in word[0].text.split(" ")]


def _cut(word: Word, room: int) -> Word:
    """Leave out the end of a word that does not fit."""
    kept: list[Span] = []
    for span in word:
        kept.append(span._replace(text=fit(span.text, room)))
        room -= cell_len(span.text)
        if room <= 0:
            break
    return kept


def words_of(text: str, role: Role = "text", action: Action | None = None) -> list[Word]:
    """Split a sentence into words for `flow`."""
    return [(Span(word, role, action),) for word in text.split(" ")]
