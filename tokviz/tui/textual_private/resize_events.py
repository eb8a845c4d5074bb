"""Send `Resize` to a widget that was measured before its first layout.

Upstream problem: `Compositor.reflow` reports the widgets whose size differs from `_full_map`, but
reading a widget's `region` rebuilds that map between two layouts. A widget mounted in between is
then in the map already, so it never receives `Resize` and stays blank or keeps its old size.
"""

from __future__ import annotations

from typing import Any

from textual._compositor import Compositor, ReflowResult
from textual.geometry import Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget


class LayoutCompositor(Compositor):
    """Compare each layout with the previous layout."""

    def __init__(self) -> None:
        """Start without a layout."""
        super().__init__()
        self._previous_layout = self._full_map

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Lay out, and report the widgets that are new, gone or resized since the last layout."""
        self._full_map = self._previous_layout
        result = super().reflow(parent, size)
        self._previous_layout = self._full_map
        return result


def fix_resize_events(screen: Screen[Any]) -> None:
    """Give a new screen a compositor that reports every resized widget."""
    screen._compositor = LayoutCompositor()


def screen_strips(screen: Screen[Any]) -> list[Strip]:
    """Render the rows of a screen as they are displayed."""
    return screen._compositor.render_strips()
