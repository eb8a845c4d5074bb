"""Inputs of one line, which never show what a terminal must not receive."""

from __future__ import annotations

from textual import events
from textual.strip import Strip
from textual.widgets import Input

from tokviz.glyphs import UNSAFE
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

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        was_empty = not self.value
        self.replace(self.clean_paste(event.text), *sorted(self.selection))
        if was_empty:
            # Textual shows the beginning of the first value of all, until the cursor moves.
            self.action_home()
            self.action_end()

    def clean_paste(self, text: str) -> str:
        """Turn pasted text into what may stand in the field."""
        return first_line(text.strip())
