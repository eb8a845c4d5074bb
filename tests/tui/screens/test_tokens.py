from __future__ import annotations

import contextlib
import json
import os
import stat
import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from rich.cells import cell_len
from textual.events import Key, MouseScrollDown, Paste, Resize
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widgets import Input
from textual.widgets.text_area import Selection

import tokviz
from tests.tui.waiting import WAIT, settle, until
from tokviz.errors import OutputFileError
from tokviz.formats.registry import BUILTIN_TOKENIZERS
from tokviz.live.document import LiveDocument
from tokviz.storage.folders import state_folder
from tokviz.text import bytetext
from tokviz.tui.app import APP_ACTIONS, TokvizApp
from tokviz.tui.dialogs.confirm import ConfirmDialog
from tokviz.tui.dialogs.file_dialog import SaveFileDialog
from tokviz.tui.dialogs.pick import PickDialog
from tokviz.tui.error_notices import ErrorNotices
from tokviz.tui.messages import TokenHovered, TokenPicked
from tokviz.tui.palette import palette_of
from tokviz.tui.screens import choosing, safekeeping
from tokviz.tui.screens.tokens import TokensScreen, files
from tokviz.tui.widgets.id_grid import IdGrid
from tokviz.tui.widgets.splits.panel import SplitsPanel
from tokviz.workspace.error_log import ErrorLog
from tokviz.workspace.session import Opened, Session, ShowText, read_text, sample_text
from tokviz.workspace.settings import Settings

NASTY = (
    b"caf\xe9 \r\nlone\rcr \x1b]52;c;AAAA\x07 \x00 \xe2\x80\xa8 "
    b"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7"
)


ROUNDS = 20
"""Layouts that follow each other for ever would show in so many rounds of an idle app."""


def make_app(text: str = "hello world", *, name: str = "gpt2", **settings: object) -> TokvizApp:
    chosen = Settings(**settings)  # type: ignore[arg-type]
    return TokvizApp(Session(Opened(text), tokviz.load(name), chosen, remember=False))


def screen_of(app: TokvizApp) -> TokensScreen:
    screen = app.screen_stack[0]
    assert isinstance(screen, TokensScreen)
    return screen


def screen_lines(app: TokvizApp) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]


def screen_text(app: TokvizApp) -> str:
    return "\n".join(screen_lines(app))


def notices(app: TokvizApp) -> list[str]:
    return [notice.message for notice in app._notifications]


def assert_exact(screen: TokensScreen) -> None:
    live = screen.live
    assert live.tokenizer is not None
    expected = live.tokenizer.byte_text.encode(live.text, live.parse_specials).tolist()
    assert list(live.ids()) == expected
    assert screen.editor.text == live.text
    assert screen.status.state.tokens == len(expected)
    assert screen.status.state.bytes == bytetext.n_bytes(live.text)


async def test_every_key_is_tokenized_at_once() -> None:
    app = make_app("")
    async with app.run_test() as pilot:
        for key in ["T", "o", "k", "e", "n", "space", "é", "enter", "世", "backspace", "backspace"]:
            await pilot.press(key)
            assert_exact(screen_of(app))
        assert screen_of(app).live.text == "Token é"
        await pilot.press("ctrl+z")
        assert_exact(screen_of(app))


async def test_panels_follow_the_cursor_in_the_same_frame() -> None:
    app = make_app("hello world, and more")
    async with app.run_test() as pilot:
        await settle(pilot)
        screen = screen_of(app)
        for column in (6, 13):
            screen.editor.move_cursor((0, column))
            assert screen.side.pin == screen.editor.token_at_cursor()
            assert column == screen.live.token(screen.side.pin or 0).start + 1


async def test_all_is_known_when_drawing_encodes_the_last_of_the_text() -> None:
    text = "the cat sat on the mat, and so on\n" * 60
    app = make_app(text)
    async with app.run_test(size=(120, 80)) as pilot:
        await settle(pilot)
        screen = screen_of(app)
        assert "%" not in screen.status.text
        assert_exact(screen)


