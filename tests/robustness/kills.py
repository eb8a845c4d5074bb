"""Kill tokviz at any moment, and check that no file is damaged and at most a second is lost.

    python tests/robustness/kills.py 500
    python tests/robustness/kills.py 1 --seed 7 --number 12

Every kill uses a new tokviz that types, saves, trains, writes settings, or runs twice. The typed
text must be in the file or offered by the next tokviz. The second command repeats one kill. Without
a number, the program fills the disk instead: each file is written with space for only some of its
bytes, and with home folders that cannot be written.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.robustness.subject import Subject  # noqa: E402
from tokviz.workspace.recovery_journal import RecoverableText, RecoveryJournal  # noqa: E402

ORIGINAL = "\nWhat was there before.\n"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
MOST_LOST = 1.0
"""Seconds of typing that may be lost."""
AT_ONCE = 2
"""Number of parallel kills, each with a separate home folder."""
OFFERED_EVERY = 10
"""Number of kills after which another tokviz starts, whose screen must offer the recovery."""


class Outcome(NamedTuple):
    """The result of a kill: the faults, and the seconds of typing that are lost."""

    doing: str
    wrong: list[str]
    lost: float


class Typist:
    """Types letters before the original text, and records the times."""

    def __init__(self, subject: Subject, chance: random.Random, offset: int = 0) -> None:
        self.subject, self._chance, self._offset = subject, chance, offset
        self.text = ""
        self.times: list[float] = []

    def type(self) -> None:
        """Type a few letters, at some pace."""
        letters = "".join(
            LETTERS[(len(self.text) + n + self._offset) % len(LETTERS)]
            for n in range(self._chance.choice((1, 1, 1, 2, 10)))
        )
        self.subject.type(letters.encode())
        self.times += [time.monotonic()] * len(letters)
        self.text += letters
        self.subject.pump(self._chance.choice((0.0, 0.01, 0.05, 0.2)))

    def lost(self, texts: list[str], killed: float) -> float | None:
        """Return the time between the first lost letter and the kill.

        Returns:
            Seconds, 0 if nothing is lost; None if a text never existed.
        """
        best = 0
        for text in texts:
            typed = text.removesuffix(ORIGINAL)
            if len(typed) == len(text) or not self.text.startswith(typed):
                return None
            best = max(best, len(typed))
        return 0.0 if best == len(self.text) else killed - self.times[best]


def autosaves(home: Path) -> list[RecoverableText]:
    """Recover the text."""
    return RecoveryJournal(home / "state" / "tokviz").recoverable_texts()


def _texts(leftovers: list[RecoverableText], wrong: list[str]) -> list[str]:
    texts = []
    for leftover in leftovers:
        if leftover.damage or not leftover.is_readable:
            wrong.append(f"a damaged journal: {leftover.damage}")
        else:
            texts.append(leftover.text())
        leftover.lock.release()
    return texts


def _kill(subject: Subject) -> float:
    killed = time.monotonic()
    os.kill(subject.app_pid, signal.SIGKILL)
    subject.end()
    return killed


def _deadline(chance: random.Random) -> float:
    return time.monotonic() + chance.uniform(0.0, 2.5)


def while_typing(home: Path, chance: random.Random, *, saves: bool = False) -> Outcome:
    """Kill the app between two keys; with `saves`, Ctrl+S is one of them."""
    path = home / "text.txt"
    path.write_text(ORIGINAL)
    wrong: list[str] = []
    with Subject(home, str(path)) as subject:
        subject.until("begun")
        typist, deadline = Typist(subject, chance), _deadline(chance)
        while time.monotonic() < deadline:
            typist.type()
            if saves and chance.random() < 0.2:
                subject.type(b"\x13")
        killed = _kill(subject)
    leftovers = autosaves(home)
    texts = [path.read_text(), *_texts(leftovers, wrong)]
    lost = typist.lost(texts, killed)
    if lost is None:
        wrong.append(f"a text that never was: {texts!r}")
    elif lost > MOST_LOST:
        wrong.append(f"{lost:.2f} s of typing are lost")
    return Outcome("saving" if saves else "typing", wrong, lost or 0.0)


def while_saving(home: Path, chance: random.Random) -> Outcome:
    """Kill the app while it saves typed text."""
    return while_typing(home, chance, saves=True)


def while_choosing(home: Path, chance: random.Random) -> Outcome:
    """Kill the app while it writes settings."""
    from tokviz.workspace.settings import load_settings

    with Subject(home) as subject:
        subject.until("begun")
        deadline = _deadline(chance)
        while time.monotonic() < deadline:
            name = chance.choice(("show_invisibles", "wrap", "panel_visible", "log_scale"))
            subject.wish("choose", name, chance.choice("01"))
            subject.pump(chance.uniform(0.0, 0.4))
        _kill(subject)
    _, complaint = load_settings(home / "config" / "tokviz" / "config.toml")
    return Outcome("settings", [complaint] if complaint else [], 0.0)


def while_training(home: Path, chance: random.Random) -> Outcome:
    """Kill the app while it trains, or writes this run or the next one."""
    import tokviz
    from tokviz.formats.run import is_run

    corpus = home / "corpus.txt"
    corpus.write_text(" ".join(str(n * 7919 % 9973) for n in range(chance.choice((300, 20_000)))))
    with Subject(home) as subject:
        subject.until("begun")
        subject.type(b"\x1br")
        subject.until("train screen")
        subject.wish("train", str(corpus))
        deadline = _deadline(chance)
        while time.monotonic() < deadline:
            subject.pump(0.05)
        _kill(subject)
        wrong = [f"still runs: {pid}" for pid in subject.left_behind()]
    runs = home / "state" / "tokviz" / "runs"
    for folder in runs.glob("[!.]*"):
        try:
            if not is_run(folder):
                raise ValueError("is no run")
            tokviz.load(folder)
        except Exception as error:
            wrong.append(f"a damaged run: {error!r}")
    return Outcome("training", wrong, 0.0)


def two_at_once(home: Path, chance: random.Random) -> Outcome:
    """Type in two apps, and kill both; neither may offer the other's text."""
    wrong: list[str] = []
    with ExitStack() as stack:
        typists = []
        for offset in (0, 10):
            path = home / f"text{offset}.txt"
            path.write_text(ORIGINAL)
            subject = stack.enter_context(Subject(home, str(path)))
            typists.append(Typist(subject, chance, offset))
        for typist in typists:
            typist.subject.until("begun")
        deadline = _deadline(chance)
        while time.monotonic() < deadline:
            chance.choice(typists).type()
        if autosaves(home):
            wrong.append("offered while its app still runs")
        times = [_kill(typist.subject) for typist in typists]
    leftovers = autosaves(home)
    sources = [leftover.source for leftover in leftovers]
    texts = dict(zip(sources, _texts(leftovers, wrong), strict=False))
    longest = 0.0
    for offset, typist, killed in zip((0, 10), typists, times, strict=True):
        path = home / f"text{offset}.txt"
        lost = typist.lost([path.read_text(), texts.get(path, ORIGINAL)], killed)
        if lost is None or lost > MOST_LOST:
            wrong.append(f"{lost} s of typing are lost, or others' were offered: {texts!r}")
        longest = max(longest, lost or 0.0)
    return Outcome("two at once", wrong, longest)


