from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from rich._palettes import EIGHT_BIT_PALETTE, STANDARD_PALETTE
from rich.color import Color, ColorSystem
from rich.style import Style

from tokviz.tui.palette import N_HUES, TokenPalette, token_palette
from tokviz.tui.themes import DARK, LIGHT, OWN, THEMES
from tokviz.tui.widgets.editor.row_painter import (
    BLURRED_CURSOR,
    CURSOR,
    HOVERED,
    NO_TOKEN,
    PENDING,
    PINNED,
    SELECTED,
    SPECIAL,
    SPLIT,
    STAND_IN,
    LookStyles,
)
from tokviz.tui.widgets.mask import base as mask

SYSTEMS = {
    "truecolor": ColorSystem.TRUECOLOR,
    "256": ColorSystem.EIGHT_BIT,
    "standard": ColorSystem.STANDARD,
}
COLOURED = [(theme, name) for theme in THEMES for name in SYSTEMS]


def luminance(color: Color) -> float:
    """Relative luminance, WCAG 2.1."""
    channels = [value / 255 for value in color.get_truecolor()]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(style: Style) -> float:
    assert style.color and style.bgcolor
    lighter, darker = sorted((luminance(style.color), luminance(style.bgcolor)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


SIXTEEN = {
    "VGA": "000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa"
    " 555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff",
    "xterm": "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5"
    " 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff",
    "Windows": "0c0c0c c50f1f 13a10e c19c00 0037da 881798 3a96dd cccccc"
    " 767676 e74856 16c60c f9f1a5 3b78ff b4009e 61d6d6 f2f2f2",
    "GNOME": "171421 c01c28 26a269 a2734c 12488b a347ba 2aa1b3 d0cfcc"
    " 5e5c64 f66151 33da7a e9ad0c 2a7bde c061cb 33c7de ffffff",
    "Tango": "000000 cc0000 4e9a06 c4a000 3465a4 75507b 06989a d3d7cf"
    " 555753 ef2929 8ae234 fce94f 729fcf ad7fa8 34e2e2 eeeeec",
    "macOS": "000000 990000 00a600 999900 0000b2 b200b2 00a6b2 bfbfbf"
    " 666666 e50000 00d900 e5e500 0000ff e500e5 00e5e5 e5e5e5",
}
"""The sixteen colours of terminals, as they come."""


def as_seen(style: Style, colours: str, *, bold_is_bright: bool) -> Style:
    """What a terminal with these sixteen colours makes of a style."""
    seen = []
    for place, colour in enumerate((style.color, style.bgcolor)):
        assert colour is not None
        number = colour.downgrade(ColorSystem.STANDARD).number
        assert number is not None
        if bold_is_bright and style.bold and place == 0 and number < 8:
            number += 8
        seen.append("#" + colours.split()[number])
    return Style(color=seen[0], bgcolor=seen[1])


def looks_of(palette: TokenPalette) -> dict[object, Style]:
    """Every way in which text is drawn, but the dim glyphs."""
    ground = palette.base
    marks = (0, SPLIT, SPECIAL, HOVERED, PINNED, SELECTED, CURSOR, BLURRED_CURSOR)
    token = LookStyles(palette, ground)
    masked = mask.MaskStyles(palette, ground)
    looks: dict[object, Style] = {
        (hue, one, two): token[hue | one | two]
        for hue in (*range(N_HUES), PENDING, NO_TOKEN)
        for one in marks
        for two in marks
    }
    looks |= {
        ("mask", *bits): masked[sum(bits)]
        for n in range(3)
        for bits in combinations((mask.LEARNED, mask.SPECIAL, mask.CUT, mask.PINNED), n)
    }
    looks["gap"] = palette.gap
    return looks


@pytest.mark.parametrize("bold_is_bright", [False, True])
@pytest.mark.parametrize("terminal", SIXTEEN)
@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_every_mark_can_be_read_in_every_terminal_of_16_colours(theme, terminal, bold_is_bright):
    palette = token_palette(theme, "standard", False)
    looks = looks_of(palette)
    ratios = {
        name: contrast(as_seen(style, SIXTEEN[terminal], bold_is_bright=bold_is_bright))
        for name, style in looks.items()
    }
    assert {name: ratio for name, ratio in ratios.items() if ratio < 3} == {}
    token = LookStyles(palette, palette.base)
    dim = [token[hue | STAND_IN | bits] for hue in range(N_HUES) for bits in (0, SELECTED)]
    for style in dim:
        assert contrast(as_seen(style, SIXTEEN[terminal], bold_is_bright=bold_is_bright)) >= 1.8


def fill_numbers(styles: tuple[Style, ...], system: ColorSystem) -> list[object]:
    """What the terminal is told: the colours after rounding to what it can show."""
    return [style.bgcolor.downgrade(system) for style in styles if style.bgcolor]


def attributes(style: Style) -> tuple[bool | None, ...]:
    return tuple(map(bool, (style.bold, style.italic, style.underline, style.reverse)))


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_on_a_token_can_be_read(theme):
    """WCAG 2.2: 4.5 to 1, and 7 to 1 with high contrast; the terminal's own colours vary anyway."""
    palette = token_palette(theme, "truecolor", False)
    least = 7 if theme.startswith("contrast") else 4.0 if theme.startswith(OWN) else 4.5
    ratios = {name: contrast(style) for name, style in looks_of(palette).items()}
    assert {name: ratio for name, ratio in ratios.items() if ratio < least} == {}


def views(color: Color) -> Iterator[Any]:
    """What a colour looks like, in CIELAB, to each of the eyes."""
    parts = np.array(color.get_truecolor()) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    for eye in EYES.values():
        xyz = TO_XYZ @ np.clip(np.array(eye) @ linear, 0, 1) / TO_XYZ.sum(1)
        x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
        yield np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
EYES = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""Of linear RGB: Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of
Color Vision Deficiency" (2009), severity 1.0."""


@pytest.mark.parametrize("theme", THEMES)
def test_any_two_hues_can_be_told_apart(theme):
    """Neighbours may have any two. A difference of 2.3 is just noticeable (Sharma, 2003)."""
    hues = [style.bgcolor for style in token_palette(theme, "truecolor", False).hues]
    seen = list(zip(*map(views, hues), strict=True))  # by eye, then by hue
    least = [min(np.linalg.norm(a - b) for a, b in combinations(eye, 2)) for eye in seen]
    assert least[0] >= 12
    if theme.startswith(("okabe-ito", "blue-orange")):
        assert min(least) >= 17, dict(zip(EYES, least, strict=True))


@pytest.mark.parametrize(("theme", "system"), COLOURED)
def test_every_text_can_be_read_where_colours_are_few(theme, system):
    palette = token_palette(theme, system, False)
    for style in (*palette.hues, palette.base, palette.pin, palette.gap):
        assert contrast(style) >= (4.0 if system == "standard" or theme.startswith(OWN) else 4.5)
    for hue in range(N_HUES):
        assert contrast(palette.hues[hue] + palette.dim[hue]) >= 1.8
        assert contrast(palette.hues[hue] + palette.selected[hue]) >= 3.5


@pytest.mark.parametrize(("theme", "system"), COLOURED)
def test_all_fills_differ_after_the_terminal_rounded_them(theme, system):
    palette = token_palette(theme, system, False)
    for fills in (palette.hues, palette.selected):
        numbers = fill_numbers((*fills, palette.base), SYSTEMS[system])
        assert len(set(numbers)) == N_HUES + 1


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_the_colours_of_small_palettes_are_not_rounded(theme):
    for name, table in (("256", EIGHT_BIT_PALETTE), ("standard", STANDARD_PALETTE)):
        for style in token_palette(theme, name, False).hues:
            assert style.bgcolor is not None
            number = style.bgcolor.downgrade(SYSTEMS[name]).number
            assert number is not None
            assert style.bgcolor.triplet == table[number]


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_without_colour_any_two_hues_differ_in_attributes(theme):
    palette = token_palette(theme, "truecolor", True)
    assert all(attributes(a) != attributes(b) for a, b in combinations(palette.hues, 2))
    assert all(style.color is None and style.bgcolor is None for style in palette.hues)


def test_without_colour_consecutive_hues_differ_in_underline():
    hues = token_palette("tokviz-dark", None, False).hues
    assert all(hues[i].underline != hues[(i + 1) % N_HUES].underline for i in range(N_HUES))


def test_without_colour_a_selection_keeps_the_borders():
    palette = token_palette("tokviz-dark", None, False)
    selected = [h + s for h, s in zip(palette.hues, palette.selected, strict=True)]
    assert all(attributes(a) != attributes(b) for a, b in combinations(selected, 2))


def test_without_colour_a_split_character_is_seen_not_to_be_the_token_at_hand():
    palette = token_palette("tokviz-dark", "truecolor", True)
    for hue, split in zip(palette.hues, palette.split, strict=True):
        at_hand = ((hue + overlay).dim for overlay in (palette.pin, palette.hover, palette.cursor))
        assert (hue + split).dim and not any(at_hand)


KINDS = [(theme, system, system is None) for theme in THEMES for system in (*SYSTEMS, None)]


@pytest.mark.parametrize(("theme", "system", "no_color"), KINDS)
def test_no_meaning_is_in_colour_alone(theme, system, no_color):
    palette = token_palette(theme, system, no_color)
    for hue in palette.hues:
        for overlay in (palette.special, palette.pin, palette.hover, *palette.split):
            assert attributes(hue + overlay) != attributes(hue)
    assert palette.gap.underline or palette.gap.reverse