async def test_opening_bytes_and_saving_them_changes_none(tmp_path: Path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes(NASTY)
    app = make_app()
    async with app.run_test() as pilot:
        screen = screen_of(app)
        screen.files.open_path(source)
        await settle(pilot)
        assert screen.session.path == source
        assert_exact(screen)
        assert "1 invalid byte kept" in screen.status.state.notes[0]
        app.session.path = target
        await pilot.press("ctrl+s")
        await settle(pilot)
    assert target.read_bytes() == NASTY


async def test_invalid_bytes_are_counted_as_the_text_is_edited() -> None:
    app = make_app("a\udcffb")
    async with app.run_test() as pilot:
        screen = screen_of(app)
        assert "1 invalid byte kept" in screen.status.state.notes
        await pilot.press("ctrl+a", "c")
        assert screen.status.state.notes == ()
        await pilot.press("ctrl+z")
        assert "1 invalid byte kept" in screen.status.state.notes


async def test_nothing_of_a_hostile_text_reaches_the_terminal_raw() -> None:
    text = bytetext.from_bytes(NASTY) + "\u202e\u200b\u009b31m\U000e0041\x7f"
    app = make_app(text, panel="token")
    async with app.run_test(size=(120, 40)) as pilot:
        for panel in ("ids", "splits", "token"):
            screen_of(app).side.show_panel(panel)
            await settle(pilot)
            shown = "".join(screen_lines(app))
            assert not set(shown) & set("\x1b\x07\x00\x7f\u202e\u200b\u2028\u009b\U000e0041\r")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing.txt", "there is no such file"), ("secret", "permission")],
)
async def test_a_file_that_cannot_be_read_leaves_the_text_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    if name == "secret":
        import builtins

        def refuse(*args: object, **kwargs: object) -> object:
            raise PermissionError

        monkeypatch.setattr("tokviz.storage.files.open", refuse, raising=False)
        assert builtins.open is not refuse
    app = make_app("my words")
    async with app.run_test() as pilot:
        await pilot.press("x")
        screen = screen_of(app)
        screen.files.open_path(tmp_path / name)
        await settle(pilot)
        assert screen.live.text == "xmy words"
        assert any(reason in notice for notice in notices(app))


async def test_unsaved_changes_are_asked_about_before_another_file(tmp_path: Path) -> None:
    app = make_app("my words")
    async with app.run_test() as pilot:
        await pilot.press("x", "ctrl+o")
        assert type(app.screen).__name__ == "ConfirmDialog"
        await pilot.press("escape")
        assert screen_of(app).live.text == "xmy words"
        assert app.screen is screen_of(app)


