"""The head of a long file is shown before the rest is read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

import tokviz
from tests.tui.waiting import settle, until
from tokviz.errors import InputFileError
from tokviz.tui.app import TokvizApp
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.workspace.session import Opened, Session, read_text

HEAD = "the first lines, naïvely 狐\r\n" * 40_000
REST = "what follows \udcff\n" * 20_000


def tokens(app: TokvizApp) -> TokensScreen:
    screen = app.screen_stack[0]
    assert isinstance(screen, TokensScreen)
    return screen


class Reader:
    """Gives a text in parts, and of its rest nothing until it may."""

    def __init__(self, ends: Callable[[], str]) -> None:
        self.may_go_on, self._ends = threading.Event(), ends

    def parts(self) -> Iterator[str]:
        yield HEAD
        self.may_go_on.wait()
        yield self._ends()

    def app(self) -> TokvizApp:
        opened = Opened(self.parts(), Path("long.txt"))
        session = Session(opened, tokviz.load("gpt2"), remember=False, head_first=True)
        return TokvizApp(session)


async def begun(pilot: Pilot[Any], app: TokvizApp) -> None:
    await until(pilot, lambda: tokens(app).is_ready and not app.input.pending)
    await settle(pilot)


async def test_what_is_pressed_meanwhile_comes_once_the_rest_is_there() -> None:
    reader = Reader(lambda: REST)
    app = reader.app()
    async with app.run_test() as pilot:
        await until(pilot, lambda: "opening… 0 %" in tokens(app).status.text)
        assert "the·first·lines" in tokens(app).read(tokens(app).region)
        screen = tokens(app)
        for key in ("A", "ctrl+end", "z"):
            app.simulate_key(key)
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: len(app.input.pending) == 3)
        assert not screen.session.modified
        reader.may_go_on.set()
        await begun(pilot, app)
        live = screen.live
        assert live.text == f"A{HEAD}{REST}z"
        assert screen.editor.document.line_count == live.n_lines == 60_001
        assert screen.editor.wrapped_document.height >= live.n_lines
        await until(pilot, lambda: live.settled)
        assert live.ids().tolist() == screen.session.tokenizer.byte_text.encode(live.text).tolist()
        assert live.n_raw_bytes == 20_000
        await pilot.press("ctrl+z", "ctrl+z")
        await until(pilot, lambda: not screen.session.modified)
        assert live.text == HEAD + REST


async def test_it_may_be_quit_meanwhile() -> None:
    reader = Reader(lambda: REST)
    app = reader.app()
    async with app.run_test() as pilot:
        await until(pilot, lambda: "opening…" in tokens(app).status.text)
        app.simulate_key("ctrl+q")
        await until(pilot, lambda: app._exit)
        reader.may_go_on.set()
    assert app.return_code == 0


async def test_a_file_that_cannot_be_read_to_its_end_is_not_shown_in_part(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> str:
        raise InputFileError(Path("long.txt"), "the disk is gone")

    reader = Reader(fail)
    app = reader.app()
    async with app.run_test() as pilot:
        await until(pilot, lambda: "opening…" in tokens(app).status.text)
        app.simulate_key("A")
        reader.may_go_on.set()
        await until(pilot, lambda: app._exit)
        assert not app.session.modified
    assert app.return_code == 1
    assert capsys.readouterr().err == "tokviz: long.txt: the disk is gone\n"


async def test_a_short_text_has_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_bytes(b"short \xff\n")
    session = Session(read_text(path), tokviz.load("gpt2"), remember=False, head_first=True)
    assert not session.live.has_rest
    assert session.live.text == "short \udcff\n"
    assert [*session.live.read_on()] == []
    session.live.append_rest()
    assert session.live.revision == 0
    assert session.notes == ("1 byte is not valid UTF-8: shown as ‹hex› and kept.",)
