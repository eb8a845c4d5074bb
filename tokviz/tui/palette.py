"""Colors and attributes of tokens, for each kind of terminal.

Six hues distinguish tokens; neighboring tokens of a document never have the same hue. With 16 or
256 colors, the hues are colors of those palettes, so that the terminal cannot round two of them to
the same color. Without color, the hues are attributes: every other hue is underlined, and hues of
equal parity differ in bold and italic.

No meaning depends on color alone: special tokens are italic and bold or underlined, split
characters are underlined, the pinned token is bold, and the token under the pointer is underlined
or, without color, reversed.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rich.style import Style
from textual.app import App

from tokviz.tui.themes import look_of, mix

N_HUES = 6


class LookTable(dict[int, Style]):
    """Style of each look (a bit set), computed on first use."""

    def __init__(self, palette: TokenPalette, ground: Style) -> None:
        """Create the table of a palette, on top of the widget's own style."""
        super().__init__()
        self.palette = palette
        self.base = ground + palette.base

    def __missing__(self, look: int) -> Style:
        """Compute and store a style."""
        style = self[look] = self.style_of(look)
        return style

    @abstractmethod
    def style_of(self, look: int) -> Style:
        """Compute the style of a look."""


class TokenPalette(NamedTuple):
    """Styles of tokens. The tuples have one style per hue."""

    base: Style
    """Text area without a token; also the ground of every panel that shows tokens."""
    hues: tuple[Style, ...]
    """The fills."""
    dim: tuple[Style, ...]
    """Glyphs that replace other characters, on each fill."""
    split: tuple[Style, ...]
    """Characters whose bytes are in several tokens, on each fill."""
    selected: tuple[Style, ...]
    """The fills, tinted because their text is selected; the borders stay visible."""
    selected_base: Style
    """Selected text without a token."""
    special: Style
    """Overlay for special tokens."""
    pending: Style
    """Text whose tokens are not known yet."""
    gap: Style
    """Text that a split pattern does not match."""
    hover: Style
    """Overlay for the token under the pointer."""
    pin: Style
    """Overlay for the token that the panels explain."""
    selection: Style
    """Overlay for selected items in panels."""
    cursor: Style
    """The cell at the cursor."""
    blurred_cursor: Style
    """Overlay for the cell at the cursor of an editor without the focus."""
    mono: bool = False
    """Whether there is no color, so that cursor and selection are reversed."""


_DIM_SHARE = 0.5
_TINT_SHARE = 0.5


def token_palette(theme: str, color_system: str | None, no_color: bool) -> TokenPalette:
    """Choose the palette for a theme and a terminal.

    Args:
        theme: The name of the theme.
        color_system: Rich's name of the terminal's color system, see `themes.look_of`.
        no_color: Whether the user turned colors off.
    """
    if no_color or color_system is None:
        return _without_colour()
    look = look_of(theme, color_system)
    ground, text, muted, special, fills, _ = look.tokens
    accent = look.signs[0]
    ink = look.ink or (text,) * N_HUES
    dim = look.dim or tuple(mix(fill, text, _DIM_SHARE) for fill in fills)
    tint = look.selection or mix(ground, accent, _TINT_SHARE)
    selected = look.selected or tuple(mix(fill, tint, _TINT_SHARE) for fill in fills)
    selection = Style(bgcolor=mix(ground, tint, _TINT_SHARE))
    if look.ink:
        selection = _on("#000000", tint) + Style(bold=False)
    pointer, on_pointer = look.pointer
    over, under = look.cursor
    return TokenPalette(
        base=_on(text, ground),
        hues=tuple(map(_on, ink, fills)),
        dim=tuple(Style(color=colour) for colour in dim),
        split=(_overlay(look.split) + Style(underline=True),) * N_HUES,
        selected=tuple(
            _on(inked, fill) + Style(bold=False if look.ink else None)
            for inked, fill in zip(look.selected_ink or ink, selected, strict=True)
        ),
        selected_base=Style(color=None if look.ink else text) + selection,
        special=_overlay(special) + Style(italic=True),
        pending=_on(muted, ground),
        gap=_on(*look.gap) + Style(underline=True),
        hover=_on(text, look.hover or mix(ground, accent, _TINT_SHARE)) + Style(underline=True),
        pin=_on(on_pointer or ground, pointer or accent) + Style(bold=True),
        selection=selection,
        cursor=_on(over or ground, under or text) + Style(bold=True),
        blurred_cursor=Style(reverse=True) if look.ink else Style(underline=True, bold=True),
    )


def _without_colour() -> TokenPalette:
    """Underline every other hue; bold and italic distinguish hues of equal parity."""
    none, bold, italic = Style(underline=False), Style(bold=True), Style(italic=True)
    under = Style(underline=True)
    hues = (none, under, bold, bold + under, italic, italic + under)
    reverse = Style(reverse=True)
    return TokenPalette(
        base=none,
        hues=hues,
        dim=(Style(dim=True),) * N_HUES,
        split=(reverse + Style(dim=True) + under,) * N_HUES,
        selected=(reverse,) * N_HUES,
        selected_base=reverse,
        special=bold + italic + under,
        pending=Style(dim=True),
        gap=reverse + italic,
        hover=reverse,
        pin=reverse + bold,
        selection=reverse,
        cursor=reverse,
        blurred_cursor=bold + under,
        mono=True,
    )


def _overlay(colour: str) -> Style:
    return Style(color=colour, bold=True) if colour else Style(underline=True)


def _on(text: str | None, fill: str) -> Style:
    return Style(color=text, bgcolor=fill)


def palette_of(app: App[Any]) -> TokenPalette:
    """Return the palette for an app's theme and terminal."""
    colours = "truecolor" if app.is_headless else app.console.color_system
    return token_palette(app.theme, colours, app.no_color)


@runtime_checkable
class TakesPalette(Protocol):
    """A widget that draws tokens."""

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colors."""
        ...
