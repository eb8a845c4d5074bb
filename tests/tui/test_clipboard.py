"""A copy goes where it can, and says where that was."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from textual.app import App

from tests.tui.waiting import WAIT
from tokviz.errors import OutputFileError
from tokviz.tui import clipboard
from tokviz.tui.clipboard import FILES_KEPT, TERMINAL_BYTES, CopyResult, copied, copy

DESKTOP = {"DISPLAY": ":0"}


class Desktop:
    """A desktop's clipboard."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def copy(self, text: str) -> None:
        self.texts.append(text)


class TerminalApp(App[None]):
    """An app that notes what goes to the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    def copy_to_clipboard(self, text: str) -> None:
        text.encode()  # as Textual does: a surrogate raises
        self.sent.append(text)
        super().copy_to_clipboard(text)


@contextmanager
def machine(
    folder: Path, environment: dict[str, str], desktop_copy: Callable[[str], None]
) -> Iterator[None]:
    """Have a state folder, an environment that says where the app runs, and a desktop."""
    silent = dict.fromkeys((*clipboard._REMOTE, *clipboard._DESKTOPS, "TMUX"), "")
    with (
        mock.patch.object(clipboard, "state_folder", lambda: folder),
        mock.patch.dict(os.environ, silent | environment),
        mock.patch("pyperclip.copy", desktop_copy),
    ):
        yield


def run_copy(
    folder: Path,
    text: str,
    environment: dict[str, str],
    desktop: Desktop,
) -> tuple[CopyResult, TerminalApp]:
    async def run() -> tuple[CopyResult, TerminalApp]:
        app = TerminalApp()
        async with app.run_test():
            result = await copy(app, text)
            assert app.clipboard == text
        return result, app

    with machine(folder, environment, desktop.copy):
        return asyncio.run(run())


@pytest.fixture(autouse=True)
def posix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokviz.tui.clipboard.sys.platform", "linux")


def test_a_desktop_gets_the_text(tmp_path: Path) -> None:
    desktop = Desktop()
    result, app = run_copy(tmp_path, "naïve\r\n你好", DESKTOP, desktop)
    assert result == CopyResult("clipboard")
    assert desktop.texts == ["naïve\r\n你好"]
    assert app.sent == []


@pytest.mark.parametrize("environment", [{}, {**DESKTOP, "SSH_CONNECTION": "1.2.3.4 5"}])
def test_without_a_desktop_of_the_user_the_terminal_gets_it(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    desktop = Desktop()
    result, app = run_copy(tmp_path, "text", environment, desktop)
    assert result == CopyResult("terminal", str(tmp_path / "copied-1.txt"))
    assert (tmp_path / "copied-1.txt").read_text() == "text"
    assert app.sent == ["text"]
    assert desktop.texts == []


def test_a_desktop_that_fails_is_followed_by_the_terminal(tmp_path: Path) -> None:
    class Broken(Desktop):
        def copy(self, text: str) -> None:
            raise RuntimeError("no xclip")

    result, app = run_copy(tmp_path, "text", DESKTOP, Broken())
    assert result.method == "terminal"
    assert app.sent == ["text"]


def test_what_was_copied_last_stays_though_the_copy_before_it_takes_longer(
    tmp_path: Path,
) -> None:
    begun, goes_on = threading.Event(), threading.Event()
    held: list[str] = []

    def copy_slowly(text: str) -> None:
        if text == "first":
            begun.set()
            goes_on.wait(WAIT)
        held.append(text)

    async def run() -> None:
        app = TerminalApp()
        async with app.run_test():
            copies = [asyncio.create_task(copy(app, text)) for text in ("first", "second")]
            await asyncio.to_thread(begun.wait)
            assert app.clipboard == "second"
            # What could overtake the first one would have done so by then.
            await asyncio.to_thread(lambda: None)
            goes_on.set()
            await asyncio.gather(*copies)
            assert app.clipboard == held[-1] == "second"

    with machine(tmp_path, DESKTOP, copy_slowly):
        asyncio.run(run())


def test_a_desktop_that_hangs_is_followed_by_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clipboard, "DESKTOP_SECONDS", 0.01)
    release = threading.Event()

    class Hanging(Desktop):
        def copy(self, text: str) -> None:
            release.wait()

    try:
        result, app = run_copy(tmp_path, "text", DESKTOP, Hanging())
    finally:
        release.set()
    assert result.method == "terminal"
    assert app.sent == ["text"]


def test_what_a_terminal_would_cut_goes_to_a_file(tmp_path: Path) -> None:
    longest = "é" * (TERMINAL_BYTES // 2)
    result, _ = run_copy(tmp_path, longest, {}, Desktop())
    assert result.method == "terminal"
    result, app = run_copy(tmp_path, longest + "x", {}, Desktop())
    file = tmp_path / "copied-2.txt"
    assert result == CopyResult("file", str(file))
    assert app.sent == []
    assert file.read_bytes() == (longest + "x").encode()
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_disk_that_hangs_holds_up_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk = threading.Event()
    write = clipboard.write_file

    def wait(*arguments: Any, **options: Any) -> None:
        assert on_disk.wait(60)
        write(*arguments, **options)

    monkeypatch.setattr(clipboard, "write_file", wait)

    async def run() -> CopyResult:
        app = TerminalApp()
        async with app.run_test():
            copying = asyncio.create_task(copy(app, "x"))
            while not app.sent:
                await asyncio.sleep(0.001)
            on_disk.set()
            return await copying

    with machine(tmp_path, {}, Desktop().copy):
        assert asyncio.run(run()).file == str(tmp_path / "copied-1.txt")


@pytest.mark.parametrize("environment", [DESKTOP, {}])
def test_bytes_that_no_clipboard_holds_are_kept_in_a_file(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    desktop = Desktop()
    result, app = run_copy(tmp_path, "a\udcff\udc80b", environment, desktop)
    assert desktop.texts + app.sent == ["a\ufffd\ufffdb"]
    assert Path(result.file).read_bytes() == b"a\xff\x80b"
    assert "2 bytes became U+FFFD" in result.lost


def test_a_surrogate_that_stands_for_no_byte_is_replaced(tmp_path: Path) -> None:
    desktop = Desktop()
    result, _ = run_copy(tmp_path, "a\ud800b", DESKTOP, desktop)
    assert result.method == "clipboard"
    assert desktop.texts == ["a\ufffdb"]


def test_when_the_file_fails_too_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputFileError):
        run_copy(tmp_path / "missing", "x" * (TERMINAL_BYTES + 1), {}, Desktop())


def test_a_copy_to_the_terminal_without_a_file_says_that_it_has_none(tmp_path: Path) -> None:
    result, app = run_copy(tmp_path / "missing", "text", {}, Desktop())
    assert (result.method, result.file, app.sent) == ("terminal", "", ["text"])
    assert "could not be saved" in result.lost


def test_every_copy_has_a_file_of_its_own_and_the_oldest_go(tmp_path: Path) -> None:
    (tmp_path / "copied-mine.txt").write_text("not ours")
    long = "x" * TERMINAL_BYTES
    results = [run_copy(tmp_path, f"{long}{n}", {}, Desktop())[0] for n in range(FILES_KEPT + 2)]
    kept = [Path(result.file) for result in results[2:]]
    assert [path.read_text() for path in kept] == [f"{long}{n}" for n in range(2, FILES_KEPT + 2)]
    assert set(tmp_path.iterdir()) == {*kept, tmp_path / "copied-mine.txt"}


@pytest.mark.parametrize(("environment", "method"), [({}, "terminal"), ({"TMUX": "/x"}, "tmux")])
def test_what_is_not_known_of_a_copy_is_said_and_the_file_is_named(
    tmp_path: Path, environment: dict[str, str], method: str
) -> None:
    result, _ = run_copy(tmp_path, "1 2 3", environment, Desktop())
    said = copied(result, "3 token ids")
    assert result.method == method
    assert said.startswith("Copied 3 token ids. ")
    assert "was asked to copy the text to the clipboard" in said
    assert ("set-clipboard" if method == "tmux" else "does not say whether it did") in said
    assert said.endswith(f"If you cannot paste it, it is in {tmp_path / 'copied-1.txt'}")


def test_a_copy_that_arrived_says_no_more(tmp_path: Path) -> None:
    result, _ = run_copy(tmp_path, "1 2 3", DESKTOP, Desktop())
    assert copied(result, "3 token ids") == "Copied 3 token ids."
