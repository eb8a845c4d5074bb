"""Report an unhandled exception instead of ending the app, and end without drawing variables.

Upstream problem: `App._handle_exception` always ends the app, and no public hook precedes it. The
traceback that `App._fatal_error` prints draws the local variables, which takes minutes if one of
them is a long text.
"""

from __future__ import annotations

import traceback

from rich.text import Text
from textual.app import App

from tokviz.text.glyphs import safe_lines


class ErrorHandlingApp(App[None]):
    """An app with a public hook for unhandled exceptions."""

    def handle_error(self, error: Exception) -> None:
        """Handle an unhandled exception; by default end the app with a traceback."""
        super()._handle_exception(error)

    def _handle_exception(self, error: Exception) -> None:
        self.handle_error(error)

    def _fatal_error(self) -> None:
        self.bell()
        self.panic(Text(safe_lines(traceback.format_exc())))
