"""The net under the sanitizer: no segment of any widget brings a control to the terminal."""

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
    """Tell whether a terminal may receive the text as it is."""
    return (text.isascii() and text.isprintable()) or UNSAFE.search(text) is None


@lru_cache(1024)
def mend(text: str) -> str:
    """Replace what is unsafe by glyphs, and keep the width that Textual measured.

    Most unsafe characters were measured as no cells, so a mended text loses its last cells; that
    is the price of a line that stays in place. Widgets that know their text to be foreign call
    `tokviz.text.glyphs.safe` before they measure and lose nothing.
    """
    return set_cell_size("".join(display(text, HIDDEN)), cell_len(text))


class SafeLineFilter(LineFilter):
    """Mends the segments of every widget. Return one from `App.get_line_filters`."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments, with the unsafe ones mended."""
        if all(is_safe(text) for text, _, control in segments if not control):
            return segments
        return [
            segment
            if segment.control or is_safe(segment.text)
            else Segment(mend(segment.text), segment.style)
            for segment in segments
        ]


class InTurn(LineFilter):
    """Several filters as one: a line is kept once, not after each of them."""

    def __init__(self, *filters: LineFilter) -> None:
        """Apply these, the first first."""
        super().__init__()
        self.filters = filters

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments as the last one gives them."""
        for line_filter in self.filters:
            segments = line_filter.apply(segments, background)
        return segments


class OwnColours(LineFilter):
    """Says every colour as one of the terminal's own sixteen, whatever more it could show."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments in other words."""
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
