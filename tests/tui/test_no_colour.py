"""With NO_COLOR nothing is lost: what colour says elsewhere is in a shade or a shape."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.segment import Segment

import tokviz
from tests.tui.waiting import settle, until
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.guide import GuideDialog
from tokviz.tui.screens.registry import SCREENS
from tokviz.workspace.session import Opened, Session, ShowScreen, sample_text
from tokviz.workspace.settings import Settings

PLACES = [(kind.id, "ids") for kind in SCREENS] + [("tokens", "splits"), ("tokens", "mask")]


@pytest.fixture(autouse=True)
def _no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def make_app(screen: str = "tokens", panel: str = "ids") -> TokvizApp:
    opened, settings = Opened(sample_text(), is_sample=True), Settings(panel=panel, tour=False)
    first = ShowScreen(screen)
    return TokvizApp(Session(opened, tokviz.load("gpt2"), settings, remember=False, first=first))


def segments(app: TokvizApp) -> Iterator[Segment]:
    for strip in app.screen._compositor.render_strips():
        yield from strip


@pytest.mark.parametrize(("screen", "panel"), PLACES)
async def test_all_that_a_screen_shows_has_a_shade_which_steps_back_below_a_dialog(
    screen: str, panel: str
) -> None:
    app = make_app(screen, panel)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        bare = {text for text, style, _ in segments(app) if style is None or style.color is None}
        assert [text for text in bare if text.strip()] == []


async def test_keys_and_links_differ_in_shape_from_the_words_around_them() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)

        def styles(word: str) -> list[tuple[bool, bool]]:
            return [
                (bool(style.bold), bool(style.underline))
                for text, style, _ in segments(app)
                if style is not None and text.strip() == word
            ]

        assert styles("^P") == [(True, False)]
        await pilot.press("f1", "g")
        await until(pilot, lambda: isinstance(app.screen, GuideDialog) and styles("Compare"))
        await settle(pilot)
        assert (True, False) in styles("Esc")
        assert styles("Compare") == [(False, True)]
        assert styles("IDs") == [(True, False)]


async def test_words_to_click_on_within_a_sentence_are_underlined() -> None:
    app = make_app(panel="mask")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+l", "f")
        await settle(pilot)
        underlined = {
            text.strip()
            for text, style, _ in segments(app)
            if style is not None and style.underline
        }
        assert {"skip", "end", "See an example"} <= underlined
