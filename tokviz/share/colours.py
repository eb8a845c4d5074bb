"""The colours of tokens, on the screen and elsewhere; no two of them are hard to tell apart."""

from __future__ import annotations

from typing import NamedTuple


class Colours(NamedTuple):
    """What tokens are drawn with, as #rrggbb.

    Attributes:
        ground: Where there is no token.
        text: The text on all of it.
        muted: What is beside the tokens.
        special: The text of special tokens.
        fills: One for each hue.
        greys: For tokens that stand back, in turns; empty where none do.
    """

    ground: str
    text: str
    muted: str
    special: str
    fills: tuple[str, ...]
    greys: tuple[str, ...] = ()

    @property
    def all_fills(self) -> tuple[str, ...]:
        """The colours of chips, by their hue: the fills, and behind them the greys."""
        return self.fills + self.greys


DARK = Colours(
    "#111318",
    "#f0f2f5",
    "#8b95a5",
    "#ffe08a",
    ("#1f3a5f", "#5a3a1c", "#1f4a33", "#552a45", "#3d3470", "#1d4a4f"),
    ("#2b303a", "#1c2027"),
)
LIGHT = Colours(
    "#ffffff",
    "#16181d",
    "#6b7482",
    "#7a2a8c",
    ("#cfe8ff", "#ffe0b8", "#d4f4d2", "#f9d3e3", "#e3dafc", "#d3f1f0"),
    ("#e3e6eb", "#f3f4f7"),
)
