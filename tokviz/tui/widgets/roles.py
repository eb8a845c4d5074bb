"""Rows of words that have roles, drawn in the styles that a widget's CSS gives to the roles."""

from __future__ import annotations

from collections.abc import Iterable

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget


def role_strip(widget: Widget, prefix: str, words: Iterable[tuple[str, str]], width: int) -> Strip:
    """Draw words in a row.

    Args:
        widget: Whose component classes are named `prefix--role`.
        prefix: What they begin with.
        words: (text, role) side by side; the role "" is the widget's own style.
        width: The columns of the row.
    """
    base = widget.rich_style
    styles = {"": base}
    segments = []
    for text, role in words:
        if role not in styles:
            component = widget.get_component_rich_style(f"{prefix}--{role}", partial=True)
            styles[role] = base + component
        segments.append(Segment(text, styles[role]))
    return Strip(segments).adjust_cell_length(width, base)
