"""An error that nobody expected is shown and written down; the app goes on."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from textual import message_pump
from textual.content import Content

import tokviz
from tests.tui.waiting import settle, until
from tokviz.storage.folders import state_folder
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.action_palette import offers_here
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.tui.textual_private.handler_errors import invoke_reporting_errors
from tokviz.tui.widgets.editor import TokenEditor
from tokviz.workspace.error_log import FILE_NAME, ErrorLog
from tokviz.workspace.session import Opened, Session


@pytest.fixture(autouse=True)
def _outlived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_pump, "invoke", invoke_reporting_errors)


def make_app(remember: bool = False) -> TokvizApp:
    session = Session(Opened("hello"), tokviz.load("gpt2"), remember=remember)
    return TokvizApp(session, errors=ErrorLog())


def raising(words: str) -> object:
    def fails(*arguments: object) -> None:
        raise ValueError(words)

    return fails


def titles(app: TokvizApp) -> set[str]:
    return {offer.title for offer in offers_here(app)}


@pytest.mark.parametrize("words", ["[no] theme", "'['", "[/]", r"a\[b]", "[31m red"])
async def test_an_error_of_an_action_is_shown_and_the_app_goes_on(
    words: str, copied: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TokvizApp, "action_toggle_theme", raising(words))
    app = make_app()
    async with app.run_test(size=(120, 30)) as pilot:
        assert "Copy the last unexpected error" not in titles(app)
        await pilot.press("f10")
        await until(pilot, lambda: len(app._notifications))
        assert "Copy the last unexpected error" in titles(app)
        [notice] = app._notifications
        said = Content.from_markup(notice.message).plain
        assert f"ValueError: {words} (tokviz/tui/" in said
        assert "test_errors.py:" in said
        await pilot.press("x")
        assert app.session.live.text == "xhello"
        app.action_copy_error()
        await settle(pilot)
        assert copied[0].startswith("Traceback")
        assert words in copied[0]
    log = state_folder() / FILE_NAME
    assert f"ValueError: {words}" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


async def test_a_widget_whose_handler_raised_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        monkeypatch.setattr(TokenEditor, "_on_resize", raising("no"))
        await pilot.resize_terminal(70, 20)
        await until(pilot, lambda: app.errors and app.errors.last_error)
        await pilot.press("x")
        assert app.session.live.text == "xhello"


async def test_an_error_in_a_thread_is_shown_too() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        assert isinstance(app.screen, TokensScreen)
        app.screen.files.in_thread("work", lambda task: 1 // 0)
        await until(pilot, lambda: app.errors and app.errors.last_error)
        assert app.errors is not None and app.errors.last_error is not None
        assert "ZeroDivisionError" in app.errors.last_error.summary
        await pilot.press("x")
        assert app.session.live.text == "xhello"


async def test_the_second_error_of_a_place_ends_the_app_and_the_text_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(TokvizApp, "action_toggle_theme", raising("no theme"))
    app = make_app(remember=True)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("x", "f10")
        await settle(pilot)
        assert not app._exit
        await pilot.press("y", "f10")
        await asyncio.wait_for(until(pilot, lambda: app._exit), 20)
    assert app.return_code == 1
    kept = [file.read_bytes() for file in state_folder().rglob("autosave*")]
    assert any(text.endswith(b"xyhello") for text in kept)


async def test_an_error_before_the_first_frame_ends_the_app(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(TokensScreen, "started", raising("no start"))
    app = make_app()
    with pytest.raises(ValueError, match="no start"):
        async with app.run_test() as pilot:
            await until(pilot, lambda: app._exception)
    said = capsys.readouterr().err
    assert "ValueError: no start" in said
    assert "arguments =" not in said, "no variable is drawn, which may be a long text"


async def test_an_error_on_the_way_out_changes_no_exit_code() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        app.exit(return_code=129)
        app.handle_error(ValueError("taken apart"))
    assert app.return_code == 129
    assert "taken apart" in (state_folder() / FILE_NAME).read_text("utf-8")


def test_a_long_log_begins_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tokviz.workspace.error_log.MAX_BYTES", 100)
    errors = ErrorLog()
    noted = [errors.note(ValueError(f"number {index}")) for index in range(9)]
    assert [one.times for one in noted] == list(range(1, 10))
    assert noted[0].file is not None
    assert noted[0].file.stat().st_size < 400
    assert "number 8" in noted[0].file.read_text()


@pytest.mark.skipif(os.name == "nt", reason="has other pipes")
def test_nobody_waits_for_a_log_that_is_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokviz.workspace.error_log.state_folder", lambda: tmp_path)
    os.mkfifo(tmp_path / FILE_NAME)
    noted = ErrorLog().note(ValueError("no"))
    assert (noted.file, noted.times) == (None, 1)


async def test_nothing_goes_wrong_while_the_app_ends() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        for kind in SCREENS:
            app.action_show_screen(kind.id)
            await until(pilot, lambda: app.screen.is_ready)
            await settle(pilot)
        app.exit()
    log = state_folder() / FILE_NAME
    assert not log.exists(), log.read_text()
