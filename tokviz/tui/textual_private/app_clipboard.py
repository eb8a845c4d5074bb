"""Set the text that pasting inside the app inserts, without sending it to the terminal.

Upstream problem: only `App.copy_to_clipboard` sets `App.clipboard`, and it always sends the text to
the terminal as OSC 52, however long it is. `App.clipboard` has no setter.
"""

from __future__ import annotations

from typing import Any

from textual.app import App


def set_app_clipboard(app: App[Any], text: str) -> None:
    """Set `App.clipboard`."""
    app._clipboard = text
