"""The driver on a pseudo-terminal: whatever is typed, the app lives and gets the right keys."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terminal import ROOT
from tests.tui.terminal.conftest import TINY_APP, TinyProcess
from tokviz.tui.terminal.paste import PASTE_END, PASTE_START

Start = Callable[..., TinyProcess]


def test_invalid_bytes_do_not_kill_the_app(start: Start) -> None:
    app = start()
    app.type(b"\xffa")
    app.wait_for_line("key a 'a'")
    app.type(b"q")
    assert app.end() == 0


def test_x10_mouse_reports_do_not_kill_the_app(start: Start) -> None:
    app = start()
    app.type(b"\x1b[M \xe4\x80a")
    app.wait_for_line("key a 'a'")
    app.type(b"q")
    assert app.end() == 0
    assert [line for line in app.log() if line.startswith("key")] == ["key a 'a'", "key q 'q'"]


def test_paste_arrives_whole_and_keys_after_it_work(start: Start) -> None:
    app = start()
    app.type(PASTE_START + b"0123456789" * 30_000 + b"\0\x1b" + PASTE_END + b"k")
    app.wait_for_line("key k 'k'")
    assert any(line.startswith("paste 300002 ") for line in app.log())
    app.type(b"q")
    assert app.end() == 0


def test_unterminated_paste_does_not_swallow_the_keyboard(start: Start) -> None:
    app = start()
    app.type(PASTE_START + b"abc")
    app.wait_for_line("paste 3 'abc'")
    app.type(b"k")
    app.wait_for_line("key k 'k'")
    app.type(PASTE_END + b"m")
    app.wait_for_line("key m 'm'")
    app.type(b"q")
    assert app.end() == 0
    assert sum(line.startswith("paste") for line in app.log()) == 1


def test_hangup_ends_the_app(start: Start) -> None:
    app = start()
    app.hang_up()
    assert app.end() == 128 + signal.SIGHUP


def test_end_of_input_without_a_signal_ends_the_app(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("needs pseudo-terminals")
    master, slave = os.openpty()
    log = tmp_path / "log"
    process = subprocess.Popen(
        [sys.executable, str(TINY_APP), str(log)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,  # the terminal is not the controlling one: nobody sends SIGHUP
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        os.close(slave)
        while not (log.exists() and "ready" in log.read_text()):
            os.read(master, 65536)
        os.close(master)
        assert process.wait(timeout=30) == 129
    finally:
        process.kill()
        process.wait()


def test_output_goes_to_the_terminal_where_stderr_is_none(start: Start) -> None:
    app = start(redirect="2>/dev/null")
    app.wait_for(lambda: b"tiny app" in app.output)
    app.type(b"q")
    assert app.end() == 0
    assert app.is_restored()


def test_the_size_is_that_of_the_terminal(start: Start) -> None:
    unset = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    app = start(size=(101, 37), environment=unset)
    app.type(b"s")
    app.wait_for_line("size 101 37")


def test_a_size_in_the_environment_counts(start: Start) -> None:
    app = start(size=(101, 37), variables={"COLUMNS": "70", "LINES": "20"})
    app.type(b"s")
    app.wait_for_line("size 70 20")


def test_keys_come_from_the_terminal_after_a_pipe_was_read(start: Start, tmp_path: Path) -> None:
    piped = tmp_path / "piped"
    piped.write_bytes(b"from\xff the pipe")
    app = start(redirect=f"<{piped}")
    assert app.log()[0].endswith(repr(b"from\xff the pipe"))
    app.type(b"q")
    assert app.end() == 0


def test_stop_and_continue(start: Start) -> None:
    app = start()
    app.wait_for(lambda: b"tiny app" in app.output)
    app.type(b"\x1a")
    os.waitpid(app.pid, os.WUNTRACED)
    app.wait_for(app.is_restored)
    seen = len(app.output)
    os.kill(app.pid, signal.SIGCONT)
    app.wait_for_line("resumed")
    app.wait_for(lambda: b"tiny app" in app.output[seen:])
    app.type(b"q")
    assert app.end() == 0
    assert app.is_restored()


def test_continue_after_sigstop_takes_the_terminal_over_anew(start: Start) -> None:
    app = start()
    app.wait_for(lambda: b"tiny app" in app.output)
    os.kill(app.pid, signal.SIGSTOP)
    os.waitpid(app.pid, os.WUNTRACED)
    seen = len(app.output)
    os.kill(app.pid, signal.SIGCONT)
    app.wait_for_line("resumed")
    app.wait_for(lambda: b"tiny app" in app.output[seen:])
    app.type(b"kq")
    assert app.end() == 0
    assert app.log()[-2:] == ["key k 'k'", "key q 'q'"]
    assert app.is_restored()
