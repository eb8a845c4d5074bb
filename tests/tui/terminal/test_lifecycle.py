"""However the app ends, the terminal is restored and the exit code says how."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable

import pytest
from textual.app import App

from tests.tui.terminal.conftest import TinyProcess
from tokviz.tui.terminal import lifecycle
from tokviz.tui.terminal.lifecycle import driver_class

Start = Callable[..., TinyProcess]


def test_normal_quit(start: Start) -> None:
    app = start()
    app.wait_for(lambda: len(app.modes_left_on()) > 5)
    app.type(b"q")
    assert app.end() == 0
    assert app.is_restored()


def test_exception_shows_its_traceback_on_the_normal_screen(start: Start) -> None:
    app = start()
    app.type(b"x")
    assert app.end() == 1
    assert app.is_restored()
    _, _, normal_screen = app.output.rpartition(b"\x1b[?1049l")
    assert b"the x key" in normal_screen


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"])
def test_signal_from_outside(start: Start, name: str) -> None:
    number = signal.Signals[name]
    app = start()
    os.kill(app.pid, number)
    assert app.end() == 128 + number
    assert app.is_restored()


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
def test_death_without_a_chance_to_clean_up(start: Start, name: str) -> None:
    number = signal.Signals[name]
    app = start()
    app.wait_for(lambda: b"\x1b[?2004h" in app.output)
    os.kill(app.pid, number)
    assert app.end() == 128 + number
    app.wait_for(app.is_restored)


def test_native_crash(start: Start) -> None:
    app = start()
    app.type(b"c")
    assert app.end() == 128 + signal.SIGSEGV
    app.wait_for(app.is_restored)


def test_what_native_code_prints_stays_off_the_screen(start: Start) -> None:
    app = start()
    app.type(b"n")
    app.wait_for_line("key n 'n'")
    app.type(b"q")
    assert app.end() == 0
    assert b"native" not in app.output


def test_what_native_code_printed_is_shown_safely_after_a_crash(start: Start) -> None:
    app = start()
    app.type(b"nx")
    assert app.end() == 1
    _, _, normal_screen = app.output.rpartition(b"\x1b[?1049l")
    assert "native ␛[31mwords".encode() in normal_screen


def test_native_words_come_to_the_terminal_while_the_app_is_stopped(start: Start) -> None:
    app = start()
    app.type(b"n\x1a")
    os.waitpid(app.pid, os.WUNTRACED)
    os.kill(app.pid, signal.SIGCONT)
    app.wait_for_line("resumed")
    app.type(b"nq")
    assert app.end() == 0
    assert b"native" not in app.output


def test_signal_ends_an_app_that_does_not_react(start: Start) -> None:
    app = start("--stuck")
    app.wait_for_line("stuck")
    os.kill(app.pid, signal.SIGTERM)
    assert app.end() == 128 + signal.SIGTERM
    assert app.is_restored()


def test_quit_does_not_wait_for_a_busy_thread(start: Start) -> None:
    app = start("--busy")
    app.type(b"q")
    assert app.end() == 0
    assert app.is_restored()


def test_ignored_hangup_stays_ignored(start: Start) -> None:
    app = start(ignore=(signal.SIGHUP,))
    os.kill(app.pid, signal.SIGHUP)
    app.type(b"q")
    assert app.end() == 0


def test_browser_mode_keeps_its_own_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEXTUAL_DRIVER", "textual.drivers.web_driver:WebDriver")
    assert driver_class() is None


def test_while_the_app_runs_threads_take_shorter_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, seen = sys.getswitchinterval(), list[float]()

    def run(loop: asyncio.AbstractEventLoop, app: object) -> None:
        seen.append(sys.getswitchinterval())
        loop.close()
        raise SystemExit(0)

    monkeypatch.setattr(lifecycle, "_run_in", run)
    monkeypatch.setattr(lifecycle, "_restore", lambda *_: None)
    monkeypatch.setattr(lifecycle, "_show_last_words", lambda *_: None)
    assert lifecycle.run_app(App[None]()) == 1
    assert seen == [pytest.approx(lifecycle._SHARED_SECONDS)]
    assert sys.getswitchinterval() == usual
