from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import tokviz
from tests.tui.waiting import settle, until
from tokviz.guide.lessons import first_steps
from tokviz.tui import app as app_module
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.help import HelpDialog
from tokviz.tui.dialogs.pick import PickDialog
from tokviz.tui.textual_private.resize_events import screen_strips
from tokviz.tui.tour import tour_rows
from tokviz.workspace.session import Opened, Request, RunAction, Session, sample_text
from tokviz.workspace.settings import load_settings


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(app_module, "IMPORT_SECONDS", 0.01)
    yield


def newcomer(first: Request | None = None) -> TokvizApp:
    opened = Opened(sample_text(), is_sample=True)
    return TokvizApp(Session(opened, tokviz.load("gpt2"), load_settings()[0], first=first))


def line(app: TokvizApp) -> str:
    views = app.screen_stack[0].query(".tour")
    return " ".join(span.text for view in views for row in view.rows for span in row)


def says(app: TokvizApp, words: str) -> bool:
    return words in line(app)


async def test_the_mouse_goes_through_the_steps_while_the_keyboard_stays_in_the_text() -> None:
    app = newcomer()
    async with app.run_test(size=(80, 24)) as pilot:
        for number in range(1, 9):
            await until(pilot, partial(says, app, f"First steps {number}/8"))
            await settle(pilot)
            lines = [strip.text for strip in screen_strips(app.screen)]
            y = next(y for y, line in enumerate(lines) if "· skip · end (" in line)
            await pilot.click(offset=(lines[y].index("skip"), y))
        await until(pilot, lambda: not app.screen.query(".tour"))
        await pilot.press("x")
        assert app.session.live.text.startswith("x")


async def test_a_low_terminal_keeps_its_rows_for_the_text() -> None:
    app = newcomer()
    async with app.run_test(size=(30, 10)) as pilot:
        await until(pilot, lambda: app.tour)
        await settle(pilot)
        assert not app.screen.query(".tour")
        await pilot.resize_terminal(80, 24)
        await until(pilot, partial(says, app, "First steps 1/8"))
        await pilot.resize_terminal(30, 10)
        await until(pilot, lambda: not app.screen.query(".tour"))


@pytest.mark.parametrize("size", [(30, 15), (30, 16), (80, 15), (20, 15), (16, 15)], ids=str)
async def test_the_first_steps_leave_room_for_text(size: tuple[int, int]) -> None:
    app = newcomer()
    async with app.run_test(size=size) as pilot:
        for number in range(1, 9):
            if size[0] >= 30:
                await until(pilot, partial(says, app, f"First steps {number}/8"))
            else:
                await until(pilot, lambda: app.tour and app.screen.is_ready)
                assert app.tour is not None
                app.tour.look()
            await settle(pilot)
            assert app.screen.query_one("#text").content_region.height >= 2, number
            app.action_skip_step()


async def test_a_conversation_that_is_opened_at_the_start_comes_without_first_steps() -> None:
    app = newcomer(first=RunAction("chat", "toggle_panels"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.current_mode == "chat" and app.screen.is_ready)
        await settle(pilot)
        assert app.tour is None


async def test_the_line_comes_with_the_screen() -> None:
    app = newcomer()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, partial(says, app, "First steps 1/8"))
        assert app.tour is not None
        app.tour._timer.pause()  # it was not too early for the first look
        for screen_id in ("chat", "tokens", "chat"):
            app.action_show_screen(screen_id)
            await until(pilot, partial(says, app, "First steps 1/8"))
            assert len(app.screen.query(".tour")) == 1


async def test_the_first_steps_go_on_when_each_is_done_and_end_for_ever() -> None:
    app = newcomer()
    keys = [
        ["a"],
        ["f2", "f2"],
        ["shift+f1"],
        ["escape", "alt+s"],
        ["ctrl+l", "2"],
        ["ctrl+l", "4"],
        ["shift+f9", "enter"],
        ["ctrl+l", "3"],
    ]
    async with app.run_test(size=(80, 24)) as pilot:
        for number, pressed in enumerate(keys, 1):
            await until(pilot, partial(says, app, f"First steps {number}/8"))
            strip, title = app.screen_stack[0].query_one(".tour"), app.screen_stack[0].title_bar
            assert strip.region.y == title.region.bottom, "it covers nothing"
            assert len(strip.rows) == strip.size.height <= 3
            for key in pressed:
                await pilot.press(key)
                await settle(pilot)
        await until(pilot, lambda: not app.session.settings.tour and not line(app))
    assert len(keys) == len(first_steps())
    assert not load_settings()[0].tour

    again = newcomer()
    async with again.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: again.screen.is_ready)
        await settle(pilot)
        assert not line(again), "it is gone for ever"
        # It can be begun again: from the help; a key skips and ends.
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(again.screen, HelpDialog))
        await pilot.press("t")
        await until(pilot, lambda: "1/8" in line(again))
        for choice, left in (((), "2/8"), (("down",), "")):
            await pilot.press("ctrl+l", "f")
            await until(pilot, lambda: isinstance(again.screen, PickDialog))
            await pilot.press(*choice, "enter")
            await until(pilot, partial(says, again, left))
        await until(pilot, lambda: not line(again))
        # Ended and started again before the line has been removed.
        again.action_first_steps()
        again.action_end_tour()
        again.action_first_steps()
        await settle(pilot)
        assert line(again).count("1/8") == 1
        await again.screen.remove_children()
        assert again.tour is not None
        again.tour.look()  # as at the end of the app, while there is still a screen


def test_on_another_screen_than_its_own_a_step_takes_one_line() -> None:
    for step in filter(lambda step: step.screen, first_steps()):
        (row,) = tour_rows(step, 1, 8, "chat", 78)
        assert f"Go to the {step.screen.title()} screen" in "".join(span.text for span in row)


async def test_who_opens_a_file_or_is_not_remembered_is_left_alone(tmp_path: Path) -> None:
    opened = Opened(sample_text(), is_sample=True)
    for session in (
        Session(Opened("mine"), tokviz.load("gpt2")),
        Session(opened, tokviz.load("gpt2"), remember=False),
    ):
        app = TokvizApp(session)
        async with app.run_test() as pilot:
            await settle(pilot)
            assert not line(app)
