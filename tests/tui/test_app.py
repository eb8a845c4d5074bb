"""What the screens ask of the app."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from textual import events
from textual._compositor import LayoutUpdate
from textual.app import App
from textual.color import Color

import tokviz
from tests.tui.mouse import click
from tests.tui.waiting import settle, until
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.action_palette import ActionPalette
from tokviz.tui.dialogs.help import HelpDialog
from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.tui.screens.tokens import screen as tokens_screen
from tokviz.tui.screens.train import TrainScreen
from tokviz.tui.screens.vocabulary.screen import VocabularyScreen
from tokviz.tui.screens.vocabulary.searching import SearchField
from tokviz.tui.session_files import SETTINGS_SECONDS
from tokviz.workspace.session import Opened, Session, ShowScreen, ShowText, UseTokenizer
from tokviz.workspace.settings import Settings, config_path, load_settings


def make_app(screen: str = "tokens") -> TokvizApp:
    first = ShowScreen(screen)
    opened = Opened("hello world")
    return TokvizApp(Session(opened, tokviz.load("gpt2"), remember=False, first=first))


async def test_the_app_begins_on_the_screen_that_was_asked_for() -> None:
    app = make_app("train")
    async with app.run_test() as pilot:
        await pilot.pause()
        assert isinstance(app.screen, TrainScreen)


async def test_other_screens_change_text_and_tokenizer_of_the_tokens_screen() -> None:
    app = make_app("train")
    async with app.run_test() as pilot:
        await pilot.pause()
        session = app.session
        session.use_tokenizer(tokviz.load("o200k_base"), "o200k_base")
        assert isinstance(app.screen, TrainScreen)
        session.ask(ShowText("another text"))
        await pilot.pause()
        assert app.current_mode == "tokens"
        assert session.live.text == "another text"
        await pilot.press("ctrl+z")
        assert session.live.text == "hello world"
        await pilot.press("alt+r")
        await pilot.pause()
        assert isinstance(app.screen, TrainScreen)
        session.ask(UseTokenizer("gpt2"))
        await settle(pilot)
        assert app.current_mode == "tokens"
        assert (session.tokenizer.name, session.settings.tokenizer) == ("gpt2", "gpt2")


async def test_a_screen_that_is_made_later_has_the_colours_of_the_theme() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await pilot.press("f10")
        await settle(pilot)
        app.action_show_screen("train")
        await settle(pilot)
        ground = Color.parse(app.current_theme.background or "")
        assert not app.current_theme.dark
        assert app.screen.styles.background == ground


async def test_screens_are_imported_before_they_are_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    imported: set[str] = set()
    monkeypatch.setattr("tokviz.tui.app.IMPORT_SECONDS", 0.01)
    monkeypatch.setattr("tokviz.tui.app.screen_class", imported.add)
    app = make_app()
    app.switcher.created["tokens"] = TokensScreen(app.session)
    async with app.run_test() as pilot:
        await until(pilot, lambda: imported >= {kind.id for kind in SCREENS})


async def test_the_command_palette_is_opened_by_its_key_and_does_what_is_chosen() -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+p")
        assert isinstance(app.screen, ActionPalette)
        await pilot.press(*"train")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, TrainScreen))
        await pilot.press("ctrl+p", "escape")
        assert isinstance(app.screen, TrainScreen)


@pytest.mark.parametrize(("seconds", "left"), [(3600.0, "hello"), (0.0, "")])
async def test_an_escape_right_behind_that_of_a_dialog_is_dropped(
    seconds: float, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokviz.tui.input_queue.ESCAPE_SECONDS", seconds)
    app = make_app("vocabulary")
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, VocabularyScreen))
        await settle(pilot)
        await pilot.press(*"hello", "f1")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, VocabularyScreen))
        await pilot.press("escape")
        assert app.screen.query_one(SearchField).value == left


@pytest.mark.parametrize(("seconds", "is_closed"), [(3600.0, False), (0.0, True)])
async def test_the_second_click_of_two_does_not_reach_the_dialog_that_the_first_one_opened(
    seconds: float, is_closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(App, "CLICK_CHAIN_TIME_THRESHOLD", seconds)
    app = make_app()
    async with app.run_test(size=(120, 60)) as pilot:
        await settle(pilot)
        keys = app.screen.query_one("#keys")
        place = (keys.region.x + keys.render_line(0).text.index("^T") + 1, keys.region.y)
        await click(pilot, place)
        await until(pilot, lambda: isinstance(app.screen, TokenizerPicker))
        await settle(pilot)
        await click(pilot, place)
        await settle(pilot)
        assert isinstance(app.screen, TokensScreen) == is_closed


async def test_after_a_stop_the_whole_screen_is_painted_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        updates: list[object] = []
        with monkeypatch.context() as seen:
            seen.setattr(TokvizApp, "is_headless", False)
            seen.setattr(app, "_display", lambda screen, update: updates.append(update))
            app.app_resume_signal.publish(app)
            await pilot.pause()
        whole = [update for update in updates if isinstance(update, LayoutUpdate)]
        assert [update.region.size for update in whole] == [app.size]


async def test_full_collections_are_rare_and_threads_share_a_heap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = list[bool]()
    monkeypatch.setattr(tokens_screen, "share_one_heap", lambda: shared.append(True))
    async with make_app().run_test() as pilot:
        await settle(pilot)
        assert shared, "memory that one thread frees is reused by the others"
        assert gc.get_threshold()[2] >= 100


async def test_input_that_still_waits_at_the_end_is_dropped() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        app.input.pending.append(events.Key("a", "a"))
        app.exit()
        await app.on_screen_ready()
        assert app.input.pending
    assert not app.screen_stack
    await app.on_screen_ready()


async def test_no_screen_is_gone_to_while_the_app_ends() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        app.action_show_screen("train")
        await settle(pilot)
        app._running = False
        app._screen_stacks["tokens"].clear()
        app.switcher.show("tokens")
        assert app.current_mode != "tokens"


async def test_a_choice_is_written_when_it_is_made() -> None:
    app = TokvizApp(Session(Opened("x"), tokviz.load("gpt2")))
    async with app.run_test() as pilot:
        await pilot.press("f10")
        await until(pilot, lambda: load_settings()[0].theme == app.theme)
        assert app.theme != Settings().theme


async def test_choices_that_cannot_be_written_are_told_once(tmp_path: Path) -> None:
    config_path().parent.parent.mkdir(parents=True, exist_ok=True)
    config_path().parent.write_text("no folder")
    app = TokvizApp(Session(Opened("x"), tokviz.load("gpt2")))
    async with app.run_test() as pilot:
        for _ in range(2):
            await pilot.press("f10")
            app.session.change_settings(wrap=not app.session.settings.wrap)
            await pilot.pause(SETTINGS_SECONDS)
            await settle(pilot)
        (notice,) = app._notifications
        assert notice.message.startswith("Your settings are not saved: ")
