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

from rich.color import Color, blend_rgb
from rich.style import Style
from textual.app import App

from tokviz.share.colours import DARK, LIGHT

N_HUES = 6
SIXTEEN = ("standard", "windows")
"""Rich's names of terminals with 16 colours."""


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


class _Colours(NamedTuple):
    """What a palette with colours is made of, as #rrggbb. The tuples have one colour per hue."""

    ground: str
    text: str
    fills: tuple[str, ...]
    pointer: str
    on_pointer: str
    hover: str
    selection: str
    muted: str
    split: str | None
    special: str | None
    """None for the colour that the text has, and for text that is not bold: see below."""
    gap: tuple[str, str]
    """Text and fill."""
    ink: tuple[str, ...] = ()
    """The text on each fill; empty if it is `text` on all of them."""
    dim: tuple[str, ...] = ()
    """Dim glyphs on each fill; empty if they are mixed from `text` and the fill."""
    selected: tuple[str, ...] = ()
    """The tinted fills; empty if they are mixed from the fill and `selection`."""
    selected_ink: tuple[str, ...] = ()
    """The text on each tinted fill; empty if it stays as it is."""
    cursor: tuple[str, str] | None = None
    """Text and fill; None if they are `ground` and `text`."""


_DIM_SHARE = 0.5
_TINT_SHARE = 0.5

_DARK = _Colours(
    ground=DARK.ground,
    text=DARK.text,
    fills=DARK.fills,
    pointer="#8ab4f8",
    on_pointer="#111318",
    hover="#4f76b8",
    selection="#5b8def",
    muted=DARK.muted,
    split="#ffb86b",
    special=DARK.special,
    gap=("#ffd9d4", "#7a1f2b"),
)
_LIGHT = _Colours(
    ground=LIGHT.ground,
    text=LIGHT.text,
    fills=LIGHT.fills,
    pointer="#1f5fbf",
    on_pointer="#ffffff",
    hover="#9cc3f5",
    selection="#5a93ea",
    muted=LIGHT.muted,
    split="#a1340b",
    special=LIGHT.special,
    gap=("#7a1120", "#ffc9c9"),
)
# The following hold colours of the terminal's own palette only, as Rich's tables give them.
_DARK_256 = _DARK._replace(
    ground="#121212",
    text="#eeeeee",
    fills=("#005f87", "#5f5f00", "#005f00", "#5f005f", "#5f00af", "#005f5f"),
    pointer="#87afff",
    on_pointer="#000000",
    hover="#5f87d7",
    selection="#005fd7",
    muted="#9e9e9e",
    split="#ffaf5f",
    special="#ffd787",
    gap=("#ffd7d7", "#870000"),
    dim=("#87afd7", "#afaf87", "#87af87", "#af87af", "#af87d7", "#87afaf"),
    selected=("#005fd7", "#5f5f87", "#005faf", "#5f5fd7", "#5f00ff", "#005fff"),
)
_LIGHT_256 = _LIGHT._replace(
    text="#121212",
    fills=("#afd7ff", "#ffd7af", "#d7ffd7", "#ffd7ff", "#d7d7ff", "#d7ffff"),
    pointer="#005faf",
    hover="#87afff",
    selection="#87afd7",
    muted="#767676",
    split="#af0000",
    special="#870087",
    gap=("#870000", "#ffafaf"),
    dim=("#5f87af", "#af875f", "#5faf5f", "#af5faf", "#8787d7", "#5fafaf"),
    selected=("#5fafff", "#d7af87", "#87d7af", "#d7afd7", "#afafff", "#87d7d7"),
)
_BLACK, _GREY, _SILVER, _WHITE = "#000000", "#555555", "#aaaaaa", "#ffffff"
# What these sixteen look like is the terminal's choice: "#aa5500" is brown in one and bright yellow
# in another, and bold black may be grey. The texts on them can be read in all.
_DARK_16 = _Colours(
    ground=_BLACK,
    text=_WHITE,
    fills=("#00aaaa", "#aa5500", "#0000aa", "#aa00aa", _GREY, "#00aa00"),
    ink=(_BLACK, _BLACK, _WHITE, _WHITE, _WHITE, _BLACK),
    dim=(_BLACK, _BLACK, _SILVER, _SILVER, _SILVER, _BLACK),
    selected=("#55ffff", "#ff5555", _WHITE, "#ff55ff", _SILVER, "#55ff55"),
    selected_ink=(_BLACK,) * N_HUES,
    pointer=_WHITE,
    on_pointer=_BLACK,
    hover="#aa0000",
    selection=_SILVER,
    muted=_SILVER,
    split=None,
    special=None,
    gap=(_BLACK, "#ff5555"),
    cursor=(_BLACK, "#ffff55"),
)
_LIGHT_16 = _Colours(
    ground=_WHITE,
    text=_BLACK,
    fills=("#55ffff", "#ffff55", "#0000aa", "#aa00aa", _SILVER, "#55ff55"),
    ink=(_BLACK, _BLACK, _WHITE, _WHITE, _BLACK, _BLACK),
    dim=(_GREY, _GREY, _SILVER, _SILVER, _GREY, _GREY),
    selected=("#00aaaa", "#aa5500", _GREY, "#ff55ff", _BLACK, "#00aa00"),
    selected_ink=(_BLACK, _BLACK, _WHITE, _BLACK, _WHITE, _BLACK),
    pointer=_BLACK,
    on_pointer=_WHITE,
    hover="#ff5555",
    selection=_SILVER,
    muted=_GREY,
    split=None,
    special=None,
    gap=(_WHITE, "#aa0000"),
    cursor=(_WHITE, "#aa0000"),
)


