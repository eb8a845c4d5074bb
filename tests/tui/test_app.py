"""What the screens ask of the app."""

from __future__ import annotations

import pytest
from textual._compositor import LayoutUpdate

import tokviz
from tokviz.opening import Opening
from tokviz.settings import Settings
from tokviz.tui.app import TokvizApp
from tokviz.tui.screens.train import TrainScreen


@pytest.fixture(autouse=True)
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrainScreen, "_compile", lambda self: None)


def make_app(screen: str = "tokens", request: object = None) -> TokvizApp:
    opening = Opening("hello world", tokviz.load("gpt2"), screen=screen, request=request)
    return TokvizApp(opening, Settings(), remember=False)


async def test_the_app_begins_on_the_screen_that_was_asked_for() -> None:
    app = make_app("train", request="something")
    async with app.run_test() as pilot:
        await pilot.pause()
        assert isinstance(app.screen, TrainScreen)
        assert app.opening.take_request() == "something"
        assert app.opening.take_request() is None


async def test_other_screens_change_text_and_tokenizer_of_the_tokens_screen() -> None:
    app = make_app("train")
    async with app.run_test() as pilot:
        await pilot.pause()
        app.use_tokenizer("o200k_base", show=False)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, TrainScreen)
        assert app.tokenizer.name == "o200k_base"
        app.show_text("another text")
        await pilot.pause()
        assert app.current_mode == "tokens"
        assert app.tokens_screen.live.text == "another text"
        app.tokens_screen.editor.undo()
        assert app.tokens_screen.live.text == "hello world"


async def test_after_a_stop_the_whole_screen_is_painted_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        updates: list[object] = []
        monkeypatch.setattr(app, "_display", lambda screen, update: updates.append(update))
        app.app_resume_signal.publish(app)
        await pilot.pause()
        whole = [update for update in updates if isinstance(update, LayoutUpdate)]
        assert [update.region.size for update in whole] == [app.size]
