"""Keep control characters in any widget from reaching the terminal."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len, set_cell_size
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from tokviz.text.glyphs import HIDDEN, UNSAFE, display


def is_safe(text: str) -> bool:
    """Return whether a terminal can receive the text unchanged."""
    return (text.isascii() and text.isprintable()) or UNSAFE.search(text) is None


@lru_cache(1024)
def sanitize(text: str) -> str:
    """Replace unsafe characters by glyphs, and keep the width that Textual measured.

    Textual measures most unsafe characters as zero cells, so that the text loses its last cells.
    Widgets that show text from files call `tokviz.text.glyphs.safe` before, and lose nothing.
    """
    return set_cell_size("".join(display(text, HIDDEN)), cell_len(text))


class SafeLineFilter(LineFilter):
    """Sanitizes the segments of every widget. Return one from `App.get_line_filters`."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without unsafe characters."""
        if all(is_safe(text) for text, _, control in segments if not control):
            return segments
        return [
            segment
            if segment.control or is_safe(segment.text)
            else Segment(sanitize(segment.text), segment.style)
            for segment in segments
        ]


class InTurn(LineFilter):
    """Several filters as one, so that Textual caches a line once, not after each filter."""

    def __init__(self, *filters: LineFilter) -> None:
        """Create the filter from others, applied in order."""
        super().__init__()
        self.filters = filters

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Apply all filters."""
        for line_filter in self.filters:
            segments = line_filter.apply(segments, background)
        return segments


class OwnColours(LineFilter):
    """Maps every color to one of the terminal's own sixteen colors."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments in the terminal's own colors."""
        return [
            Segment(text, _in_own_colours(style) if style else style, control)
            for text, style, control in segments
        ]


@lru_cache(4096)
def _in_own_colours(style: Style) -> Style:
    color, ground = (
        colour and colour.downgrade(ColorSystem.STANDARD) for colour in (style.color, style.bgcolor)
    )
    return style + Style(color=color, bgcolor=ground)
