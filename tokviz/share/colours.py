"""Token colors on the screen and in exports, chosen to be easy to tell apart."""

from __future__ import annotations

from typing import NamedTuple


class Colours(NamedTuple):
    """A color scheme for tokens, as #rrggbb.

    Attributes:
        ground: The background outside tokens.
        text: The text of ordinary tokens.
        muted: Text beside the tokens.
        special: The text of special tokens.
        fills: One background per hue.
        greys: Alternating backgrounds of tokens that are not highlighted; may be empty.
    """

    ground: str
    text: str
    muted: str
    special: str
    fills: tuple[str, ...]
    greys: tuple[str, ...] = ()

    @property
    def all_fills(self) -> tuple[str, ...]:
        """The backgrounds of chips by their hue: the fills, followed by the greys."""
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
TRANSLUCENT = (
    "#2f8fff4d", "#ff9d2e4d", "#3fc46a4d", "#f0609c4d", "#8f6bff4d", "#22b5b54d",
    "#88888855", "#88888826",
)  # fmt: skip
"""Backgrounds of chips by their hue, for text on a light or a dark page that is not ours."""
