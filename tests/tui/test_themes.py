from __future__ import annotations

import pytest
from textual.app import App
from textual.color import Color
from textual.theme import Theme

from tokviz.settings import Settings
from tokviz.tui.themes import DARK, LIGHT, THEMES


def contrast(first: Color, second: Color) -> float:
    """WCAG 2 contrast ratio."""

    def luminance(color: Color) -> float:
        def linear(part: float) -> float:
            return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

        red, green, blue = (linear(part / 255) for part in color.rgb)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("ground", ["background", "surface", "panel"])
def test_text_is_readable_on_every_surface(theme: Theme, ground: str) -> None:
    colors = {**theme.to_color_system().generate(), **theme.variables}
    behind = Color.parse(colors[ground])
    assert contrast(Color.parse(colors["foreground"]), behind) >= 12
    for name in ("text-muted", "text-accent", "error", "warning", "success"):
        assert contrast(Color.parse(colors[name]), behind) >= 4.5, name


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_highlighted_row_and_cursor_are_readable(theme: Theme) -> None:
    colors = theme.variables
    for prefix in ("block-cursor", "input-cursor"):
        front = Color.parse(colors[f"{prefix}-foreground"])
        assert contrast(front, Color.parse(colors[f"{prefix}-background"])) >= 4.5


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_borders_are_visible_but_quieter_than_text(theme: Theme) -> None:
    border = Color.parse(theme.variables["border-quiet"])
    assert theme.background is not None
    assert 1.4 <= contrast(border, Color.parse(theme.background)) <= 3


def test_background_and_accent_are_those_of_the_token_palettes() -> None:
    dark, light = THEMES
    assert (dark.foreground, dark.background, dark.accent) == ("#f0f2f5", "#111318", "#8ab4f8")
    assert (light.foreground, light.background, light.accent) == ("#16181d", "#ffffff", "#1f5fbf")
    assert (dark.dark, light.dark) == (True, False)


async def test_app_accepts_both_and_the_default_setting_names_one() -> None:
    app: App[None] = App()
    for theme in THEMES:
        app.register_theme(theme)
    async with app.run_test():
        app.theme = LIGHT
        app.theme = DARK
    assert Settings().theme == DARK
