from __future__ import annotations

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.drivers.headless_driver import HeadlessDriver
from textual.renderables.background_screen import BackgroundScreen
from textual.theme import Theme

import tokviz
from tests.tui.test_palette import SIXTEEN, as_seen
from tests.tui.test_palette import contrast as ink_contrast
from tokviz.session import Opened, Session
from tokviz.settings import Settings
from tokviz.tui.app import TokvizApp
from tokviz.tui.themes import DARK, LIGHT, THEMES, THEMES_16


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


@pytest.mark.parametrize("terminal", SIXTEEN)
@pytest.mark.parametrize("theme", THEMES_16, ids=lambda theme: theme.name)
def test_everything_can_be_seen_in_every_terminal_of_16_colours(
    theme: Theme, terminal: str
) -> None:
    colors = {**theme.to_color_system().generate(), **theme.variables}

    def seen(front: str, ground: str, veil: str = "transparent") -> float:
        style = Style(color=colors[front], bgcolor=colors[ground])
        (drawn,) = BackgroundScreen.process_segments([Segment("x", style)], Color.parse(veil))
        assert drawn.style is not None
        style = drawn.style
        return ink_contrast(as_seen(style, SIXTEEN[terminal], bold_is_bright=False))

    for ground in ("background", "surface", "panel", "block-cursor-background"):
        assert seen("foreground", ground) >= 3.5, ground
    names = "text-muted text-disabled text-accent text-warning text-error text-success error"
    for name in names.split():
        assert seen(name, "background") >= 3.5, name
        assert seen(name, "background", colors["veil"]) >= 3.5, f"{name} behind a dialog"
    for name in ("border", "border-quiet", "scrollbar", "block-cursor-background", "panel"):
        assert seen(name, "background") >= 1.2, name
    assert seen("text-muted", "block-cursor-background") >= 2.5


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


@pytest.mark.parametrize(("term", "themes"), [("xterm", THEMES_16), ("xterm-256color", THEMES)])
def test_the_app_takes_the_themes_that_its_terminal_can_show(
    term: str, themes: tuple[Theme, Theme], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLORTERM", raising=False)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    session = Session(Opened(""), tokviz.load("gpt2"), remember=False)
    app = TokvizApp(session, driver_class=HeadlessDriver)
    assert [app.get_theme(theme.name) for theme in themes] == list(themes)
    drawn_elsewhere = TokvizApp(session)
    assert [drawn_elsewhere.get_theme(theme.name) for theme in THEMES] == list(THEMES)
