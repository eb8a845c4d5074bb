"""Rows of words that have roles, drawn in the styles that a widget's CSS gives to the roles."""

from __future__ import annotations

from collections.abc import Container, Iterable

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

TARGET = Style.from_meta({"target": True})
"""Tells the jump mode of words that a click does something on. Nothing of it is drawn."""


def role_strip(
    widget: Widget,
    prefix: str,
    words: Iterable[tuple[str, str]],
    width: int,
    links: Container[str | None] = (),
    styles: dict[str, Style] | None = None,
) -> Strip:
    """Draw words in a row.

    Args:
        widget: Whose component classes are named `prefix--role`.
        prefix: What they begin with.
        words: (text, role) side by side; the role "" is the widget's own style.
        width: The columns of the row.
        links: The roles of words that a click does something on.
        styles: The styles of roles as far as they are known, which to ask for takes long.
    """
    styles = {} if styles is None else styles
    if not styles:
        styles[""] = widget.rich_style
    base, segments = styles[""], []
    for text, role in words:
        if role not in styles:
            component = widget.get_component_rich_style(f"{prefix}--{role}", partial=True)
            styles[role] = base + component + (TARGET if role in links else Style.null())
        segments.append(Segment(text, styles[role]))
    return Strip(segments).adjust_cell_length(width, base)
