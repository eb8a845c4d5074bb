"""One-line inputs that never send unsafe characters to the terminal."""

from __future__ import annotations

from itertools import takewhile
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widgets import Input

from tokviz.text.glyphs import UNSAFE
from tokviz.tui.undo import UndoHistory
from tokviz.tui.widgets.fit import fit


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
