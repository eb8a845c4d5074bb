"""Styles of masked tokens: those in the loss are filled, bold and underlined, others are plain.

So the mask is visible without color too. Special tokens are italic, as everywhere.
"""

from __future__ import annotations

from typing import Final

from rich.style import Style

from tokviz.tui.palette import LookTable, TokenPalette

LEARNED: Final = 1
SPECIAL: Final = 2
CUT: Final = 4
"""Cut off: after the maximum number of tokens."""
HOVERED: Final = 8
PINNED: Final = 16

MARKS: Final = ("○", "●")
"""Signs for mask 0 and 1."""
CUT_MARK: Final = "✂"

_LEARNED_HUE: Final = 2
"""The hue of tokens in the loss, one of the palette's, so that it suits every terminal."""


class MaskStyles(LookTable):
    """Styles of combinations of the bits above."""

    def __init__(self, palette: TokenPalette, ground: Style) -> None:
        """Take the palette, and the widget's style below it."""
        super().__init__(palette, ground)
        self.muted = self.base + palette.pending

    def style_of(self, look: int) -> Style:
        """Compose the style of some bits."""
        palette = self.palette
        style = self.base
        if look & LEARNED:
            style += palette.hues[_LEARNED_HUE] + Style(bold=True, underline=True)
        if look & SPECIAL:
            style += Style(italic=True)
            if not palette.mono and not look & LEARNED:
                style += Style(color=palette.special.color)
        if look & CUT:
            style = self.muted + Style(strike=True)
        if look & PINNED:
            style += palette.pin
        if look & HOVERED:
            style += palette.hover
        return style
