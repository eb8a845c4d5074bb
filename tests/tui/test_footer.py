"""The key bar shows what can be done where the keyboard is; help never drops out of it."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

import tokviz
from tests.tui.waiting import settle
from tokviz.tui.app import TokvizApp
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.widgets.id_grid import IdGrid
from tokviz.workspace.session import Opened, Session, ShowScreen


def make_app(screen: str = "tokens") -> TokvizApp:
    first = ShowScreen(screen)
    session = Session(Opened("hello world"), tokviz.load("gpt2"), remember=False, first=first)
    return TokvizApp(session)


async def keys_of(app: TokvizApp, pilot: Pilot[None]) -> str:
    await settle(pilot)
    assert isinstance(app.screen, TokvizScreen)
    return app.screen.keys.render_line(0).text


@pytest.mark.parametrize("screen", [kind.id for kind in SCREENS])
async def test_help_and_the_tokenizers_key_never_drop_out(screen: str) -> None:
    app = make_app(screen)
    async with app.run_test(size=(120, 40)) as pilot:
        for size in ((120, 40), (80, 24), (40, 12), (24, 9)):
            await pilot.resize_terminal(*size)
            shown = await keys_of(app, pilot)
            assert "F1 help" in shown, (size, shown)
            assert ("^T tokenizer" in shown) == (screen != "replay")


@pytest.mark.parametrize("screen", [kind.id for kind in SCREENS])
async def test_the_way_to_other_screens_is_in_one_of_the_two_bars(screen: str) -> None:
    app = make_app(screen)
    async with app.run_test(size=(120, 40)) as pilot:
        for size in ((120, 40), (80, 24), (40, 12)):
            await pilot.resize_terminal(*size)
            shown = await keys_of(app, pilot)
            assert isinstance(app.screen, TokvizScreen)
            title = app.screen.title_bar.render_line(0).text
            assert "^L screens" in shown or "more ▾" in title, (size, shown, title)


async def test_the_keys_of_the_focused_part_come_first_and_go_with_the_focus() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        assert "^O open" in await keys_of(app, pilot)
        assert "Grid / list" not in await keys_of(app, pilot)
        await pilot.press("f5")
        shown = await keys_of(app, pilot)
        assert shown.index("l Grid / list") < shown.index("F5 panel")
        await pilot.press("f5")
        assert "Grid / list" not in await keys_of(app, pilot)


async def test_a_word_of_the_focused_part_is_clicked() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await keys_of(app, pilot)
        await pilot.press("f5")
        shown = await keys_of(app, pilot)
        screen = app.screen
        assert isinstance(screen, TokvizScreen)
        grid = screen.query_one(IdGrid)

        def drawn() -> list[str]:
            return [strip.text for strip in grid.render_lines(grid.region.reset_offset)]

        before = drawn()
        await pilot.click(screen.keys, offset=(shown.index("Grid / list"), 0))
        await pilot.pause()
        assert drawn() != before