def hold_saving(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Let saving wait; the events say that it has begun, and that it may go on."""
    began, go_on = threading.Event(), threading.Event()

    def write_late(path: Path, content: bytes, **_: object) -> None:
        began.set()
        go_on.wait(30)
        path.write_bytes(content)

    monkeypatch.setattr(safekeeping, "write_file", write_late)
    return began, go_on


async def test_a_save_that_ends_late_does_not_name_the_text_that_was_opened_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, app = tmp_path / "one.txt", tmp_path / "two.txt", make_app()
    two.write_text("two")
    began, go_on = hold_saving(monkeypatch)
    async with app.run_test() as pilot:
        screen = screen_of(app)
        app.session.path = one
        await pilot.press("ctrl+s")
        await until(pilot, began.is_set)
        screen.files.open_path(two)
        await until(pilot, lambda: screen.live.text == "two")
        go_on.set()
        await settle(pilot)
        assert one.read_text() == "hello world"
        assert app.session.path == two
        assert not app.session.modified


async def test_a_text_replaced_while_it_is_saved_is_not_the_one_that_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, app = tmp_path / "one.txt", make_app()
    began, go_on = hold_saving(monkeypatch)
    async with app.run_test() as pilot:
        screen = screen_of(app)
        app.session.path = path
        await pilot.press("ctrl+s")
        await until(pilot, began.is_set)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: screen.live.text == "")
        go_on.set()
        await settle(pilot)
        assert app.session.path is None
        assert not app.session.modified


async def test_what_is_typed_while_a_file_is_read_is_not_lost_without_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, app = tmp_path / "late.txt", make_app()
    path.write_text("late")
    go_on = threading.Event()

    def read_late(path: Path) -> Opened:
        go_on.wait(30)
        return read_text(path)

    monkeypatch.setattr(files, "read_text", read_late)
    async with app.run_test() as pilot:
        screen = screen_of(app)
        screen.files.open_path(path)
        await pilot.press("x")
        go_on.set()
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert screen.live.text == "xhello world"
        await pilot.press("escape")
        await settle(pilot)
        assert screen.live.text == "xhello world"
        screen.files.open_path(path)
        await settle(pilot)
        assert screen.live.text == "late"


async def test_special_tokens_are_read_as_the_last_of_two_quick_keys_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    goes_on, prepare = threading.Event(), LiveDocument.prepare_reading

    def prepare_slowly(*arguments: Any) -> None:
        goes_on.wait(WAIT)
        prepare(*arguments)

    monkeypatch.setattr(LiveDocument, "prepare_reading", prepare_slowly)
    app = make_app("a<|endoftext|>")
    async with app.run_test() as pilot:
        await pilot.press("f6", "f6", "f6", "f6")
        goes_on.set()
        await settle(pilot)
        assert app.session.live.parse_specials
        await pilot.press("f6")
        await settle(pilot)
        assert not app.session.live.parse_specials


async def test_two_quick_keys_go_two_tokenizers_on(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    names = [builtin.name for builtin in BUILTIN_TOKENIZERS]
    asked, go_on = late_loads(monkeypatch)
    async with app.run_test() as pilot:
        await pilot.press(*["ctrl+right_square_bracket"] * 3)
        await until(pilot, asked.is_set)
        await pilot.press("ctrl+backslash")
        go_on.set()
        await settle(pilot)
        assert app.session.tokenizer.name == names[(names.index("gpt2") + 2) % len(names)]
        await pilot.press("ctrl+backslash")
        await settle(pilot)
        assert app.session.tokenizer.name == names[(names.index("gpt2") + 1) % len(names)]


def late_loads(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Have a tokenizer come once the second event is set; the first tells that it was asked for."""
    asked, go_on = threading.Event(), threading.Event()

    def load_late(source: str) -> tokviz.Tokenizer:
        asked.set()
        go_on.wait(30)
        return tokviz.load(source)

    monkeypatch.setattr(choosing, "load", load_late)
    return asked, go_on


async def test_a_tokenizer_that_comes_late_does_not_take_the_place_of_one_chosen_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = make_app()
    asked, go_on = late_loads(monkeypatch)
    async with app.run_test() as pilot:
        screen = screen_of(app)
        screen.choice.use("o200k_base")
        await until(pilot, asked.is_set)
        screen.choice.pick("r50k_base")
        await until(pilot, lambda: app.screen is screen)
        go_on.set()
        await settle(pilot)
        assert app.session.tokenizer.name == "gpt2"


async def test_special_tokens_read_otherwise_meanwhile_keep_no_tokenizer_from_coming(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = make_app()
    asked, go_on = late_loads(monkeypatch)
    async with app.run_test() as pilot:
        screen = screen_of(app)
        screen.choice.use("o200k_base")
        await until(pilot, asked.is_set)
        await pilot.press("f6")
        await until(pilot, lambda: not screen.live.parse_specials)
        go_on.set()
        await settle(pilot)
        assert app.session.tokenizer.name == "o200k_base"
        assert_exact(screen)


async def test_a_tokenizer_left_and_come_back_to_elsewhere_has_its_tokens_again() -> None:
    text = "some words\n" * 20_000
    app = make_app(text)
    async with app.run_test() as pilot:
        screen = screen_of(app)
        await until(pilot, lambda: screen.status.state.pending_chars == 0)
        own = app.session.tokenizer
        await pilot.press("ctrl+l", "6")
        await settle(pilot)
        assert app.screen is not screen
        app.session.use_tokenizer(tokviz.load("o200k_base"), "o200k_base")
        await settle(pilot)
        app.session.use_tokenizer(own, "gpt2")
        await settle(pilot)
        await pilot.press("ctrl+l", "1")
        await settle(pilot)
        assert app.screen is screen
        assert screen.live.complete
        assert screen.status.state.pending_chars == 0


@pytest.mark.parametrize("open_path", [None, "a.txt"])
async def test_quitting_asks_for_changes_that_are_not_saved(open_path: str | None) -> None:
    app = make_app("my words")
    app.session.path = Path(open_path) if open_path else None
    async with app.run_test() as pilot:
        await pilot.press("x", "ctrl+q")
        assert isinstance(app.screen, ConfirmDialog)
        assert (open_path or "this text") in screen_text(app)
        await pilot.press("ctrl+q", "enter")
        assert isinstance(app.screen, ConfirmDialog), "neither is an answer"
        await pilot.press("escape")
        assert app.screen_stack == [screen_of(app)], "it was asked once"
        await pilot.press("f1", "ctrl+q")
        assert isinstance(app.screen, ConfirmDialog)
        assert app.return_code is None
        await pilot.press("y")
    assert app.return_code == 0
    assert app.session.live.text == "xmy words"


async def test_who_quits_can_save_first_and_stays_where_nothing_was_saved(tmp_path: Path) -> None:
    app, path = make_app("my words"), tmp_path / "a.txt"
    async with app.run_test() as pilot:
        await pilot.press("x", "ctrl+q", "s")
        await until(pilot, lambda: isinstance(app.screen, SaveFileDialog))
        await pilot.press("escape", "y", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, SaveFileDialog))
        app.screen.query_one(Input).value = str(path)
        await pilot.press("enter")
        await until(pilot, lambda: path.exists() and not app.session.modified)
        await settle(pilot)
        assert app.return_code is None, "quitting was cancelled with the dialog"
        app.session.path = tmp_path / "none" / "a.txt"
        await pilot.press("z", "ctrl+q", "s")
        await until(pilot, lambda: any("Not saved" in notice for notice in notices(app)))
        await settle(pilot)
        assert app.return_code is None, "what failed is not saved"
        app.session.path = path
        await pilot.press("ctrl+q", "s")
        await until(pilot, lambda: app.return_code is not None)
    assert app.return_code == 0
    assert path.read_text() == "xyzmy words"


async def test_quitting_saves_to_another_file_where_this_one_has_changed(tmp_path: Path) -> None:
    path, other, app = tmp_path / "a.txt", tmp_path / "b.txt", make_app()
    async with app.run_test() as pilot:
        await opened_and_changed_by_another(pilot, path)
        await pilot.press("escape", "ctrl+q", "s")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SaveFileDialog))
        app.screen.query_one(Input).value = str(other)
        await pilot.press("enter")
        await until(pilot, lambda: app.return_code is not None)
    assert (path.read_text(), other.read_text()) == ("another", "xyzone")


async def test_a_text_is_saved_before_another_one_takes_its_place(tmp_path: Path) -> None:
    app, path = make_app("my words"), tmp_path / "a.txt"
    app.session.path = path
    async with app.run_test() as pilot:
        await pilot.press("x", "ctrl+n", "s")
        await until(pilot, lambda: app.session.live.text == "")
    assert path.read_text() == "xmy words"