DOINGS: tuple[Callable[[Path, random.Random], Outcome], ...] = (
    while_typing,
    while_saving,
    while_choosing,
    while_training,
    two_at_once,
)


def _offers(home: Path) -> bool:
    """Start another tokviz, and return whether its screen offers the recovery."""
    with Subject(home) as subject:
        subject.until("begun")
        try:
            subject.until_written(b"Unsaved")
        except AssertionError:
            return False
    return True


def kill(seed: int, number: int) -> Outcome:
    """Kill once; seed and number determine the kill."""
    chance = random.Random(f"{seed} {number}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        home = Path(name)
        try:
            outcome = DOINGS[number % len(DOINGS)](home, chance)
        except AssertionError as error:
            return Outcome("starting", [f"it does not get there: {error}"], 0.0)
        left = autosaves(home)
        for leftover in left:
            leftover.lock.release()
        # A recovery is offered even if its text is empty or equals the file.
        if left and number % OFFERED_EVERY == 0 and not _offers(home):
            outcome.wrong.append("not offered on the screen")
        return outcome


# -- full disks


class Writer(NamedTuple):
    """A function that writes files.

    Attributes:
        name: Its name.
        write: Writes into a folder, for the first or the second time; returns a message or raises
            one of tokviz's errors on failure.
    """

    name: str
    write: Callable[[Path, int], str | None]


def _text(folder: Path, time: int) -> None:
    from tokviz.storage.files import write_file

    write_file(folder / "text.txt", f"version {time} ".encode() * 50)


def _settings(folder: Path, time: int) -> str | None:
    from tokviz.workspace.settings import Settings, save_settings

    theme = "tokviz-light" if time == 1 else "textual-dark"
    return save_settings(Settings(theme=theme), folder / "config.toml")


def _run(folder: Path, time: int) -> None:
    import tokviz

    tokviz.train(["abababcb" * time], 258, split_pattern="none").save(folder / "run")


def _tokenizer(folder: Path, time: int) -> None:
    import tokviz

    run = tokviz.train(["abababcb" * time], 256 + time, split_pattern="gpt2")
    run.tokenizer.save(folder / "tokenizer.json")


def _row(folder: Path, time: int) -> None:
    from tokviz.tui.screens.chat.files import append_line

    append_line(folder / "rows.jsonl", b'{"row": "' + b"x" * 200 * time + b'"}')


WRITERS = (
    Writer("text", _text),
    Writer("settings", _settings),
    Writer("run", _run),
    Writer("tokenizer", _tokenizer),
    Writer("row", _row),
)
N_ROOMS = 12


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def without_room(writer: Writer) -> Iterator[list[str]]:
    """Write again with a file size limit below the required size; yield the faults."""
    with tempfile.TemporaryDirectory() as name:
        first, second = Path(name) / "first", Path(name) / "second"
        for folder, times in ((first, (1,)), (second, (1, 2))):
            folder.mkdir()
            for time_ in times:
                writer.write(folder, time_)
        before, after = _contents(first), _contents(second)
        longest = max(map(len, after.values()))
        rooms = {0, 1, longest - 1, *(longest * n // N_ROOMS for n in range(N_ROOMS))}
        for room in sorted(rooms):
            failed = _in_child(writer, first, room)
            found = _contents(first)
            if found == after:
                break  # all of it fits
            wrong = []
            if found != before:
                changed = [
                    name for name in {*found, *before} if found.get(name) != before.get(name)
                ]
                wrong.append(f"{writer.name}, room for {room} bytes: {', '.join(changed)} damaged")
            if not failed:
                wrong.append(f"{writer.name}, room for {room} bytes: nobody says so")
            yield wrong


def _in_child(writer: Writer, folder: Path, room: int) -> bool:
    """Write in another process with a limit; return whether it reported the failure."""
    import resource

    from tokviz.errors import TokvizError

    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            code = 1 if writer.write(folder, 2) else 0
        except TokvizError:
            code = 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


def journal_without_room() -> Iterator[list[str]]:
    """Save a growing text while the disk is full now and then: the last saved text must survive."""
    import resource

    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    with tempfile.TemporaryDirectory() as name:
        for room in range(0, 2_000, 150):
            folder = Path(name) / str(room)
            journal, kept = RecoveryJournal(folder), None
            for number in range(1, 12):
                text = "some words " * number
                journal.set_text([text])
                try:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (room, old[1]))
                    complaint = journal.flush()
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, old)
                kept = kept if complaint else text
            journal.end()
            wrong: list[str] = []
            texts = _texts(autosaves_in(folder), wrong)
            if texts != ([] if kept is None else [kept]):
                wrong.append(f"journal, room for {room} bytes: {texts!r} instead of {kept!r}")
            yield wrong


def autosaves_in(folder: Path) -> list[RecoverableText]:
    """Take what was left behind in a folder."""
    return RecoveryJournal(folder).recoverable_texts()


def bad_homes() -> Iterator[list[str]]:
    """Start the app with home folders that cannot be written: it must work and end normally."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "file"
        file.touch()
        for bad in (file / "home", Path("/proc/none"), Path("/sys/none")):
            variables = {f"XDG_{which}_HOME": str(bad) for which in ("CONFIG", "DATA", "STATE")}
            folder = Path(tempfile.mkdtemp(dir=name))
            with Subject(folder, variables={**variables, "HOME": str(bad)}) as subject:
                subject.until("begun")
                subject.type(b"hello")
                subject.until_written(b"backed up")
                subject.type(b"\x11")
                subject.until("dialog")
                subject.type(b"y")
                code = subject.end()
                ended = code == 0 and subject.is_restored()
            yield [] if ended else [f"home {bad}: exit code {code}"]


def no_room() -> Iterator[list[str]]:
    """Yield the faults of every write on a full disk, and of every bad home folder."""
    for writer in WRITERS:
        yield from without_room(writer)
    yield from journal_without_room()
    yield from bad_homes()


def main(arguments: list[str] | None = None) -> int:
    """Kill, print the figures, and return 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("kills", type=int, nargs="?", help="none: fill the disk")
    parser.add_argument("--seed", type=int, help="the same one does the same (random)")
    parser.add_argument("--number", type=int, help="only this kill")
    asked = parser.parse_args(arguments)
    n_wrong = 0
    if asked.kills is None:
        n_done = 0
        for wrong in no_room():
            n_done, n_wrong = n_done + 1, n_wrong + bool(wrong)
            print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
        print(
            f"{n_done - n_wrong} of {n_done} writes without room and bad homes: nothing damaged; "
            "must be all"
        )
        return int(n_wrong > 0)
    seed = random.randrange(2**32) if asked.seed is None else asked.seed
    numbers = range(asked.kills) if asked.number is None else [asked.number]
    kinds: Counter[str] = Counter()
    lost: list[float] = []
    with ProcessPoolExecutor(AT_ONCE) as pool:
        for number, outcome in zip(numbers, pool.map(partial(kill, seed), numbers), strict=True):
            kinds[outcome.doing] += 1
            lost.append(outcome.lost)
            n_wrong += bool(outcome.wrong)
            for what in outcome.wrong:
                print(f"WRONG  seed {seed}, kill {number}, {outcome.doing}: {what}", flush=True)
            if number % 50 == 49:
                told = f"{number + 1} kills, {n_wrong} wrong, at most {max(lost):.2f} s lost"
                print(told, flush=True)
    print(f"{len(lost)} kills (seed {seed}): {dict(kinds)}")
    print(
        f"{n_wrong} with anything damaged, lost or not offered; at most {max(lost):.2f} s lost; "
        f"must be 0, ≤ {MOST_LOST:.0f} s"
    )
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
