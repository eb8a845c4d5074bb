"""What tells widgets of their sizes, and which parts of the screen have to be drawn again."""

from __future__ import annotations

from textual._compositor import Compositor, CompositorMap, ReflowResult
from textual._styles_cache import StylesCache
from textual.geometry import Size
from textual.widget import Widget

# Textual keeps the two colours that this works out for a thousand widgets, and so these widgets'
# drawn lines: those of closed dialogs too. It needs nothing of the widget.
setattr(StylesCache, "get_inner_outer", classmethod(StylesCache.get_inner_outer))  # noqa: B010


class SteadyCompositor(Compositor):
    """Compares a layout with the one before it.

    Textual's compares it with its map, which it renews for anybody who asks where a widget is. What
    has been made since the last layout stands in that map then, and is not told of its size: it
    would stay blank, or go on with its old size.
    """

    def __init__(self) -> None:
        """Begin with nothing laid out."""
        super().__init__()
        self._laid_out: CompositorMap = {}

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Lay out, and tell what is new, gone or of another size since the layout before."""
        self._full_map = self._laid_out
        result = super().reflow(parent, size)
        self._laid_out = self._full_map
        return result