async def test_quitting_asks_nothing_where_nothing_would_be_lost(tmp_path: Path) -> None:
    app = make_app("my words")
    async with app.run_test() as pilot:
        app.session.path = tmp_path / "a.txt"
        await pilot.press("ctrl+s")
        await settle(pilot)
        await pilot.press("x", "ctrl+s")
        await settle(pilot)
        assert not app.session.modified
        await pilot.press("y", "z")
        assert app.session.modified
        await pilot.press("ctrl+z")
        assert not app.session.modified, "it is what was saved"
        await pilot.press("ctrl+z")
        assert app.session.modified
        await pilot.press("ctrl+y", "ctrl+q")
    assert app.return_code == 0
    assert (tmp_path / "a.txt").read_text() == "xmy words"


async def test_what_was_typed_just_before_the_end_comes_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    app = TokvizApp(Session(Opened("my words"), tokviz.load("gpt2")))
    async with app.run_test() as pilot:
        await pilot.press("x", "ctrl+q", "y")
    (kept,) = state_folder().glob("autosave-*")
    assert kept.read_text().endswith("\nxmy words")


async def opened_and_changed_by_another(pilot: Pilot[None], path: Path) -> TokensScreen:
    path.write_text("one")
    screen = screen_of(pilot.app)
    screen.files.open_path(path)
    await settle(pilot)
    await pilot.press("x", "ctrl+s")
    await settle(pilot)
    assert path.read_text() == "xone", "its own saving is no change"
    await pilot.press("y", "ctrl+s")
    await settle(pilot)
    assert path.read_text() == "xyone"
    os.utime(path, ns=(0, 0))
    path.write_text("another")
    await pilot.press("z", "ctrl+s")
    await settle(pilot)
    assert isinstance(pilot.app.screen, PickDialog)
    assert path.read_text() == "another"
    return screen


@pytest.mark.parametrize(
    ("keys", "on_disk", "shown"),
    [
        (["escape"], "another", "xyzone"),
        (["down", "enter"], "another", "another"),
        (["down", "down", "enter"], "xyzone", "xyzone"),
    ],
)
async def test_a_file_that_changed_on_disk_is_not_overwritten_unasked(
    tmp_path: Path, keys: list[str], on_disk: str, shown: str
) -> None:
    path, app = tmp_path / "[@click=app.quit]a[b=] \x1b[2J.txt", make_app()
    async with app.run_test() as pilot:
        screen = await opened_and_changed_by_another(pilot, path)
        await pilot.press(*keys)
        await settle(pilot)
        assert app.screen is screen
        assert path.read_text() == on_disk
        assert screen.live.text == shown
        assert app.session.modified == (on_disk != shown)


async def test_a_text_whose_file_changed_on_disk_is_saved_elsewhere(tmp_path: Path) -> None:
    path, app = tmp_path / "a.txt", make_app()
    async with app.run_test() as pilot:
        await opened_and_changed_by_another(pilot, path)
        await pilot.press("enter")
        assert isinstance(app.screen, SaveFileDialog)
        assert path.read_text() == "another"


async def test_a_read_only_file_is_overwritten_only_on_request(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.write_text("one")
    path.chmod(0o444)
    link.symlink_to(path)
    app = TokvizApp(Session(read_text(link), tokviz.load("gpt2"), remember=False))
    async with app.run_test() as pilot:
        await pilot.press("x", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        assert app.screen.dialog_title == "The file is read-only"
        await pilot.press("escape")
        await settle(pilot)
        assert (path.read_text(), app.session.modified) == ("one", True)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        await pilot.press("down", "enter")
        await until(pilot, lambda: not app.session.modified)
    assert path.read_text() == "xone"
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert link.is_symlink()


async def test_a_read_only_file_that_changed_on_disk_can_be_reloaded(tmp_path: Path) -> None:
    path, app = tmp_path / "a.txt", make_app()
    async with app.run_test() as pilot:
        await opened_and_changed_by_another(pilot, path)
        await pilot.press("escape")
        path.chmod(0o444)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        assert app.screen.dialog_title == "The file is read-only and has changed on disk"
        await pilot.press("down", "enter")
        await until(pilot, lambda: screen_of(app).live.text == "another")


async def test_where_a_file_could_not_be_written_is_offered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, content: bytes, **_: object) -> None:
        raise OutputFileError(path, "no room")

    app = make_app()
    async with app.run_test() as pilot:
        monkeypatch.setattr(safekeeping, "write_file", refuse)
        await pilot.press("x", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, SaveFileDialog))
        app.screen.query_one(Input).value = str(tmp_path / "mine.txt")
        await pilot.press("enter")
        await settle(pilot)
        assert any("Not saved" in notice for notice in notices(app))
        monkeypatch.undo()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, SaveFileDialog))
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert (tmp_path / "mine.txt").read_text().startswith("x")


