"""Controls of forms: one-line inputs, buttons, and choices between a few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, ClassVar, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from tokviz.text.glyphs import UNSAFE
from tokviz.tui.undo import UndoHistory
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.spans import Role, RoleStyles, RunAction, Span, draw


def first_line(text: str) -> str:
    """Return the first line of a text without characters that are unsafe for the terminal."""
    return UNSAFE.sub("", next(iter(text.splitlines()), ""))


class Field(Input):
    """A one-line input that never sends unsafe characters to the terminal.

    Only printable characters can be typed; a paste can contain anything, so it is cleaned.
    """

    DEFAULT_CSS = """
    Field, Field:focus {
        height: 1;
        border: none;
        padding: 0;
        background: transparent;
        background-tint: 0%;
    }
    """

    MOST_PASTED: ClassVar[int] = 20_000
    """Characters of the longest paste: more would slow down every key and fill the undo history."""

    KEEPS_SPACES: ClassVar[bool] = False
    """Whether the spaces around a paste are kept."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+a", "select_all", "Select all", show=False),
        Binding("ctrl+z", "undo", "Undo", show=False),
        Binding("ctrl+y", "redo", "Redo", show=False),
    ]

    def __init__(self, *args: Any, **options: Any) -> None:
        """Take the arguments of `Input`."""
        self._history, self._last_change = UndoHistory(""), (0, 0)
        super().__init__(*args, **options)
        self._history.restart(self.value)

    def watch_value(self, old: str, new: str) -> None:
        """Record the value for undo; characters typed one after the other are one step."""
        if new == self._history.state:
            return
        column = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))
        )
        n_added = len(new) - len(old)
        if self._last_change != (column - n_added, n_added) or abs(n_added) != 1:
            self._history.break_run()
        self._last_change = column, n_added
        self._history.record(new, run=n_added)

    def action_undo(self) -> None:
        """Go back to the previous value."""
        if self._history.undo():
            self.put(self._history.state)

    def action_redo(self) -> None:
        """Redo the change that was undone."""
        if self._history.redo():
            self.put(self._history.state)

    def put(self, text: str) -> None:
        """Replace the value, and move the cursor to its end."""
        self.value = text
        self.cursor_position = len(text)

    def render_line(self, y: int) -> Strip:
        """Draw the field; a placeholder that does not fit ends with an ellipsis."""
        asked = self.placeholder
        self.set_reactive(Input.placeholder, fit(asked, self.scrollable_content_region.width))
        try:
            return super().render_line(y)
        finally:
            self.set_reactive(Input.placeholder, asked)

    def on_paste(self, event: events.Paste) -> None:
        """Insert the first line of a paste."""
        event.prevent_default()
        event.stop()
        was_empty, text = not self.value, self.clean_paste(event.text)
        if not self.fits(text):
            return
        self.replace(text, *sorted(self.selection))
        if was_empty:
            # Textual shows the start of the first value until the cursor moves.
            self.action_home()
            self.action_end()

    def fits(self, pasted: str) -> bool:
        """Return whether a paste is short enough; notify the user if it is not."""
        if len(pasted) > self.MOST_PASTED:
            words = (
                f"Not pasted: {len(pasted):,} characters, this field takes {self.MOST_PASTED:,}."
            )
            self.notify(words, severity="warning", markup=False)
        return len(pasted) <= self.MOST_PASTED

    def clean_paste(self, text: str) -> str:
        """Return the part of a pasted text that the field accepts."""
        return first_line(text if self.KEEPS_SPACES else text.strip())


