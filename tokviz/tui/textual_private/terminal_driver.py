"""Access the terminal driver of a running app.

Upstream problem: `App` has no public attribute for its driver, which knows whether the terminal is
in application mode, and no method that writes a control sequence to the terminal.
"""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.driver import Driver


def driver_of(app: App[Any]) -> Driver | None:
    """Return the app's driver, or None before it starts."""
    return app._driver