async def test_a_file_that_is_gone_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    app = TokvizApp(Session(read_text(path), tokviz.load("gpt2"), remember=False))
    async with app.run_test() as pilot:
        path.unlink()
        await pilot.press("x", "ctrl+s")
        await settle(pilot)
    assert path.read_text() == "xone"


async def test_what_comes_back_from_another_editor_is_kept_as_it_is_and_said(monkeypatch) -> None:
    monkeypatch.setattr("tokviz.tui.screens.tokens.editing.edited", lambda *given: b"caf\xe9\r\n")
    monkeypatch.setattr(TokvizApp, "suspend", lambda app: contextlib.nullcontext())
    app = make_app("one")
    async with app.run_test() as pilot:
        await pilot.press("ctrl+l", "v")
        await until(pilot, lambda: screen_of(app).live.text == "caf\udce9\r\n")
        assert any("1 byte is not valid UTF-8" in notice for notice in notices(app))
        await pilot.press("ctrl+z")
        assert screen_of(app).live.text == "one"


async def test_a_file_is_compared_with_how_it_was_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    app = TokvizApp(Session(read_text(path), tokviz.load("gpt2"), remember=False))
    async with app.run_test() as pilot:
        path.write_text("another")
        await pilot.press("x", "ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, PickDialog)
    assert path.read_text() == "another"


async def test_the_keyboard_goes_to_the_panel_and_back() -> None:
    app = make_app("my words")
    async with app.run_test(size=(120, 30)) as pilot:
        screen = screen_of(app)
        for panel in ("ids", "splits", "token"):
            screen.side.show_panel(panel)
            await pilot.pause()
            await pilot.press("f5")
            assert screen.panels.has_focus_within
            await pilot.press("f5")
            assert screen.editor.has_focus
        screen.side.show_panel("splits")
        await pilot.press("f5", "ctrl+a", *"[a-z]")
        assert screen.query_one(SplitsPanel).regex == "[a-z]"
        assert screen.live.text == "my words"


async def test_tab_is_a_character_of_the_text() -> None:
    app = make_app("x")
    async with app.run_test() as pilot:
        await pilot.press("tab")
        assert screen_of(app).live.text == "\tx"


@pytest.mark.parametrize("replace", ["new_text", "sample_text"])
async def test_what_is_not_saved_is_asked_about_before_another_text(replace: str) -> None:
    app = make_app("")
    async with app.run_test() as pilot:
        await pilot.press("m", "e")
        await app.run_action(replace, screen_of(app))
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("escape")
        assert screen_of(app).live.text == "me"
        assert screen_of(app).unsaved()
        await app.run_action(replace, screen_of(app))
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        await settle(pilot)
        assert screen_of(app).live.text != "me"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_of_another_text_nothing_is_selected_and_its_beginning_is_seen(
    size: tuple[int, int],
) -> None:
    app = make_app("my words\n" * 60)
    async with app.run_test(size=size) as pilot:
        editor = screen_of(app).editor
        await pilot.press("ctrl+end", "shift+up", "shift+up")
        app.session.ask(ShowText("other words\n" * 60))
        await until(pilot, lambda: screen_of(app).live.text.startswith("other"))
        await settle(pilot)
        assert editor.selection == Selection.cursor((0, 0))
        assert editor.scroll_offset.y == 0


async def test_new_text_can_be_undone() -> None:
    app = make_app("my words")
    async with app.run_test() as pilot:
        await pilot.press("ctrl+n")
        assert screen_of(app).live.text == ""
        await pilot.press("ctrl+z")
        assert screen_of(app).live.text == "my words"


async def test_changing_the_tokenizer_changes_ids_not_text() -> None:
    app = make_app("SolidGoldMagikarp  unbelievably")
    async with app.run_test() as pilot:
        screen = screen_of(app)
        before = list(screen.live.ids())
        screen.choice.use("gpt-4o")
        await settle(pilot)
        assert screen.live.tokenizer is tokviz.load("o200k_base")
        assert list(screen.live.ids()) != before
        assert app.session.settings.tokenizer == "o200k_base"
        assert_exact(screen)


async def test_special_tokens_are_parsed_or_text() -> None:
    app = make_app("a<|endoftext|>b")
    async with app.run_test() as pilot:
        screen = screen_of(app)
        assert 50256 in screen.live.ids()
        await pilot.press("f6")
        assert 50256 not in screen.live.ids()
        assert not screen.status.state.specials_parsed
        assert_exact(screen)


async def test_ids_of_the_selection_are_copied_as_json() -> None:
    app = make_app("hello world again")
    async with app.run_test() as pilot:
        await pilot.press("f4")
        await settle(pilot)
        assert json.loads(app.clipboard) == tokviz.load("gpt2").encode("hello world again")
        await pilot.press("ctrl+home", *["shift+right"] * 7, "f4")
        await settle(pilot)
        assert json.loads(app.clipboard) == tokviz.load("gpt2").encode("hello world")
        await pilot.press("shift+f4")
        await settle(pilot)
        first, second = json.loads(app.clipboard)
        assert (first["text"], second["text"]) == ("hello", " world")
        assert second["byte_span"] == [5, 11]


async def test_the_selected_tokens_are_exported_in_the_form_that_the_name_asks_for(
    tmp_path: Path,
) -> None:
    app = make_app("hello <world> again")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+home", *["shift+right"] * 13)
        for name, holds in (("a.html", "&lt;"), ("b.svg", "</svg>"), ("c.md", "| 0 | 31373 |")):
            await pilot.press("ctrl+l", "e")
            await until(pilot, lambda: isinstance(app.screen, SaveFileDialog))
            app.screen.query_one(Input).value = str(tmp_path / name)
            await settle(pilot)
            await pilot.press("enter")
            await until(pilot, (tmp_path / name).exists)
            await settle(pilot)
            written = (tmp_path / name).read_text()
            assert holds in written
            assert "again" not in written


@pytest.mark.parametrize(
    ("key", "one", "several"),
    [
        ("f4", "1 token id.", "3 token ids."),
        ("shift+f4", "1 token as JSON.", "3 tokens as JSON."),
        ("alt+c", "1 character.", "17 characters."),
    ],
)
async def test_what_was_copied_is_counted_in_good_english(key: str, one: str, several: str) -> None:
    app = make_app("hello world again")
    async with app.run_test() as pilot:
        for keys, count in ((key,), several), (("ctrl+home", "shift+right", key), one):
            await pilot.press(*keys)
            await settle(pilot)
            (said,) = [notice for notice in notices(app) if "Copied" in notice]
            assert f"Copied {count}" in said, "one that copies again asks about the last copy"


async def test_pointing_at_an_id_lights_up_its_text_and_the_other_way_round() -> None:
    app = make_app("hello world again")
    async with app.run_test(size=(120, 30)) as pilot:
        screen = screen_of(app)
        await pilot.pause()
        grid = screen.query_one(IdGrid)
        screen.post_message(TokenHovered(1))
        await pilot.pause()
        assert screen.editor._marks().hover == (5, 11)
        assert grid._hover == 1
        screen.post_message(TokenPicked(2))
        await pilot.pause()
        assert screen.text.selected_range() == (11, 11)
        assert grid.pinned == 2


async def test_a_token_that_an_edit_moves_from_the_pointer_is_lit_up_no_longer() -> None:
    app = make_app("hello world again")
    async with app.run_test(size=(120, 30)) as pilot:
        screen = screen_of(app)
        await settle(pilot)
        grid = screen.query_one(IdGrid)
        await pilot.hover("#text", (9, 1))
        assert (screen.editor._marks().hover, grid._hover) == ((5, 11), 1)
        await pilot.press("ctrl+end", "!")
        assert (screen.editor._marks().hover, grid._hover) == ((5, 11), 1), "it is where it was"
        await pilot.press("ctrl+home", "o", "n", "e", "space")
        assert (screen.editor._marks().hover, grid._hover) == ((0, 0), None)
        await pilot.hover("#text", (8, 1))
        assert (screen.editor._marks().hover, grid._hover) == ((3, 9), 1)
        screen.choice.use("o200k_base")
        await settle(pilot)
        marked = screen.editor._marks().hover
        assert (
            marked == (0, 0) or app.session.tokenizer.decode([screen.live.token(1).id]) == "hello"
        )


async def test_next_occurrence_goes_round_the_token() -> None:
    app = make_app("the cat the dog the")
    async with app.run_test() as pilot:
        screen = screen_of(app)
        await pilot.press("right", "right", "right", "right", "right", "right", "right", "right")
        screen.text.editor.go_to_token(2)
        await pilot.press("f3")
        assert screen.text.selected_range() == (15, 15)
        await pilot.press("ctrl+l", "b")
        assert screen.text.selected_range() == (7, 7)


async def test_find_goes_to_tokens_by_id_and_replaces_them() -> None:
    app = make_app("the cat the dog the #262")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = screen_of(app)
        assert screen.live.token(2).id == 262  # " the"
        await pilot.press("ctrl+f", *"#262")
        await settle(pilot)
        assert "1 of 2" in screen_text(app)
        assert screen.text.selected_range() == (7, 11)
        await pilot.press("down")
        assert screen.text.selected_range() == (15, 19)
        await pilot.press("tab", *"-", "f6")
        await settle(pilot)
        assert screen.live.text == "the cat- dog- #262"
        await pilot.press("tab")
        await settle(pilot)
        assert screen.text.selected_range() == (14, 18), "without such a token, the text itself"


async def test_find_points_to_the_vocabulary_for_an_id_that_the_text_does_not_have() -> None:
    app = make_app("hello")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+f", *"#40037")
        await settle(pilot)
        assert "The text has no token 40037." in screen_text(app)
        assert "Ctrl+L 6 opens the Vocabulary screen" in screen_text(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_list_of_ids_with_their_text_is_one_key_away(size: tuple[int, int]) -> None:
    app = make_app("hello world", panel="token")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        bar = screen_of(app).keys.render_line(0).text
        assert "F5 panel" in bar and ("Shift+F5 ids" in bar or size == (80, 24)), bar
        await pilot.press("shift+f5")
        await until(pilot, lambda: "995" in screen_text(app))
        row = next(row for row in screen_text(app).splitlines() if "995" in row)
        assert "world" in row.rpartition("995")[2]
        await pilot.press("shift+f5")
        await settle(pilot)
        row = next(row for row in screen_text(app).splitlines() if "995" in row)
        assert "31373" in row, "the grid again"


@pytest.mark.parametrize(
    ("typed", "expected"), [("2", 3), ("2:2", 4), ("#1", 1), ("@4", 3), ("@0x7", 4)]
)
async def test_going_to_a_line_a_token_or_a_byte(typed: str, expected: int) -> None:
    app = make_app("é!\n世x", name="gpt2")
    async with app.run_test() as pilot:
        await pilot.press("ctrl+g", *typed, "enter")
        screen = screen_of(app)
        assert screen.text.selected_range()[0] == expected


async def test_line_ends_are_converted_and_undone() -> None:
    app = make_app("a\r\nb\rc\nd")
    async with app.run_test() as pilot:
        screen = screen_of(app)
        await screen.run_action("convert_line_endings_crlf")
        assert screen.live.text == "a\r\nb\r\nc\r\nd"
        await screen.run_action("convert_line_endings_lf")
        assert screen.live.text == "a\nb\nc\nd"
        await pilot.press("ctrl+z", "ctrl+z")
        assert screen.live.text == "a\r\nb\rc\nd"
        assert_exact(screen)


async def test_the_keyboard_stays_in_the_panels_while_they_take_turns() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        panels = screen_of(app).panels
        await settle(pilot)
        await pilot.press("f5")
        assert app.focused is panels.current
        for shown in ("splits", "token", "mask", "ids", "splits"):
            await pilot.press("f2")
            await settle(pilot)
            assert panels.shown == shown
            assert panels.has_focus_within
        assert screen_of(app).live.text == "hello world"


async def test_panels_go_round_and_are_remembered() -> None:
    app = make_app()
    async with app.run_test(size=(120, 30)) as pilot:
        side = screen_of(app).panels
        seen = []
        for _ in range(5):
            seen.append(side.shown)
            await pilot.press("f2")
        assert seen == ["ids", "splits", "token", "mask", "ids"]
        await pilot.press("f9")
        await pilot.pause()
        assert not screen_of(app).query_one("#right").display
        assert app.session.settings.panel_visible is False
        await pilot.press("f9")
        await pilot.pause()
        assert screen_of(app).query_one("#right").display


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (40, 12), (20, 5), (8, 2)])
async def test_every_size_stays_usable(size: tuple[int, int]) -> None:
    app = make_app(sample_text(), name="cl100k_base")
    async with app.run_test(size=size) as pilot:
        screen = screen_of(app)
        await pilot.press("x")
        assert screen.live.text.startswith("xTokenizers")
        assert screen.editor.size.width >= size[0] // 3
        assert screen.editor.size.height >= 1
        assert {cell_len(line) for line in screen_lines(app)} == {size[0]}


