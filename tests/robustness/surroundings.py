"""Change the environment while the app runs: files, folders, clock, limits and terminal.

    python tests/robustness/surroundings.py
    python tests/robustness/surroundings.py --only "a FIFO"

Each case uses a new tokviz, which types, saves, trains or replays meanwhile. It must survive, show
typed text, end after Ctrl+Q with code 0, restore the terminal and leave no process. A case may have
more conditions. The figures at the end are faults and cases.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.robustness.subject import Subject  # noqa: E402

SAVE = b"\x13"
Case = Callable[[Path, list[str]], None]
CASES: dict[str, Case] = {}
"""The cases by name; each adds its faults to a list."""


def case(name: str) -> Callable[[Case], Case]:
    """Register a case under a name."""

    def register(function: Case) -> Case:
        CASES[name] = function
        return function

    return register


def check(holds: object, what: str, wrong: list[str]) -> None:
    """Record a fault unless a condition holds."""
    if not holds:
        wrong.append(what)


def last_words(subject: Subject) -> str:
    """Return the end of the app's output."""
    return ascii(subject.output[-900:].decode(errors="replace"))


@contextmanager
def running(home: Path, wrong: list[str], *arguments: str, **how: object) -> Iterator[Subject]:
    """Start and end an app, which must still show typed text before its end."""
    with Subject(home, *arguments, **how) as subject:  # type: ignore[arg-type]
        subject.until("begun")
        yield subject
        if subject.has_ended():
            wrong.append(f"ended by itself: {subject.end()} {last_words(subject)}")
            return
        subject.wish("show", "tokens")
        subject.until("tokens screen")
        subject.type(b"zyxw")
        echoed = subject.comes_true(lambda: subject.shows("zyxw"), 20.0)
        check(echoed, f"what is typed is not shown:\n{subject.screen().text()}", wrong)
        check(not subject.shows("Unexpected error"), "an unexpected error", wrong)
        subject.quit()
        check(subject.has_ended(), f"does not end:\n{subject.screen().text()}", wrong)
        if subject.has_ended():
            code = subject.end()
            check(code == 0, f"exit code {code}: {last_words(subject)}", wrong)
            check(subject.is_restored(), f"left the terminal with {subject.modes_left_on()}", wrong)
        left = subject.left_behind()
        check(not left, f"{len(left)} processes are left", wrong)
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def _replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _replace_by_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _replace_by(target: str) -> Callable[[Path], None]:
    def replace(path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return replace


CHANGES: dict[str, Callable[[Path], None]] = {
    "a folder": _replace_by_folder,
    "a FIFO": _replace_by_pipe,
    "a link to itself": _replace_by_loop,
    "a link to /dev/full": _replace_by("/dev/full"),
    "a link to /dev/zero": _replace_by("/dev/zero"),
    "a link to nothing": _replace_by("/nowhere/at/all"),
    "a file that nobody may read": lambda path: path.chmod(0),
    "nothing": Path.unlink,
    "a file of a terabyte": lambda path: os.truncate(path, 1 << 40),
}
"""Replacements of a file."""


def _saved_over(change: Callable[[Path], None]) -> Case:
    def run(home: Path, wrong: list[str]) -> None:
        path = home / "text.txt"
        path.write_text("what was there\n")
        with running(home, wrong, str(path)) as subject:
            subject.type(b"abc")
            subject.comes_true(lambda: subject.shows("abcwhat"), 20.0)
            change(path)
            subject.type(SAVE)
            # It asks, saves, or reports an error; Esc closes any of these.
            subject.wait_quiet(0.5)
            subject.type(b"\x1b")
            subject.wait_quiet(0.5)

    return run


def _opened(change: Callable[[Path], None]) -> Case:
    def run(home: Path, wrong: list[str]) -> None:
        """Start with a file that is not a text: the app reports it and ends, or starts."""
        path = home / "text.txt"
        path.write_text("what was there\n")
        change(path)
        for arguments in ([str(path)], ["count", str(path)], ["-t", str(path)]):
            with Subject(home, *arguments) as subject:
                if path.is_fifo():
                    subject.comes_true(lambda: b"Ctrl+C" in subject.output, 5.0)
                    os.kill(subject.app_pid, signal.SIGINT)
                ended = subject.comes_true(subject.has_ended, 20.0)
                if not ended:
                    subject.quit()
                check(subject.has_ended(), f"{arguments[0]} does not end", wrong)
                check(b"Traceback" not in subject.output, last_words(subject), wrong)

    return run


for _name, _change in CHANGES.items():
    CASES[f"the text becomes {_name}"] = _saved_over(_change)
    CASES[f"opened: {_name}"] = _opened(_change)


@case("the home vanishes")
def _(home: Path, wrong: list[str]) -> None:
    (home / "inner").mkdir()
    variables = {
        name: str(home / "inner" / name)
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")
    }
    with running(home, wrong, variables={**variables, "HOME": str(home / "inner")}) as subject:
        subject.type(b"hello")
        subject.until_written(b"hello")
        shutil.rmtree(home / "inner")
        subject.type(b" again\x1b[21~\x1b[21~")  # F10 twice: settings are written
        subject.wait_quiet(1.0)


@case("the working folder vanishes")
def _(home: Path, wrong: list[str]) -> None:
    here = home / "here"
    here.mkdir()
    with running(home, wrong, script=f'cd {here}; exec "$@"') as subject:
        here.rmdir()
        for key in (b"\x0f", b"\x1b", SAVE, b"x\r", b"\x1b"):
            subject.type(key)
            subject.wait_quiet(0.5)


@case("the settings become a folder")
def _(home: Path, wrong: list[str]) -> None:
    settings = home / "config" / "tokviz" / "config.toml"
    with running(home, wrong) as subject:
        subject.wish("choose", "show_invisibles", "1")
        subject.comes_true(settings.exists, 10.0)
        settings.unlink(missing_ok=True)
        settings.mkdir(parents=True, exist_ok=True)
        subject.wish("choose", "show_invisibles", "0")
        subject.wait_quiet(1.0)
    with running(home, wrong):
        pass


@case("two change settings at once")
def _(home: Path, wrong: list[str]) -> None:
    with running(home, wrong) as one, running(home, wrong) as other:
        for value in "1010101":
            one.wish("choose", "show_invisibles", value)
            other.wish("choose", "panel_visible", value)
            one.wait_quiet(0.2)
            other.wait_quiet(0.2)
        one.until("begun")
        other.until("begun")
        time.sleep(1.0)
    from tokviz.workspace.settings import load_settings

    settings, complaint = load_settings(home / "config" / "tokviz" / "config.toml")
    check(not complaint, f"{complaint}", wrong)
    check(settings.show_invisibles and settings.panel_visible, f"lost a choice: {settings}", wrong)


@case("it is stopped and goes on")
def _(home: Path, wrong: list[str]) -> None:
    with running(home, wrong) as subject:
        for _ in range(3):
            os.kill(subject.app_pid, signal.SIGSTOP)
            subject.type(b"stopped")
            time.sleep(1.0)
            os.kill(subject.app_pid, signal.SIGCONT)
        subject.wait_for(lambda: subject.shows("stopped" * 3))


@case("the terminal has no size")
def _(home: Path, wrong: list[str]) -> None:
    with running(home, wrong) as subject:
        for rows, columns in ((0, 0), (0, 80), (24, 0), (65535, 65535), (1, 1), (40, 120)):
            if rows * columns > 10_000_000:
                continue  # its output would fill the memory of any terminal
            fcntl.ioctl(subject.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.kill(subject.app_pid, signal.SIGWINCH)
            subject.wait_quiet(0.5)
            subject.type(b"x")
            subject.wait_quiet(0.3)


def _clock(seconds: str) -> Case:
    def run(home: Path, wrong: list[str]) -> None:
        path = home / "text.txt"
        path.write_text("what was there\n")
        with running(home, wrong, str(path)) as subject:
            subject.wish("clock", seconds)
            subject.until("begun")
            subject.type(b"abc")
            subject.wait_quiet(1.2)
            subject.type(SAVE)
            saved = subject.comes_true(lambda: path.read_text() == "abcwhat was there\n", 10.0)
            check(saved, f"not saved: {path.read_text()!r}", wrong)

    return run


CASES["the clock jumps a day ahead"] = _clock("86400")
CASES["the clock jumps ten years back"] = _clock("-315360000")


@case("a run is deleted while it is replayed")
def _(home: Path, wrong: list[str]) -> None:
    import tokviz

    run = home / "run"
    tokviz.train(["the theme of the theory " * 50], 280, split_pattern="gpt2").save(run)
    with running(home, wrong, "replay", str(run)) as subject:
        subject.until("opened")
        subject.type(b" ")
        shutil.rmtree(run)
        for key in (b" ", b"\x1b[F", b"\x1b[H", b"n", b"/the\r", b"\x1b"):
            subject.type(key)
            subject.wait_quiet(0.3)


def _corpus(change: Callable[[Path], None], times: int) -> Case:
    def run(home: Path, wrong: list[str]) -> None:
        corpus = home / "corpus.txt"
        corpus.write_text(" ".join(str(n * 7919 % 99_991) for n in range(200_000)))
        with running(home, wrong) as subject:
            subject.wish("show", "train")
            subject.until("train screen")
            subject.wish("train", str(corpus))
            for _ in range(times):
                change(corpus)
                subject.pump(0.02)
            subject.comes_true(lambda: False, 5.0)

    return run


def _grow(path: Path) -> None:
    with path.open("a") as file:
        file.write("more and more of it " * 20_000)


CASES["a corpus grows while it is read"] = _corpus(_grow, 40)
CASES["a corpus shrinks while it is read"] = _corpus(lambda path: os.truncate(path, 10), 1)
CASES["a corpus is deleted while it is read"] = _corpus(Path.unlink, 1)


@case("a path of 4,096 bytes")
def _(home: Path, wrong: list[str]) -> None:
    for path in ("/" + "a" * 4096, "/" + "a/" * 2048, "b" * 255, "é" * 200, "x\ny\x1b[31m"):
        with Subject(home, path) as subject:
            if not subject.comes_true(subject.has_ended, 8.0):
                subject.quit()
            check(subject.has_ended(), f"{path[:9]!r} does not end", wrong)
            check(b"Traceback" not in subject.output, last_words(subject), wrong)
    with running(home, wrong) as subject:
        subject.type(b"\x0f")
        subject.until("dialog")
        subject.type(b"/" + b"a/" * 2048 + b"\r")
        subject.wait_quiet(0.5)
        subject.type(b"\x1b\x1b")
        subject.wait_quiet(0.7)


@case("a million lines of one character")
def _(home: Path, wrong: list[str]) -> None:
    path = home / "text.txt"
    path.write_text("x\n" * 1_000_000)
    with running(home, wrong, str(path)) as subject:
        for key in (b"\x1b[1;5F", b"y", b"\x1a", b"\x1b[1;5H", b"\x1b[6~" * 20):
            subject.type(key)
            subject.wait_quiet(0.3)


def _with(variables: dict[str, str]) -> Case:
    def run(home: Path, wrong: list[str]) -> None:
        with running(home, wrong, variables=variables):
            pass

    return run


for _variables in (
    {"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"},
    {"TMPDIR": "/nowhere"},
    {"PATH": ""},
    {"HOME": ""},
    {"HOME": "relative/home", "XDG_STATE_HOME": "also/relative"},
    {"XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "XDG_CACHE_HOME": ""},
    {"XDG_CACHE_HOME": "/dev/null"},
    {"TZ": "No/Such:Zone"},
    {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"},
):
    CASES[" ".join(f"{name}={value}" for name, value in _variables.items())] = _with(_variables)


def _limited(limit: str, train: bool = True) -> Case:
    def run(home: Path, wrong: list[str]) -> None:
        corpus = home / "corpus.txt"
        corpus.write_text("the theme of the theory " * 500)
        with running(home, wrong, script=f'ulimit {limit}; exec "$@"') as subject:
            subject.wish("show", "train")
            subject.until("train screen")
            subject.wish("train", str(corpus))
            subject.wait_quiet(1.5)

    return run


CASES["forty open files"] = _limited("-n 40")
CASES["files of a kilobyte at most"] = _limited("-f 1")
CASES["a stack of 512 KB"] = _limited("-s 512")


@case("a clipboard that hangs")
def _(home: Path, wrong: list[str]) -> None:
    for name in ("xclip", "xsel", "wl-copy", "wl-paste"):
        tool = home / "bin" / name
        tool.parent.mkdir(exist_ok=True)
        tool.write_text("#!/bin/sh\nexec sleep 30\n")
        tool.chmod(0o755)
    variables = {"PATH": f"{home / 'bin'}:{os.environ['PATH']}", "DISPLAY": ":99"}
    with running(home, wrong, variables=variables) as subject:
        subject.type(b"hello\x01\x03")
        subject.wait_quiet(0.5)
        subject.type(b"\x1b[F")


def faults_of(name: str) -> list[str]:
    """Run a case in a new home folder, and return the faults."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder).resolve()
        try:
            CASES[name](home, wrong)
        except AssertionError as error:
            wrong.append(f"it does not get there: {str(error)[-300:]}")
    return wrong


def main(arguments: list[str] | None = None) -> int:
    """Run the cases, print the figures, and return 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", default="", metavar="NAME", help="cases whose name holds this")
    asked = parser.parse_args(arguments)
    # Files that a crashed app would leave.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    n_cases = n_wrong = 0
    for name in CASES:
        if asked.only not in name:
            continue
        wrong = faults_of(name)
        n_cases, n_wrong = n_cases + 1, n_wrong + bool(wrong)
        print(f"{'ok' if not wrong else 'WRONG'}  {name}", *wrong, sep="\n    ", flush=True)
    print(f"surroundings: {n_wrong} of {n_cases} cases found something; must be 0")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
