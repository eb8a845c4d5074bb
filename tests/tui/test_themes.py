from __future__ import annotations

import pytest
from rich.color import ColorType
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.css.stylesheet import Stylesheet
from textual.design import ColorSystem
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot
from textual.renderables.background_screen import BackgroundScreen
from textual.theme import Theme

import tokviz
from tests.tui.test_palette import SIXTEEN, as_seen
from tests.tui.test_palette import contrast as ink_contrast
from tests.tui.waiting import settle, until
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.help import HelpDialog
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.themes import DARK, OWN, THEMES, fellow, theme
from tokviz.workspace.session import Opened, Session
from tokviz.workspace.settings import Settings

WITH_SHADES = [theme(name) for name in THEMES if not name.startswith(OWN)]
OF_TERMINALS = [theme(name) for name in THEMES if name.startswith(OWN)]


def contrast(first: Color, second: Color) -> float:
    """WCAG 2 contrast ratio."""

    def luminance(color: Color) -> float:
        def linear(part: float) -> float:
            return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

        red, green, blue = (linear(part / 255) for part in color.rgb)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", WITH_SHADES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("ground", ["background", "surface", "panel"])
def test_text_is_readable_on_every_surface(theme: Theme, ground: str) -> None:
    colors = {**theme.to_color_system().generate(), **theme.variables}
    behind = Color.parse(colors[ground])
    assert contrast(Color.parse(colors["foreground"]), behind) >= 12
    least = 7 if theme.name.startswith("contrast") else 4.5
    for name in ("text-muted", "text-accent", "error", "warning", "success"):
        assert contrast(Color.parse(colors[name]), behind) >= least, name


@pytest.mark.parametrize("theme", WITH_SHADES, ids=lambda theme: theme.name)
def test_highlighted_row_and_cursor_are_readable(theme: Theme) -> None:
    colors = theme.variables
    for prefix in ("block-cursor", "input-cursor"):
        front = Color.parse(colors[f"{prefix}-foreground"])
        assert contrast(front, Color.parse(colors[f"{prefix}-background"])) >= 4.5


@pytest.mark.parametrize("terminal", SIXTEEN)
@pytest.mark.parametrize("theme", OF_TERMINALS, ids=lambda theme: theme.name)
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


@pytest.mark.parametrize("theme", WITH_SHADES, ids=lambda theme: theme.name)
def test_borders_are_visible_but_quieter_than_text(theme: Theme) -> None:
    border = Color.parse(theme.variables["border-quiet"])
    assert theme.background is not None
    most = 6 if theme.name.startswith("contrast") else 3
    assert 1.4 <= contrast(border, Color.parse(theme.background)) <= most


def test_every_theme_has_a_fellow_of_the_other_kind() -> None:
    for name, look in THEMES.items():
        assert fellow(fellow(name)) == name and THEMES[fellow(name)].dark is not look.dark
        assert theme(name).dark is look.dark
    assert Settings().theme == DARK


@pytest.mark.parametrize(("term", "name"), [("xterm", "terminal-dark"), ("xterm-256color", DARK)])
def test_the_app_takes_the_colours_that_its_terminal_can_show(
    term: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLORTERM", raising=False)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    session = Session(Opened(""), tokviz.load("gpt2"), remember=False)
    app = TokvizApp(session, driver_class=HeadlessDriver)
    assert app.current_theme.variables == theme(name).variables
    assert TokvizApp(session).current_theme == theme(DARK)


async def test_a_theme_is_chosen_from_the_list_and_the_terminals_own_is_said_in_its_words() -> None:
    settings = Settings(theme="of a newer version")
    app = TokvizApp(Session(Opened("ab cd"), tokviz.load("gpt2"), settings, remember=False))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert app.theme == DARK
        await pilot.press("ctrl+l", "c", *"terminal-l", "enter")
        await settle(pilot)
        assert app.theme == app.session.settings.theme == "terminal-light"
        drawn = [line for line in app.screen._compositor.render_strips() if "ab" in line.text]
        filtered = drawn[0].apply_filter(app.get_line_filters()[-1], Color.parse("black"))
        colours = {style.bgcolor.type for _, style, _ in filtered if style and style.bgcolor}
        assert colours == {ColorType.STANDARD}
        await pilot.press("f10")
        await settle(pilot)
        assert app.theme == "terminal-dark"


async def styles_of_every_screen(pilot: Pilot[None]) -> dict[str, dict[str, str]]:
    """Go to every screen, and give the rules of everything on it by its place."""
    app, found = pilot.app, dict[str, dict[str, str]]()
    assert isinstance(app, TokvizApp)
    for kind in SCREENS:
        app.action_show_screen(kind.id)
        await until(pilot, lambda: app.screen.is_ready)
        await settle(pilot)
        for node in app.screen.walk_children(with_self=True):
            place = " ".join([kind.id, *(each.css_identifier for each in node.css_path_nodes)])
            found[place] = {name: str(rule) for name, rule in node.styles.base.get_rules().items()}
    return found


async def test_every_screen_has_the_new_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(name: str) -> TokvizApp:
        settings = Settings(theme=name)
        return TokvizApp(Session(Opened("ab"), tokviz.load("gpt2"), settings, remember=False))

    async with make(fellow(DARK)).run_test(size=(80, 24)) as pilot:
        expected = await styles_of_every_screen(pilot)

    def noted(sheet: Stylesheet) -> None:
        read.append(sheet)
        parse(sheet)

    app, parse, read = make(DARK), Stylesheet.parse, list[Stylesheet]()
    async with app.run_test(size=(80, 24)) as pilot:
        before = await styles_of_every_screen(pilot)
        await pilot.press("f1")
        await settle(pilot)
        monkeypatch.setattr(Stylesheet, "parse", noted)
        app.action_toggle_theme()
        await settle(pilot)
        assert isinstance(app.screen, HelpDialog)
        (box,) = app.screen.children
        assert box.styles.background == Color.parse(app.get_css_variables()["surface"])
        await pilot.press("escape")
        assert await styles_of_every_screen(pilot) == expected != before


def test_the_colours_of_one_theme_only_are_worked_out_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worked_out: list[ColorSystem] = []
    generate = ColorSystem.generate

    def noted(system: ColorSystem) -> dict[str, str]:
        worked_out.append(system)
        return generate(system)

    monkeypatch.setattr(ColorSystem, "generate", noted)
    TokvizApp(Session(Opened(""), tokviz.load("gpt2"), remember=False))
    assert len(worked_out) == 1