async def test_wide_screens_put_the_panels_beside_the_text_and_narrow_ones_below() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = screen_of(app)
        assert screen.panels.region.x >= screen.editor.region.right
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert screen.panels.region.y >= screen.editor.region.bottom


async def test_sizes_that_follow_each_other_quickly_end_with_the_last() -> None:
    app = make_app(sample_text())
    async with app.run_test(size=(80, 24)) as pilot:
        screen = screen_of(app)
        app.post_message(Resize(Size(100, 30), Size(100, 30)))
        for size in [Size(80, 25), Size(100, 30)]:
            screen.post_message(Resize(size, size))
            screen.call_later(lambda: None)  # other messages keep these two from becoming one
        await settle(pilot)
        assert screen.outer_size == (100, 30)
        assert screen.editor.wrapped_document.width == screen.editor.wrap_width


async def test_theme_changes_the_token_colours_too() -> None:
    app = make_app()
    async with app.run_test() as pilot:
        dark, dark_line = palette_of(app), screen_of(app).editor.render_line(0)
        await pilot.press("f10")
        await pilot.pause()
        assert app.session.settings.theme == "tokviz-light"
        assert palette_of(app) != dark
        assert screen_of(app).editor.render_line(0) != dark_line


async def test_every_action_of_the_registry_is_answered() -> None:
    app = make_app()
    async with app.run_test():
        for node, actions in ((screen_of(app), TokensScreen.declared()), (app, APP_ACTIONS)):
            for action in actions:
                assert hasattr(node, f"action_{action.method}"), action.id


