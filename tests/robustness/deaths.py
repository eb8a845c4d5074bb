"""The terminal is restored and no process keeps running when tokviz dies.

    python tests/robustness/deaths.py
    python tests/robustness/deaths.py --only SIGKILL

Tries every death in every state, each with a new tokviz. Prints the faults, and the number of
correct deaths: terminal restored, expected exit code, no process left. The state is the app's
activity when it dies.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.robustness.subject import Subject  # noqa: E402

_PR_SET_CHILD_SUBREAPER = 36
RESTORE_SECONDS = 10.0


class Death(NamedTuple):
    """A way to die.

    Attributes:
        name: Its name.
        kill: Kills the app.
        codes: The expected exit codes.
    """

    name: str
    kill: Callable[[Subject], object]
    codes: tuple[int, ...]


def _by(name: str) -> Death:
    number = signal.Signals[name]
    return Death(name, lambda subject: os.kill(subject.app_pid, number), (128 + number,))


def _raise_twice(deed: str) -> Callable[[Subject], None]:
    def kill(subject: Subject) -> None:
        subject.wish(deed)
        subject.wish(deed)

    return kill


DEATHS = (
    *map(_by, ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGSEGV", "SIGABRT")),
    *map(_by, ("SIGBUS", "SIGFPE")),
    Death("two errors", _raise_twice("fail"), (1,)),
    Death("native crash", lambda subject: subject.wish("crash"), (139,)),
    # It reports the error with the remaining memory, or dies.
    Death("no memory", _raise_twice("exhaust"), (1, 134, 137, 139)),
    Death("terminal closed", Subject.hang_up, (129,)),
    Death("shell killed", lambda subject: os.kill(subject.pid, signal.SIGKILL), (129,)),
    Death("Ctrl+Q", Subject.quit, (0,)),
)


def _edit(subject: Subject, folder: Path) -> None:
    subject.type(b"hello")
    subject.until_written(b"hello")


def _train(subject: Subject, folder: Path) -> None:
    corpus = folder / "corpus.txt"
    if not corpus.exists():
        words = (f"{n * 2654435761 % 2**32:x}" for n in range(1_000_000))
        corpus.write_text(" ".join(words))
    subject.type(b"\x1br")
    subject.until("train screen")
    subject.wish("train", str(corpus))
    subject.until("training")


def _open_dialog(subject: Subject, folder: Path) -> None:
    subject.type(b"\x0f")
    subject.until("dialog")


def _play(subject: Subject, folder: Path) -> None:
    subject.until("opened")
    subject.type(b" ")
    subject.until("playing")


class State(NamedTuple):
    """A state of the app: its name, the app's arguments, and how to reach it."""

    name: str
    arguments: tuple[str, ...]
    enter: Callable[[Subject, Path], None]


STATES = (
    State("editing", (), _edit),
    State("training", (), _train),
    State("dialog", (), _open_dialog),
    State("replay", ("replay", "gpt2"), _play),
)


def die(death: Death, state: State, folder: Path) -> list[str]:
    """Kill a new tokviz, and return the faults."""
    home = Path(tempfile.mkdtemp(dir=folder))
    script = '"$@"; exit $?' if death.name == "shell killed" else ""
    wrong: list[str] = []
    with Subject(home, *state.arguments, script=script) as subject:
        subject.until("begun")
        state.enter(subject, folder)
        if script:
            _adopt_orphans(True)
        pid = subject.app_pid
        death.kill(subject)
        if script:
            code = _reaped(subject, pid)
            _adopt_orphans(False)
            os.waitpid(subject.pid, 0)
            subject.status = 0
        else:
            code = subject.end()
        if code not in death.codes:
            wrong.append(f"exit code {code}, not {' or '.join(map(str, death.codes))}")
        left = subject.left_behind()
        for orphan in left:
            wrong.append(f"still runs: {Path(f'/proc/{orphan}/cmdline').read_bytes()!r}")
            os.kill(orphan, signal.SIGKILL)
        is_there = subject.slave >= 0
        if is_there and not subject.comes_true(subject.is_restored, RESTORE_SECONDS):
            modes = ", ".join(subject.modes_left_on()) or "its attributes"
            wrong.append(f"the terminal is left with {modes}")
    return wrong


def _adopt_orphans(yes: bool) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


def _reaped(subject: Subject, pid: int) -> int:
    """Wait for the end of a process that has become our child, and return its exit code."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            found, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # its parent is not yet gone
            found = status = 0
        if found:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        subject.pump()
    raise AssertionError("it does not end")


def survey(deaths: Sequence[Death], states: Sequence[State]) -> Iterator[tuple[str, list[str]]]:
    """Yield every death in every state, with its faults."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        for death in deaths:
            for state in states:
                try:
                    wrong = die(death, state, Path(name))
                except AssertionError as error:
                    wrong = [f"no end: {error}"]
                yield f"{death.name} while {state.name}", wrong


def main(arguments: list[str] | None = None) -> int:
    """Kill tokviz in every way, print the figure, and return 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", default="", help="the name of a death")
    parser.add_argument("--state", default="", help="the name of a state")
    asked = parser.parse_args(arguments)
    deaths = [death for death in DEATHS if asked.only in ("", death.name)]
    states = [state for state in STATES if asked.state in ("", state.name)]
    n_well = n_deaths = 0
    for what, wrong in survey(deaths, states):
        n_deaths, n_well = n_deaths + 1, n_well + (not wrong)
        print(f"{'ok' if not wrong else 'WRONG'}  {what}", *wrong, sep="\n    ", flush=True)
    print(
        f"{n_well} of {n_deaths} deaths: terminal restored, right exit code, nothing left running; "
        "must be all"
    )
    return int(n_well < n_deaths)


if __name__ == "__main__":
    sys.exit(main())
