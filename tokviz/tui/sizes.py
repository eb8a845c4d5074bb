"""Size classes of a terminal, for style sheets."""

from __future__ import annotations

from collections.abc import Mapping

from textual.dom import DOMNode
from textual.geometry import Size

NARROW_COLUMNS = 110
"""Narrower terminals show panels below each other, or one at a time."""
SHORT_LINES = 16
"""Terminals with fewer lines show one pane at a time."""
TINY_COLUMNS, TINY_LINES = 28, 9
"""Smaller terminals show the main content only, and with fewer lines no key bar."""
HUGE_COLUMNS, HUGE_LINES = 150, 44
"""Terminals of at least this size show an additional panel."""


def size_classes(size: Size, low_lines: int, broad_columns: int) -> dict[str, bool]:
    """Return whether each size class applies.

    Args:
        size: The terminal's columns and lines.
        low_lines: Terminals with fewer lines are "-low".
        broad_columns: Terminals with at least this many columns are "-broad".
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
