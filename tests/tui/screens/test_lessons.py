from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

import tokviz
from tests.tui.waiting import settle, until
from tokviz.guide.lessons import lessons
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.pick import PickDialog
from tokviz.tui.screens.replay import ReplayScreen
from tokviz.tui.screens.train import TrainScreen
from tokviz.workspace.session import Opened, Session, ShowScreen
from tokviz.workspace.settings import Settings


def shown(app: TokvizApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def in_order(text: str) -> str:
    """Leave out frames and line breaks."""
    return " ".join(word for word in text.split() if word not in "│╭╮╰╯")


async def choose(pilot: Pilot[None], number: int) -> None:
    await pilot.press("shift+f9")
    await until(pilot, lambda: isinstance(pilot.app.screen, PickDialog))
    await settle(pilot)
    await pilot.press(*["down"] * number, "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ReplayScreen))
    name = list(lessons())[number]
    screen = pilot.app.screen
    await until(pilot, lambda: screen.state.lesson == lessons()[name] and screen.state.frame)
    await settle(pilot)


async def test_every_lesson_leads_by_key_from_train_to_the_textbooks_last_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    settings, first = Settings(tokenizer="gpt2"), ShowScreen("train")
    session = Session(Opened("own"), tokviz.load("gpt2"), settings, remember=False, first=first)
    app = TokvizApp(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, TrainScreen) and app.screen.is_ready)
        await settle(pilot)
        assert "Shift+F9 lessons" in shown(app).splitlines()[-1]
        await pilot.resize_terminal(120, 40)
        for number, lesson in enumerate(lessons().values()):
            await choose(pilot, number)
            assert lesson.looks[0].say[:60] in in_order(shown(app))
            assert app.screen.state.text == lesson.text
            await pilot.press("end")
            await settle(pilot)
            words = in_order(shown(app))
            assert "Same as the textbook ✓" in words
            assert lesson.say(len(lesson.merges))[:40] in words
            rungs = app.screen.corpus.tokens.rows
            assert sum(row[0].role == "heading" for row in rungs) == 1
            assert app.screen.region.width == app.screen.query_one("#texts").region.width

            await pilot.resize_terminal(80, 24)
            await settle(pilot)
            assert lesson.say(len(lesson.merges))[-20:] in in_order(shown(app)), "all its words"
            assert f"▸ {len(lesson.merges)}" in in_order(shown(app)), "and the last rung"
            await pilot.resize_terminal(120, 40)

        await pilot.resize_terminal(40, 12)
        for view in ("texts", "merges", "candidates"):
            app.screen.views.show_view(view)
            await settle(pilot)
            assert view.capitalize() in shown(app), "a view that is chosen is seen"

        # Something else takes the place of the lesson, and of its text.
        app.screen.opening.open_at_hand()
        await until(pilot, lambda: app.screen.state.lesson is None)
        await settle(pilot)
        assert app.screen.state.text == "own"
        assert "Same as the textbook" not in shown(app)
