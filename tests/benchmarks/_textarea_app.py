"""A Textual app that is one stock TextArea: `python _textarea_app.py FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.widgets import TextArea


class PlainArea(TextArea):
    """The stock widget with keys for both ends of the document."""

    BINDINGS = [  # noqa: RUF012
        Binding("ctrl+home", "go_to_start", show=False),
        Binding("ctrl+end", "go_to_end", show=False),
    ]

    def action_go_to_start(self) -> None:
        """Move the cursor before the first character."""
        self.move_cursor((0, 0))

    def action_go_to_end(self) -> None:
        """Move the cursor behind the last character."""
        self.move_cursor(self.document.end)


class PlainApp(App[None]):
    """One text area over the whole screen."""

    def compose(self) -> ComposeResult:
        """Show the file."""
        text = Path(sys.argv[1]).read_text(encoding="utf-8")
        yield PlainArea(text, soft_wrap=True, show_line_numbers=False)


if __name__ == "__main__":
    PlainApp().run()
