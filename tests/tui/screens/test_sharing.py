"""What is on the screen goes to files, and a session comes back from one."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

import tokviz
from tests.tui.waiting import WAIT, settle, until
from tokviz.live import chunking
from tokviz.live.document import LiveDocument
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.file_dialog import FileDialog, PathField
from tokviz.tui.run import _session
from tokviz.tui.screens import choosing
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.tokens import files
from tokviz.workspace.session import Opened, Session
from tokviz.workspace.session_file import SavedSession, read_session, to_bytes


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


async def show(pilot: Pilot[None], screen_id: str) -> None:
    await pilot.app.run_action(f"app.show_screen('{screen_id}')")
    await until(pilot, lambda: shown(pilot) == screen_id)
    await settle(pilot)


def shown(pilot: Pilot[None]) -> str:
    screen = pilot.app.screen
    return screen.SCREEN_ID if isinstance(screen, TokvizScreen) and screen.is_ready else ""


async def write(pilot: Pilot[None], keys: tuple[str, ...], path: Path) -> str:
    """Press keys that open a dialog for a file, and name one; give what is written."""
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(pilot.app.screen, FileDialog))
    await name(pilot, path)
    await until(pilot, path.exists)
    await settle(pilot)
    return path.read_text()


async def name(pilot: Pilot[None], path: Path) -> None:
    pilot.app.screen.query_one(Input).value = str(path)
    await settle(pilot)
    await pilot.press("enter")
    await settle(pilot)


async def test_every_screen_goes_to_a_file_and_all_of_it_to_a_session(tmp_path: Path) -> None:
    session = Session(Opened("hello <world> 世界"), tokviz.load("gpt2"), remember=False)
    app = TokvizApp(session)
    export = ("ctrl+l", "e")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "&lt;world&gt;" not in await write(pilot, export, tmp_path / "tokens.md")
        await show(pilot, "compare")
        await until(pilot, lambda: all(other.lane for other in session.others))
        page = await write(pilot, export, tmp_path / "compare.html")
        assert "gpt2, o200k_base" in page and "differs" in page
        await show(pilot, "chat")
        assert "in the loss" in await write(pilot, export, tmp_path / "mask.svg")
        await show(pilot, "replay")
        await until(pilot, lambda: app.screen.state.opened is not None)
        await app.run_action("export_animation", app.screen)
        await until(pilot, lambda: isinstance(app.screen, FileDialog))
        await name(pilot, tmp_path / "moving.svg")
        await until(pilot, (tmp_path / "moving.svg").exists)
        await pilot.press("right", "right")
        await settle(pilot)
        assert "# text after merge 1 " in await write(pilot, export, tmp_path / "merge.txt")
        await write(pilot, ("ctrl+l", "k"), tmp_path / "all.tokviz.json")

        await pilot.press("ctrl+l", "k")
        await until(pilot, lambda: isinstance(app.screen, FileDialog))
        assert app.screen.query_one(PathField).value == "all.tokviz.json", "offered again"
        await pilot.press("escape")
        kept = read_session(tmp_path / "all.tokviz.json")
        assert (kept.text, kept.screen) == ("hello <world> 世界", "replay")
        assert (kept.merge, kept.replayed) == (1, "gpt2")
        assert kept.tokenizers == ("gpt2", *(other.source for other in session.others))


def test_a_session_can_be_what_the_app_begins_with(tmp_path: Path) -> None:
    path = tmp_path / "theirs.tokviz.json"
    kept = SavedSession("their text", parse_specials=False, tokenizers=("gpt2", "nobody's"))
    path.write_bytes(to_bytes(kept))
    session = _session(str(path), None, None, True, None, "", "")
    assert (session.live.text, session.tokenizer.name) == ("their text", "gpt2")
    assert not session.live.parse_specials
    assert session.notes[-1].startswith("The tokenizer nobody's is not here")


@pytest.mark.parametrize("late", ["tokenizer", "special tokens", "file"])
async def test_what_was_asked_for_before_a_session_does_not_come_after_it(
    late: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, go_on = tmp_path / "theirs.tokviz.json", Event()
    path.write_bytes(to_bytes(SavedSession("their text", tokenizers=("gpt2",))))
    (tmp_path / "late.txt").write_text("late")
    place, name = {
        "tokenizer": (choosing, "load"),
        "special tokens": (LiveDocument, "prepare_reading"),
        "file": (files, "read_text"),
    }[late]
    do = getattr(place, name)

    def slowly(*arguments: Any) -> Any:
        assert go_on.wait(WAIT)
        return do(*arguments)

    monkeypatch.setattr(place, name, slowly)
    session = Session(Opened("my text"), tokviz.load("gpt2"), remember=False)
    app = TokvizApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        if late == "file":
            app.screen.files.open_path(tmp_path / "late.txt")  # type: ignore[attr-defined]
        else:
            await pilot.press("f6" if late == "special tokens" else "ctrl+right_square_bracket")
        app.session_files.open_file(path)
        await until(pilot, lambda: session.live.text == "their text")
        go_on.set()
        await settle(pilot)
        assert (session.live.text, session.tokenizer.name) == ("their text", "gpt2")
        assert session.live.parse_specials


async def test_letters_do_not_wait_for_the_text_of_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, go_on, n_prepared = tmp_path / "theirs.tokviz.json", Event(), []
    path.write_bytes(to_bytes(SavedSession(theirs := "their text " * 50_000)))
    prepare = chunking.Chunker.prepare

    def slowly(*arguments: Any) -> Any:
        n_prepared.append(1)
        assert go_on.wait(WAIT)
        return prepare(*arguments)

    session = Session(Opened("my text"), tokviz.load("gpt2"), remember=False)
    app = TokvizApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        monkeypatch.setattr(chunking.Chunker, "prepare", slowly)
        app.session_files.open_file(path)
        await until(pilot, lambda: n_prepared)
        await pilot.press("x")
        assert session.live.text == "xmy text"
        go_on.set()
        await until(pilot, lambda: session.live.text == theirs)
        await settle(pilot)
        assert n_prepared == [1], "what is prepared outlives the letter"
        await pilot.press("ctrl+z")
        await until(pilot, lambda: session.live.text == "xmy text")


async def test_a_session_is_opened_where_text_is_opened_and_undo_takes_it_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "theirs.tokviz.json"
    said = [{"role": "user", "content": "hi"}]
    kept = SavedSession("their text", 6, "chat", panel="splits", conversation=said)
    kept = kept._replace(split_patterns=("qwen2", "gpt2"), split_regex="x+", template="chatml")
    path.write_bytes(to_bytes(kept))
    session = Session(Opened("my text"), tokviz.load("gpt2"), remember=False)
    app = TokvizApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, FileDialog))
        await name(pilot, path)
        await until(pilot, lambda: shown(pilot) == "chat")
        await settle(pilot)
        chat = app.screen.saved()  # type: ignore[attr-defined]
        assert (chat["conversation"], chat["template"]) == (said, "chatml")
        await show(pilot, "tokens")
        assert (session.live.text, app.screen.saved()) == ("their text", {"cursor": 6})  # type: ignore[attr-defined]
        assert (session.settings.panel, session.settings.split_patterns) == (
            "splits",
            ("qwen2", "gpt2"),
        )
        await pilot.press("ctrl+z")
        await settle(pilot)
        assert session.live.text == "my text"