def token_palette(dark: bool, color_system: str | None, no_color: bool) -> TokenPalette:
    """Choose the palette for a theme and a terminal.

    Args:
        dark: Whether the theme is dark.
        color_system: Rich's name of what the terminal can do: "truecolor", "256", "standard",
            "windows" or None.
        no_color: Whether the user asked for no colour.
    """
    if no_color or color_system is None:
        return _without_colour()
    if color_system in SIXTEEN:
        return _with_colour(_DARK_16 if dark else _LIGHT_16)
    if color_system == "256":
        return _with_colour(_DARK_256 if dark else _LIGHT_256)
    return _with_colour(_DARK if dark else _LIGHT)


def _with_colour(colours: _Colours) -> TokenPalette:
    fills = colours.fills
    ink = colours.ink or (colours.text,) * N_HUES
    dim = colours.dim or tuple(_mix(fill, colours.text, _DIM_SHARE) for fill in fills)
    selected = colours.selected or tuple(
        _mix(fill, colours.selection, _TINT_SHARE) for fill in fills
    )
    selection = Style(bgcolor=_mix(colours.ground, colours.selection, _TINT_SHARE))
    if colours.ink:
        selection = _on(_BLACK, colours.selection) + Style(bold=False)
    return TokenPalette(
        base=_on(colours.text, colours.ground),
        hues=tuple(map(_on, ink, fills)),
        dim=tuple(Style(color=colour) for colour in dim),
        split=(_overlay(colours.split) + Style(underline=True),) * N_HUES,
        selected=tuple(
            _on(ink, fill) + Style(bold=False if ink else None)
            for ink, fill in zip(colours.selected_ink or (None,) * N_HUES, selected, strict=True)
        ),
        selected_base=selection,
        special=_overlay(colours.special) + Style(italic=True),
        pending=_on(colours.muted, colours.ground),
        gap=_on(*colours.gap) + Style(underline=True),
        hover=_on(colours.text, colours.hover) + Style(underline=True),
        pin=_on(colours.on_pointer, colours.pointer) + Style(bold=True),
        selection=selection,
        cursor=_on(*(colours.cursor or (colours.ground, colours.text))) + Style(bold=True),
        blurred_cursor=Style(reverse=True) if colours.ink else Style(underline=True, bold=True),
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
        split=(reverse + bold + under,) * N_HUES,
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


def _overlay(colour: str | None) -> Style:
    return Style(underline=True) if colour is None else Style(color=colour, bold=True)


def _on(text: str | None, fill: str) -> Style:
    return Style(color=text, bgcolor=fill)


def _mix(colour: str, other: str, share: float) -> str:
    """Mix two colours; `share` is how much of the other there is, 0 to 1."""
    first, second = Color.parse(colour).triplet, Color.parse(other).triplet
    assert first is not None and second is not None
    return blend_rgb(first, second, share).hex


def palette_of(app: App[Any]) -> TokenPalette:
    """Choose the palette for an app's theme and for what its terminal can show."""
    colours = "truecolor" if app.is_headless else app.console.color_system
    return token_palette(app.current_theme.dark, colours, app.no_color)


@runtime_checkable
class TakesPalette(Protocol):
    """A widget that draws tokens."""

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        ...
