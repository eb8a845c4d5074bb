"""Head of a gloss row: a line with the pattern and its number of pre-tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.view_switcher import neighbour

CUSTOM_ROW = 2
"""The row of the custom regex."""

_TITLE_COLUMNS = 10


def head_text(title: str, note: str, width: int) -> str:
    """Return a head such as `◂ GPT-2    ▸     14 pre-tokens`; omit a noun that does not fit."""
    left = f"◂ {fit(title, _TITLE_COLUMNS):<{_TITLE_COLUMNS}} ▸"
    room = width - len(left)
    return left + fit(note if len(note) < room else note.split(" ")[0], room - 1).rjust(room)


def pre_tokens_note(n_pre_tokens: int, complete: bool) -> str:
    """Format the number of pre-tokens, with an ellipsis while they are being counted."""
    noun = "pre-token" if n_pre_tokens == 1 else "pre-tokens"
    return f"{n_pre_tokens:,} {noun}" if complete else f"{n_pre_tokens:,}… {noun}"


@dataclass
class PatternsWanted(Message):
    """The user wants to choose a pattern for a row from a list."""

    row: int


class PatternHead(Widget, can_focus=True):
    """The name of a row's pattern; keys and the mouse step through the named patterns."""

    DEFAULT_CSS = """
    PatternHead {
        height: 1;
        &:focus { text-style: bold; background: $block-cursor-background; }
        &:hover { background: $block-hover-background; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", "Previous pattern"),
        Binding("right", "turn(1)", "Next pattern", key_display="→"),
        Binding("enter,space", "list", "All patterns", key_display="⏎"),
    ]

    title: reactive[str] = reactive("")
    """The title of the row."""
    note: reactive[str] = reactive("")
    """The text at the right."""

    def __init__(
        self,
        choose: Callable[[int, str], object],
        row: int,
        title: str,
        pattern: str | None = None,
    ) -> None:
        """Create a head.

        Args:
            choose: Called with the row's number and the name of its new pattern.
            row: The row's number.
            title: The title of the row.
            pattern: The name of the row's pattern, None if it is not a named one.
        """
        super().__init__()
        self.set_reactive(PatternHead.title, title)
        self.pattern = pattern
        self._choose, self._row = choose, row

    def show(self, title: str, pattern: str | None) -> None:
        """Show the name of another pattern."""
        self.title, self.pattern = title, pattern

    def render_line(self, y: int) -> Strip:
        """Draw the head."""
        width = self.size.width
        text = head_text(self.title, self.note, width)
        return Strip([Segment(text, self.rich_style)]).crop(0, width)

    def action_turn(self, step: int) -> None:
        """Choose the next or the previous named pattern."""
        names = list(SPLIT_PATTERNS)
        pattern = self.pattern
        if pattern is None:
            # Start from the first or the last pattern.
            pattern = names[-1] if step > 0 else names[0]
        self._choose(self._row, neighbour(names, pattern, step))

    def action_list(self) -> None:
        """Show all patterns."""
        self.post_message(PatternsWanted(self._row))

    def on_click(self, event: events.Click) -> None:
        """Choose the previous or next pattern by the arrows; elsewhere, list all patterns."""
        if event.x <= 1 or event.x - _TITLE_COLUMNS in (2, 3):
            self.action_turn(-1 if event.x <= 1 else 1)
        else:
            self.action_list()
