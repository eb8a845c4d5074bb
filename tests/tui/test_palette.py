from __future__ import annotations

from itertools import combinations

import pytest
from rich._palettes import EIGHT_BIT_PALETTE, STANDARD_PALETTE
from rich.color import Color, ColorSystem
from rich.style import Style

from tokviz.tui.palette import N_HUES, token_palette

SYSTEMS = {
    "truecolor": ColorSystem.TRUECOLOR,
    "256": ColorSystem.EIGHT_BIT,
    "standard": ColorSystem.STANDARD,
}
COLOURED = [(dark, name) for dark in (True, False) for name in SYSTEMS]


def luminance(color: Color) -> float:
    """Relative luminance, WCAG 2.1."""
    channels = [value / 255 for value in color.get_truecolor()]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(style: Style) -> float:
    assert style.color and style.bgcolor
    lighter, darker = sorted((luminance(style.color), luminance(style.bgcolor)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def fill_numbers(styles: tuple[Style, ...], system: ColorSystem) -> list[object]:
    """What the terminal is told: the colours after rounding to what it can show."""
    return [style.bgcolor.downgrade(system) for style in styles if style.bgcolor]


def attributes(style: Style) -> tuple[bool | None, ...]:
    return tuple(map(bool, (style.bold, style.italic, style.underline, style.reverse)))


@pytest.mark.parametrize(("dark", "least"), [(True, 8.7), (False, 13.0)])
def test_text_on_every_fill_is_easy_to_read(dark, least):
    palette = token_palette(dark, "truecolor", False)
    assert min(map(contrast, palette.hues)) >= least


@pytest.mark.parametrize(("dark", "system"), COLOURED)
def test_every_text_can_be_read(dark, system):
    palette = token_palette(dark, system, False)
    for style in (*palette.hues, palette.base, palette.pin, palette.gap):
        assert contrast(style) >= 4.5
    for hue in range(N_HUES):
        assert contrast(palette.hues[hue] + palette.dim[hue]) >= 1.8
        assert contrast(palette.hues[hue] + palette.selected[hue]) >= 3.5


@pytest.mark.parametrize(("dark", "system"), COLOURED)
def test_all_fills_differ_after_the_terminal_rounded_them(dark, system):
    palette = token_palette(dark, system, False)
    for fills in (palette.hues, palette.selected):
        numbers = fill_numbers((*fills, palette.base), SYSTEMS[system])
        assert len(set(numbers)) == N_HUES + 1


@pytest.mark.parametrize("dark", [True, False])
def test_the_colours_of_small_palettes_are_not_rounded(dark):
    for name, table in (("256", EIGHT_BIT_PALETTE), ("standard", STANDARD_PALETTE)):
        for style in token_palette(dark, name, False).hues:
            assert style.bgcolor is not None
            number = style.bgcolor.downgrade(SYSTEMS[name]).number
            assert number is not None
            assert style.bgcolor.triplet == table[number]


@pytest.mark.parametrize("dark", [True, False])
def test_without_colour_any_two_hues_differ_in_attributes(dark):
    palette = token_palette(dark, "truecolor", True)
    assert all(attributes(a) != attributes(b) for a, b in combinations(palette.hues, 2))
    assert all(style.color is None and style.bgcolor is None for style in palette.hues)


def test_without_colour_consecutive_hues_differ_in_underline():
    hues = token_palette(True, None, False).hues
    assert all(hues[i].underline != hues[(i + 1) % N_HUES].underline for i in range(N_HUES))


def test_without_colour_a_selection_keeps_the_borders():
    palette = token_palette(True, None, False)
    selected = [h + s for h, s in zip(palette.hues, palette.selected, strict=True)]
    assert all(attributes(a) != attributes(b) for a, b in combinations(selected, 2))


KINDS = [(dark, system, system is None) for dark in (True, False) for system in (*SYSTEMS, None)]


@pytest.mark.parametrize(("dark", "system", "no_color"), KINDS)
def test_no_meaning_is_in_colour_alone(dark, system, no_color):
    palette = token_palette(dark, system, no_color)
    for hue in palette.hues:
        for overlay in (palette.special, palette.pin, palette.hover, *palette.split):
            assert attributes(hue + overlay) != attributes(hue)
    assert palette.gap.underline or palette.gap.reverse
