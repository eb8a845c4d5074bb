"""Themes in files of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import tokviz
from tokviz.tui.app import TokvizApp
from tokviz.tui.themes import DARK, LIGHT, THEMES, fellow, load_user_themes, theme
from tokviz.workspace.session import Opened, Session
from tokviz.workspace.settings import Settings, config_path

Write = Callable[[str, str], None]


@pytest.fixture
def write() -> Iterator[Write]:
    """Write a theme file; forget the themes afterwards."""
    before = dict(THEMES)

    def write_file(name: str, text: str) -> None:
        folder = config_path().parent / "themes"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.toml").write_text(text)

    yield write_file
    THEMES.clear()
    THEMES.update(before)


def test_a_theme_has_the_colors_of_its_file_and_otherwise_those_of_its_base(write: Write) -> None:
    fills = ["#3b2f2f", "#2f3b2f", "#2f2f3b", "#3b3b2f", "#2f3b3b", "#3b2f3b"]
    write("earth-light", f'based_on = "{LIGHT}"\naccent = "#102030"\n[tokens]\nfills = {fills}\n')
    assert load_user_themes() == []
    look, base = THEMES["earth-light"], THEMES[LIGHT]
    assert (look.signs, look.tokens.fills) == (("#102030", *base.signs[1:]), tuple(fills))
    assert (look.dark, look.gap, look.tokens.text) == (False, base.gap, base.tokens.text)
    assert theme("earth-light").primary == "#102030"


def test_dark_and_light_are_a_pair_if_there_are_both(write: Write) -> None:
    write("earth-dark", 'accent = "#d7ba7d"')
    load_user_themes()
    assert fellow("earth-dark") == LIGHT
    write("earth-light", f'based_on = "{LIGHT}"')
    load_user_themes()
    assert (fellow("earth-dark"), fellow("earth-light")) == ("earth-light", "earth-dark")


@pytest.mark.parametrize(
    ("text", "line", "key", "reason"),
    [
        ('based_on = "tokviz"', 1, "based_on", "did you mean 'tokviz-dark'?"),
        ('help = "Mine."\nacent = "#000000"', 2, "acent", "there is no such key"),
        ('accent = "blue"', 1, "accent", 'must be a color such as "#8ab4f8"'),
        ("[tokens]\nfills = ['#000000']", 2, "fills", "must be a list of 6 colors"),
        ("tokens = 1", 1, "tokens", "must be a table"),
        ("accent = ", 1, "broken", "is not valid TOML"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(
    write: Write, text: str, line: int, key: str, reason: str
) -> None:
    write("broken", text)
    (error,) = load_user_themes()
    assert (error.path.name, error.line, error.key) == ("broken.toml", line, key)
    assert reason in str(error)
    assert "broken" not in THEMES


def test_a_theme_of_tokviz_cannot_be_replaced(write: Write) -> None:
    write(DARK, 'accent = "#d7ba7d"')
    (error,) = load_user_themes()
    assert "a theme of tokviz has this name" in str(error)
    assert THEMES[DARK].signs[0] != "#d7ba7d"


async def test_the_app_starts_in_a_theme_of_the_user(write: Write) -> None:
    write("earth-dark", 'accent = "#d7ba7d"')
    settings = Settings(theme="earth-dark")
    app = TokvizApp(Session(Opened("Hi"), tokviz.load("gpt2"), settings))
    async with app.run_test():
        assert app.theme == "earth-dark"
        assert app.current_theme.primary == "#d7ba7d"