async def test_quitting_while_tokens_are_made_is_possible_at_once() -> None:
    app = make_app("many words " * 1_000_000, name="o200k_base")
    async with app.run_test() as pilot:
        assert not screen_of(app).live.complete
        await pilot.press("ctrl+q")
    assert app.return_code == 0


async def test_a_failure_in_the_background_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app("x" * 100_000)
    app.errors = ErrorNotices(app, ErrorLog())

    def fail(seconds: float) -> bool:
        raise ValueError("the encoder broke")

    monkeypatch.setattr(app.session.live, "encode_pending", fail)
    async with app.run_test() as pilot:
        said = "the encoder broke"
        await until(pilot, lambda: any(said in notice for notice in notices(app)))


# -- the sample, and Esc


def sample_app() -> TokvizApp:
    opened = Opened(sample_text(), is_sample=True)
    return TokvizApp(Session(opened, tokviz.load("gpt2"), remember=False))


@pytest.mark.parametrize(
    ("do", "text"),
    [(Paste("two\rlines"), "two\nlines"), (Key("x", "x"), "x"), (Key("enter", None), "\n")],
    ids=["paste", "letter", "enter"],
)
async def test_what_is_typed_or_pasted_takes_the_place_of_the_sample(
    do: Paste | Key, text: str
) -> None:
    app = sample_app()
    async with app.run_test() as pilot:
        screen = screen_of(app)
        await pilot.press("down", "right")
        screen.editor.post_message(do)
        await settle(pilot)
        assert screen.live.text == text
        assert not app.session.is_sample
        await pilot.press("ctrl+z")
        assert screen.live.text == sample_text()
        await pilot.press("ctrl+home", "y")
        assert screen.live.text == "y" + sample_text(), "somebody wants to change it"