class PushButton(Static, can_focus=True):
    """A label that runs an action on a click, Enter or Space.

    It differs from Textual's `Button(compact=True)`: a click keeps the focus, so that the user can
    continue to type, Space presses it, and it stays readable in 16 colors and without color.
    """

    FOCUS_ON_CLICK = False

    DEFAULT_CSS = """
    PushButton {
        width: auto;
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $text-accent;
        &.-main { text-style: bold; }
        &:hover { text-style: underline; }
        &.-main:hover { text-style: bold underline; }
        &:focus {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: bold;
        }
        /* No opacity: 16 colors may not include a mixed color. */
        &:disabled:can-focus { color: $text-disabled; text-style: none; opacity: 1; }
        &:nocolor:focus { text-style: reverse; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "press", show=False)]

    def __init__(
        self, label: str, action: str, *, id: str | None = None, classes: str = ""
    ) -> None:
        """Create a button with a label and an action."""
        super().__init__(Content(label), id=id, classes=classes)
        self._action = action

    async def action_press(self) -> None:
        """Run the action."""
        await self.run_action(self._action)

    async def on_click(self, event: events.Click) -> None:
        """Run the action."""
        event.stop()
        await self.action_press()


_MARKS = ("○", "●")
_GAP = 2
_HOVERED = RunAction("")
"""Marks the choice under the mouse, which `draw` underlines."""


class Choice(NamedTuple):
    """A choice: its value and its label."""

    value: str
    label: str


class PlacedChoice(NamedTuple):
    """The position of a choice: its number in the list, its row and its columns."""

    number: int
    row: int
    start: int
    stop: int


def place_choices(labels: Sequence[str], width: int) -> list[PlacedChoice]:
    """Arrange labels with their marks side by side, in as many rows as they need.

    >>> place_choices(["one", "two"], 6)
    [PlacedChoice(number=0, row=0, start=0, stop=5), PlacedChoice(number=1, row=1, start=0, stop=5)]
    """
    placed: list[PlacedChoice] = []
    row = x = 0
    for index, label in enumerate(labels):
        taken = cell_len(label) + 2
        if x and x + taken > width:
            row, x = row + 1, 0
        placed.append(PlacedChoice(index, row, x, x + taken))
        x += taken + _GAP
    return placed


class Choices(Widget, can_focus=True):
    """A choice between a few words by the arrow keys, Space or a click."""

    DEFAULT_CSS = """
    Choices {
        height: auto;
        width: 1fr;
        & > .choices--heading { color: $foreground; text-style: bold; }
        & > .choices--dim { color: $text-muted; }
        & > .choices--accent { color: $text-accent; }
        & > .choices--handle {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: bold;
        }
        &:nocolor > .choices--handle { text-style: reverse; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"choices--{role}" for role in ("heading", "dim", "accent", "handle")
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", show=False),
        Binding("right", "step(1)", show=False),
        Binding("home", "step(-99)", show=False),
        Binding("end", "step(99)", show=False),
        Binding("space", "step(0)", show=False),
    ]

    chosen: reactive[str] = reactive("")
    """The value of the marked choice; any other value marks none."""
    hovered: reactive[int | None] = reactive(None)
    """Index of the choice under the mouse."""

    @dataclass
    class Chosen(Message):
        """The user chose a value."""

        choices: Choices
        value: str
        clicked: bool
        """Whether it was chosen by a click."""

    def __init__(self, choices: Sequence[Choice], chosen: str, *, id: str | None = None) -> None:
        """Take the choices, and the value that is chosen at first."""
        super().__init__(id=id)
        self.choices = choices
        self.set_reactive(Choices.chosen, chosen)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows that the choices need."""
        return self._placed(width)[-1].row + 1

    def _placed(self, width: int) -> list[PlacedChoice]:
        return place_choices([choice.label for choice in self.choices], width)

    def render_line(self, y: int) -> Strip:
        """Draw one row of choices."""
        spans: list[Span] = []
        x = 0
        cursor = self._cursor if self.has_focus else None
        for place in self._placed(self.size.width):
            if place.row == y:
                choice = self.choices[place.number]
                is_chosen = choice.value == self.chosen
                role: Role = "heading" if is_chosen else "dim"
                spans += [
                    Span(" " * (place.start - x)),
                    Span(f"{_MARKS[is_chosen]} ", "accent" if is_chosen else "dim"),
                    Span(choice.label, "handle" if place.number == cursor else role),
                ]
                if place.number == self.hovered:
                    spans[-1] = spans[-1]._replace(action=_HOVERED)
                x = place.stop
        styles = RoleStyles(self, "choices")
        return draw(spans, styles, self.size.width, _HOVERED, are_targets=False)

    @property
    def _cursor(self) -> int:
        """The number of the choice with the cursor: the marked one, else the first."""
        values = [choice.value for choice in self.choices]
        return values.index(self.chosen) if self.chosen in values else 0

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Draw the cursor only while the widget has the focus."""
        super().watch_has_focus(_has_focus)
        self.refresh()

    def action_step(self, step: int) -> None:
        """Choose the next or the previous value, stopping at the ends."""
        last = len(self.choices) - 1
        if self.chosen in (choice.value for choice in self.choices):
            index = self._cursor + step
        else:
            index = 0 if step >= 0 else last
        self._choose(min(max(index, 0), last))

    def _choose(self, index: int, *, clicked: bool = False) -> None:
        value = self.choices[index].value
        if value != self.chosen:
            self.chosen = value
            self.post_message(self.Chosen(self, value, clicked))

    def _index_at(self, event: events.MouseEvent) -> int | None:
        offset = event.get_content_offset(self)
        if offset is None:
            return None
        for place in self._placed(self.size.width):
            if place.row == offset.y and place.start <= offset.x < place.stop:
                return place.number
        return None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Underline the choice under the mouse."""
        self.hovered = self._index_at(event)

    def on_leave(self) -> None:
        """Underline nothing."""
        self.hovered = None

    def on_click(self, event: events.Click) -> None:
        """Choose the value under the mouse."""
        index = self._index_at(event)
        if index is not None:
            event.stop()
            self._choose(index, clicked=True)
