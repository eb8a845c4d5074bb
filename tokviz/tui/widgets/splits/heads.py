"""One line above the gloss for every row: which pattern, and how many pieces it makes."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widget import Widget

from tokviz.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.splits.messages import PatternChosen
from tokviz.tui.widgets.splits.rows import title_of
from tokviz.tui.widgets.turns import neighbour

_TITLE_COLUMNS = 8
_PREVIOUS_AT = 0


def head_text(title: str, note: str, width: int) -> str:
    """Write a head: `◂ GPT-2    ▸     14 pieces`."""
    left = f"◂ {fit(title, _TITLE_COLUMNS):<{_TITLE_COLUMNS}} ▸"
    return left + fit(note, width - len(left) - 1).rjust(width - len(left))


def pieces_note(n_pieces: int, complete: bool) -> str:
    """Say how many pieces there are, or are known of yet."""
    noun = "piece" if n_pieces == 1 else "pieces"
    return f"{n_pieces:,} {noun}" if complete else f"{n_pieces:,}… {noun}"


class PatternHead(Widget, can_focus=True):
    """Names the pattern of a row and steps through the named patterns, by keys and by mouse."""

    DEFAULT_CSS = """
    PatternHead {
        height: 1;
        &:focus { text-style: bold; background: $block-cursor-background; }
        &:hover { background: $block-hover-background; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", "Previous pattern"),
        Binding("right,enter,space", "turn(1)", "Next pattern", key_display="→"),
    ]

    def __init__(self, row: int, title: str, name: str | None) -> None:
        """Make a head.

        Args:
            row: The row's number, for `PatternChosen`.
            title: What to call the row.
            name: The named pattern the row shows, None if it shows another one.
        """
        super().__init__()
        self._row = row
        self._title = title
        self._pattern = name
        self._note = ""

    @property
    def pattern(self) -> str | None:
        """Name of the pattern the row shows, None if it shows another one."""
        return self._pattern

    @property
    def title(self) -> str:
        """What the row is called."""
        return self._title

    @property
    def note(self) -> str:
        """What stands on the right."""
        return self._note

    def set_note(self, note: str) -> None:
        """Say something else on the right."""
        if note != self._note:
            self._note = note
            self.refresh()

    def set_pattern(self, title: str, name: str | None) -> None:
        """Name another pattern."""
        self._title, self._pattern = title, name
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the head."""
        width = self.size.width
        style: Style = self.rich_style
        return Strip([Segment(head_text(self._title, self._note, width), style)]).crop(0, width)

    def action_turn(self, step: int) -> None:
        """Choose the next named pattern, or the one before."""
        names = list(SPLIT_PATTERNS)
        pattern = self._pattern
        if pattern is None:
            # As if the row's own pattern stood at the end of the ring.
            pattern = names[-1] if step > 0 else names[0]
        self.post_message(PatternChosen(self._row, neighbour(names, pattern, step)))

    def on_click(self, event: events.Click) -> None:
        """Step back by the left arrow, on by anything else near the name."""
        self.action_turn(-1 if event.x <= _PREVIOUS_AT + 1 else 1)


def named_head(row: int, name: str) -> PatternHead:
    """Make the head of a named pattern's row."""
    return PatternHead(row, title_of(name), name)