async def test_what_is_selected_or_deleted_in_the_sample_goes_alone() -> None:
    app = sample_app()
    async with app.run_test() as pilot:
        await pilot.press("shift+right", "x")
        assert screen_of(app).live.text == "x" + sample_text()[1:]
    app = sample_app()
    async with app.run_test() as pilot:
        await pilot.press("delete", "x")
        assert screen_of(app).live.text == "x" + sample_text()[1:]


async def test_a_file_dropped_on_the_sample_leaves_the_sample(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokviz.load("gpt2").save(path)
    app = sample_app()
    async with app.run_test() as pilot:
        screen = screen_of(app)
        screen.editor.post_message(Paste(str(path)))
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert screen.live.text == str(path)
        await pilot.press("enter")
        await settle(pilot)
        assert screen.live.text == sample_text()
        screen.editor.post_message(Paste("mine"))
        await settle(pilot)
        assert screen.live.text == "mine"


async def test_esc_never_leaves_the_text() -> None:
    app = make_app("words")
    async with app.run_test() as pilot:
        screen = screen_of(app)
        await pilot.press("ctrl+o", "escape", "escape", "escape", "c")
        await settle(pilot)
        assert screen.editor.has_focus
        assert screen.live.text == "cwords"


async def test_find_replaces_one_match_or_all_to_be_undone_and_the_wheel_scrolls() -> None:
    app = make_app("one two\n" * 99)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = screen_of(app)
        await settle(pilot)
        await pilot.press("ctrl+f", *"(t)wo", "f2", "tab", *r"\1-")
        # A regex is tried by a child, which starts in its own time.
        await until(pilot, lambda: "1 of 99" in screen_text(app))
        await pilot.press("enter")
        assert screen.live.text == "one t-\n" + "one two\n" * 98
        await until(pilot, lambda: "1 of 98" in screen_text(app))
        assert "Enter replace" in screen_text(app)
        before = screen.editor.scroll_offset.y
        await pilot._post_mouse_events([MouseScrollDown], None, (9, 4))
        await settle(pilot)
        assert screen.editor.scroll_offset.y > before
        await pilot.press("f6")
        await settle(pilot)
        assert screen.live.text == "one t-\n" * 99
        assert "98 replaced" in screen_text(app)
        assert_exact(screen)
        dialog = app.screen
        late = MouseScrollDown(None, 9, 4, 0, 1, 0, False, False, False)
        await app.push_screen(ConfirmDialog("Above", "It came before the wheel.", "so it is"))
        with patch.object(dialog, "_forward_event") as forward:
            await dialog.on_event(late)
        forward.assert_not_called()  # it would come back, for ever
        await pilot.press("escape", "escape")
        await dialog.on_event(late)  # there is nothing below it any more
        await pilot.press("ctrl+z")
        assert screen.live.text == "one t-\n" + "one two\n" * 98
        await pilot.press("ctrl+z")
        assert screen.live.text == "one two\n" * 99
        await pilot.press("ctrl+l", "r")
        await settle(pilot)
        await pilot.press("f2")
        await settle(pilot)
        assert "none" in screen_text(app), "now the brackets are looked for"


async def test_a_small_terminal_shows_the_part_that_has_the_keyboard() -> None:
    app = make_app("hello there")
    async with app.run_test(size=(40, 12)) as pilot:
        screen = screen_of(app)
        await settle(pilot)
        for there, back in (("f5", "f5"), ("f2", "f5"), ("f9", "f9"), ("alt+i", "f5")):
            await pilot.press(there)
            await settle(pilot)
            assert "Splits" in screen_text(app) and "hello·there" not in screen_text(app), there
            assert screen.panels.has_focus_within
            await pilot.press(back)
            await settle(pilot)
            assert "hello·there" in screen_text(app) and "Splits" not in screen_text(app), back
            assert screen.editor.has_focus
        assert screen.panels.shown == "ids", "what was not in sight is shown, not left"
