"""The colours and attributes that tokens are drawn with, one list per kind of terminal.

Tokens are told apart by six hues; a live document never gives two neighbours the same one. With 16
or 256 colours the hues are colours of those palettes, so that the terminal's own rounding cannot
make two of them equal. Without colour the hues are attributes: every other hue is underlined, and
the hues of equal parity differ in bold and italic.

No meaning is in colour alone: special tokens are italic and bold or underlined, split characters
underlined, the pinned token bold and the pointed one underlined, or reversed where there is no
colour.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rich.style import Style
from textual.app import App

from tokviz.tui.themes import look_of, mix

N_HUES = 6


class LookTable(dict[int, Style]):
    """The style of each look, a number made of bits; worked out when it is first asked for."""

    def __init__(self, palette: TokenPalette, ground: Style) -> None:
        """Take the palette, and the widget's own style below it."""
        super().__init__()
        self.palette = palette
        self.base = ground + palette.base

    def __missing__(self, look: int) -> Style:
        """Put a style together and remember it."""
        style = self[look] = self.style_of(look)
        return style

    @abstractmethod
    def style_of(self, look: int) -> Style:
        """Put a style together."""


class TokenPalette(NamedTuple):
    """How tokens look. The tuples have one style per hue."""

    base: Style
    """Text area without a token; also the ground of every panel that shows tokens."""
    hues: tuple[Style, ...]
    """The fills."""
    dim: tuple[Style, ...]
    """Glyphs that stand for other characters, on each fill."""
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
    """Overlay for selected things in panels."""
    cursor: Style
    """The cell at the cursor."""
    blurred_cursor: Style
    """Overlay for the cell at the cursor of an editor without the focus."""
    mono: bool = False
    """Whether there is no colour, so that cursor and selection reverse what is below them."""


_DIM_SHARE = 0.5
_TINT_SHARE = 0.5


def token_palette(theme: str, color_system: str | None, no_color: bool) -> TokenPalette:
    """Choose the palette for a theme and a terminal.

    Args:
        theme: The name of the theme.
        color_system: Rich's name of what the terminal can do, see `themes.look_of`.
        no_color: Whether the user asked for no colour.
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
    """Underline every other hue; bold and italic tell the hues of equal parity apart."""
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
    """Choose the palette for an app's theme and for what its terminal can show."""
    colours = "truecolor" if app.is_headless else app.console.color_system
    return token_palette(app.theme, colours, app.no_color)


@runtime_checkable
class TakesPalette(Protocol):
    """A widget that draws tokens."""

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        ...
