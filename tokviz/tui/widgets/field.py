"""Inputs of one line, which never show what a terminal must not receive."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widgets import Input

from tokviz.text.glyphs import UNSAFE
from tokviz.tui.widgets.fit import fit


def first_line(text: str) -> str:
    """Give the first line of a text without what a terminal must not receive."""
    return UNSAFE.sub("", next(iter(text.splitlines()), ""))


class Field(Input):
    """A one-line input that never shows what a terminal must not receive.

    Typing gives printable characters only; a paste can hold anything, so it is cleaned here.
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
    """Characters of a paste; with more, every key would take long, and undo would keep them all."""

    KEEPS_SPACES: ClassVar[bool] = False
    """Whether the spaces around a paste count."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+a", "select_all", "Select all", show=False),
        Binding("ctrl+z", "undo", "Undo", show=False),
        Binding("ctrl+y", "redo", "Redo", show=False),
    ]

    def __init__(self, *args: Any, **options: Any) -> None:
        """Take what an input takes."""
        self._states, self._state = [""], 0
        self._typed = (0, 0)
        """Where the last change was, and how many characters it added."""
        super().__init__(*args, **options)
        self._states, self._state = [self.value], 0

    def watch_value(self, old: str, new: str) -> None:
        """Keep what was there before; characters typed one behind the other go together."""
        if new == self._states[self._state]:
            return
        pairs = enumerate(zip(old, new, strict=False))
        at = next((n for n, (one, other) in pairs if one != other), min(len(old), len(new)))
        step = len(new) - len(old)
        (before, last_step), self._typed = self._typed, (at, step)
        goes_on = self._state and step == last_step and abs(step) == 1 and at == before + step
        self._states[self._state] = old
        self._state += not goes_on
        self._states[self._state :] = [new]

    def action_undo(self) -> None:
        """Go back to what was in the field before."""
        self._go(-1)

    def action_redo(self) -> None:
        """Take an undo back."""
        self._go(1)

    def _go(self, by: int) -> None:
        if 0 <= self._state + by < len(self._states):
            self._state += by
            self._typed = (0, 0)
            self.put(self._states[self._state])

    def put(self, text: str) -> None:
        """Replace what is in the field; the cursor stands behind it."""
        self.value = text
        self.cursor_position = len(text)

    def render_line(self, y: int) -> Strip:
        """Draw the field; an ellipsis ends what it asks for where that is cut."""
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
            # Textual shows the beginning of the first value of all, until the cursor moves.
            self.action_home()
            self.action_end()

    def fits(self, pasted: str) -> bool:
        """Tell whether a paste is short enough, and the user if it is not."""
        if len(pasted) > self.MOST_PASTED:
            words = (
                f"Not pasted: {len(pasted):,} characters, this field takes {self.MOST_PASTED:,}."
            )
            self.notify(words, severity="warning", markup=False)
        return len(pasted) <= self.MOST_PASTED

    def clean_paste(self, text: str) -> str:
        """Turn pasted text into what may stand in the field."""
        return first_line(text if self.KEEPS_SPACES else text.strip())
