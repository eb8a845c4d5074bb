"""How much room a terminal has, in a few classes that style sheets ask for."""

from __future__ import annotations

from collections.abc import Mapping

from textual.dom import DOMNode
from textual.geometry import Size

NARROW_COLUMNS = 110
"""A narrower terminal has panels below each other, or one at a time."""
SHORT_LINES = 16
"""A terminal of fewer lines shows one thing at a time."""
TINY_COLUMNS, TINY_LINES = 28, 9
"""A smaller terminal shows what matters most; one of fewer lines goes without the key bar."""
HUGE_COLUMNS, HUGE_LINES = 150, 44
"""A terminal of this size shows one more panel beside the others."""


def size_classes(size: Size, low_lines: int, broad_columns: int) -> dict[str, bool]:
    """Tell which classes hold at a size.

    Args:
        size: The terminal's columns and lines.
        low_lines: A terminal of fewer lines is low to the screen.
        broad_columns: A terminal of so many columns is broad to the screen.
    """
    width, height = size
    return {
        "-narrow": width < NARROW_COLUMNS,
        "-short": height < SHORT_LINES,
        "-tiny": width < TINY_COLUMNS or height < TINY_LINES,
        "-flat": height < TINY_LINES,
        "-huge": width >= HUGE_COLUMNS and height >= HUGE_LINES,
        "-low": height < low_lines,
        "-broad": width >= broad_columns,
    }


def set_classes(node: DOMNode, classes: Mapping[str, bool]) -> None:
    """Add and remove classes of a node at once, so that its children are styled once."""
    changed = [name for name, is_set in classes.items() if node.has_class(name) != is_set]
    for name in changed:
        node.set_class(classes[name], name, update=name == changed[-1])
