"""The watcher restores what a dead process left behind, and is otherwise not there."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.terminal import Terminal
from tokviz.tui.terminal.modes import RESET

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")

PROGRAM = """
import os, subprocess, sys, termios, time, tty
from tokviz.tui.terminal import watcher
watcher.start()
watcher.start()
children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
print("children", *children, flush=True)
"""


def program(*lines: str) -> str:
    return PROGRAM + "\n".join(lines)


def children(process: Terminal) -> list[int]:
    process.wait_for(lambda: b"\n" in process.output)
    return [int(word) for word in process.output.split(b"\r\n")[0].split()[1:]]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux_only
def test_there_is_one_and_it_ends_with_the_app() -> None:
    with Terminal("-c", program()) as process:
        pids = children(process)
        assert process.end() == 0
        assert len(pids) == 1
        process.wait_for(lambda: not is_alive(pids[0]))
        assert RESET not in process.output


@linux_only
def test_nothing_is_reset_unless_the_terminal_was_taken() -> None:
    lines = ("watcher.arm()", "watcher.disarm()", "os.kill(os.getpid(), 9)")
    with Terminal("-c", program(*lines)) as process:
        pids = children(process)
        assert process.end() == 137
        process.wait_for(lambda: not is_alive(pids[0]))
        assert RESET not in process.output


@linux_only
def test_attributes_that_a_shell_has_set_meanwhile_stay() -> None:
    lines = (
        "watcher.arm()",
        "attributes = termios.tcgetattr(0)",
        "attributes[3] &= ~(termios.ICANON | termios.ECHO)",  # as a line editor: signals stay on
        "termios.tcsetattr(0, termios.TCSANOW, attributes)",
        "os.kill(os.getpid(), 9)",
    )
    with Terminal("-c", program(*lines)) as process:
        pids = children(process)
        assert process.end() == 137
        process.wait_for(lambda: RESET in process.output and not is_alive(pids[0]))
        assert not process.is_restored()


@linux_only
def test_raw_mode_is_undone() -> None:
    lines = ("watcher.arm()", "tty.setraw(0)", "os.kill(os.getpid(), 9)")
    with Terminal("-c", program(*lines)) as process:
        process.wait_for(lambda: RESET in process.output)
        process.wait_for(process.is_restored)


@linux_only
def test_it_holds_nothing_of_the_app_and_hears_no_signal_of_its_terminal() -> None:
    with Terminal("-c", program("time.sleep(1000)"), redirect="3</dev/null") as process:
        (watcher,) = children(process)
        process.wait_for(lambda: len(os.listdir(f"/proc/{watcher}/fd")) == 2)
        assert os.getsid(watcher) == watcher != os.getsid(process.pid)
        os.kill(watcher, signal.SIGINT)
        os.kill(watcher, signal.SIGTERM)
        assert is_alive(watcher)
        os.kill(process.pid, signal.SIGKILL)
        process.wait_for(lambda: not is_alive(watcher))


@linux_only
def test_the_app_lives_on_when_somebody_kills_the_watcher() -> None:
    lines = (
        "os.kill(int(children[0]), 9)",
        "os.waitpid(int(children[0]), 0)",
        "watcher.arm()",
        "watcher.disarm()",
    )
    with Terminal("-c", program(*lines)) as process:
        assert process.end() == 0


@linux_only
def test_children_of_the_app_do_not_keep_it_waiting() -> None:
    lines = (
        "watcher.arm()",
        "tty.setraw(0)",
        "child = subprocess.Popen(['sleep', '1000'])",
        "print('child', child.pid, flush=True)",
        "os.kill(os.getpid(), 9)",
    )
    with Terminal("-c", program(*lines)) as process:
        process.wait_for(lambda: RESET in process.output)
        child = int(process.output.split(b"child ")[1].split()[0])
        os.kill(child, signal.SIGKILL)
