"""What hands do besides typing: scrolling, resizing, going to a screen, undoing, pasting much.

Scrolling: keys or wheel steps arrive 60 times a second; frames are counted, and the longest time
between two. All else: from the byte until the end of the first frame that follows, and of the
last, once nothing more has come for 0.15 s. "work" is the processor time of the thread that draws,
of a frame where there are many: load on the machine hardly changes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path
from typing import NamedTuple

from _report import Report, Target, arguments, median
from _terminal import (
    CTRL_END,
    CTRL_HOME,
    PAGE_DOWN,
    PASTE_END,
    PASTE_START,
    RIGHT,
    on_terminal,
    temporary_folder,
    tokviz_command,
)
from _texts import count_tokens, mixed_text, parse_size

from tests.terminal import DEADLINE_SECONDS, END_OF_FRAME, Terminal

COLUMNS = ("document", "what", "first ms", "ms", "work ms", "frames/s", "longest gap ms", "MB")
DOWN, WHEEL = b"\x1b[B", b"\x1b[<65;20;20M"
REPLACE_ALL, UNDO, REDO = b"\x1b[1;6F", b"\x1a", b"\x19"
TOKENS = b"\x1bk"
SCREENS = {"Chat": b"h", "Train": b"r", "Replay": b"y", "Vocabulary": b"v", "Compare": b"q"}
STEPS_A_SECOND = 60
QUIET = 0.15


class Done(NamedTuple):
    """What a gesture took."""

    document: str
    what: str
    first: float = 0.0
    ms: float = 0.0
    work: float = 0.0
    frames: float = 0.0
    gap: float = 0.0
    megabytes: float = 0.0

    def row(self) -> list[str | float]:
        """Return the cells of the table."""
        return [self.document, self.what, *(value or "" for value in self[2:])]


def work_of(terminal: Terminal) -> float:
    """Return the processor time of a program's first thread so far, in milliseconds."""
    path = Path(f"/proc/{terminal.pid}/task/{terminal.pid}/schedstat")
    return int(path.read_text().split()[0]) / 1e6


def scroll(terminal: Terminal, name: str, what: str, step: bytes, seconds: float) -> Done:
    """Scroll for some seconds."""
    ends, seen = [time.perf_counter()], len(terminal.output)
    before, start = work_of(terminal), ends[0]
    n_sent = 0
    while (passed := time.perf_counter() - start) < seconds:
        if n_sent <= passed * STEPS_A_SECOND:
            terminal.type(step)
            n_sent += 1
        terminal.pump(0.002)
        n_frames = terminal.output.count(END_OF_FRAME, seen)
        if n_frames:
            ends += [terminal.last_arrival] * n_frames
            seen = len(terminal.output)
    gap = max(b - a for a, b in pairwise([*ends, start + seconds]))
    work = (work_of(terminal) - before) / max(len(ends) - 1, 1)
    terminal.wait_quiet(QUIET)
    return Done(name, what, work=work, frames=(len(ends) - 1) / seconds, gap=gap * 1000)


def timed(terminal: Terminal, name: str, what: str, act: bytes | Callable[[], object]) -> Done:
    """Type or do something, and wait until the first frame that follows, and the last."""
    while terminal.pump(0):
        pass
    seen, before, start = len(terminal.output), work_of(terminal), time.perf_counter()
    terminal.type(act) if isinstance(act, bytes) else act()
    while END_OF_FRAME not in terminal.output[seen:] and terminal.pump(DEADLINE_SECONDS):
        pass
    first = terminal.last_arrival
    terminal.wait_quiet(QUIET)
    return Done(
        name,
        what,
        (first - start) * 1000,
        (terminal.last_arrival - start) * 1000,
        work_of(terminal) - before,
        megabytes=terminal.resident_megabytes(),
    )


def resize(terminal: Terminal, columns: int, rows: int) -> None:
    """Give the terminal another size."""
    fcntl.ioctl(terminal.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.kill(terminal.pid, signal.SIGWINCH)


def gestures(terminal: Terminal, name: str, seconds: float) -> Iterator[Done]:
    """Do everything to an open document."""

    def key(what: str, data: bytes) -> Done:
        return timed(terminal, name, what, data)

    for what, step in (("PageDown", PAGE_DOWN), ("wheel", WHEEL), ("Down", DOWN)):
        yield scroll(terminal, name, what, step, seconds)
    for size in ((100, 40), (120, 40), (90, 35), (120, 40)):
        yield timed(terminal, name, "resize", lambda size=size: resize(terminal, *size))  # type: ignore[misc]
    yield key("to the end", CTRL_END)
    yield key("to the start", CTRL_HOME)
    yield key("replace", REPLACE_ALL + b"y")
    for _ in range(3):
        yield key("undo", UNDO)
        yield key("redo", REDO)
    yield key("undo", UNDO)
    pasted = mixed_text(1_000_000).encode().replace(b"\n", b"\r")
    yield key("paste 1 MB", PASTE_START + pasted + PASTE_END)
    yield key("undo the paste", UNDO)


def visits(terminal: Terminal, n_times: int) -> Iterator[Done]:
    """Go to every screen some times, from the first."""
    for number in range(1, n_times + 1):
        for screen, letter in SCREENS.items():
            name = f"visit {number} of {screen}"
            yield timed(terminal, "", name, b"\x1b" + letter)
            timed(terminal, "", "back", TOKENS)


def in_replay(terminal: Terminal) -> Iterator[Done]:
    """Step and jump through a vocabulary's merges."""
    for what, keys in (("a step", RIGHT * 12), ("a jump", PAGE_DOWN * 12)):
        for at in range(0, len(keys), len(keys) // 12):
            key = keys[at : at + len(keys) // 12]
            yield timed(terminal, "Replay", what, key)


def in_vocabulary(terminal: Terminal) -> Iterator[Done]:
    """Search, letter by letter."""
    terminal.type(b"\x1b" + SCREENS["Vocabulary"])
    terminal.pump(2.0)
    terminal.wait_until(lambda: not terminal.shows("Reading the vocabulary"), 60)
    terminal.wait_quiet(QUIET)
    for letter in "national th":
        yield timed(terminal, "Vocabulary", "search", letter.encode())


def in_chat(name: str, what: str, terminal: Terminal) -> Iterator[Done]:
    """Type into a message of a conversation."""
    terminal.type(DOWN + DOWN + b"\r")
    terminal.wait_quiet(1.0)
    for letter in "hello world":
        yield timed(terminal, name, what, letter.encode())


def conversation(path: Path, texts: list[str]) -> Path:
    """Write a conversation of these messages."""
    roles = cycle(("user", "assistant"))
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    path.write_text(json.dumps({"messages": messages}) + "\n", encoding="utf-8")
    return path


def elsewhere(folder: Path) -> Iterator[Done]:
    """Do what is done most on other screens."""
    long_text, text = mixed_text(1_000_000), mixed_text(500_000)
    long = conversation(folder / "long.jsonl", ["hi", long_text, "thanks"])
    many = conversation(folder / "many.jsonl", [text[n : n + 100] for n in range(0, 500_000, 100)])
    for words, act in (
        (("replay", "cl100k_base", "--at", "5000"), in_replay),
        (("-t", "o200k_base"), in_vocabulary),
        (("chat", str(long)), partial(in_chat, "Chat, 1 MB", "key")),
        # Its tokens come in the next pause.
        (("chat", str(many)), partial(in_chat, "Chat, 5,000 messages", "letter")),
    ):
        with on_terminal(tokviz_command(*words), folder) as terminal:
            terminal.wait_until(lambda t=terminal: t.shows("all actions"), 60)  # type: ignore[misc]
            terminal.pump(4.0)
            terminal.wait_quiet(1.5)
            yield from act(terminal)


LIMITS = {
    **{"resize": 80, "undo": 200, "redo": 200, "paste 1 MB": 200},
    **{"a step": 12, "a jump": 33, "search": 33, "key": 16},
}


def targets(done: list[Done]) -> Iterator[Target]:
    """Compare with what was asked for."""
    for document, what in dict.fromkeys((each.document, each.what) for each in done):
        found = [each for each in done if (each.document, each.what) == (document, what)]
        name = f"{document} {what}".strip()
        if found[0].frames:
            yield Target(f"{name}, frames", median([each.frames for each in found]), "≥", 40, "/s")
            yield Target(f"{name}, gap", median([each.gap for each in found]), "≤", 50, "ms")
        elif limit := LIMITS.get(what, 100 if "visit" in what else 0):
            first, settled = median([each.first for each in found]), [each.ms for each in found]
            yield Target(f"{name}, first frame", first, "≤", limit, "ms")
            yield Target(f"{name}, settled", median(settled), "≤", limit, "ms")


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--sizes", default="1M,10M")
    parser.add_argument("--seconds", type=float, default=3.0, help="of scrolling in one way")
    parser.add_argument("--visits", type=int, default=2, help="of each screen")
    options = parser.parse_args()
    done: list[Done] = []
    with temporary_folder() as folder:
        for size in options.sizes.split(","):
            path = folder / f"{size}.txt"
            path.write_text(mixed_text(parse_size(size)), encoding="utf-8", newline="")
            with on_terminal(tokviz_command(str(path)), folder) as terminal:
                terminal.wait_counted(count_tokens(path), 300)
                terminal.wait_quiet(1.5)
                done += gestures(terminal, size, options.seconds)
        with on_terminal(tokviz_command(), folder) as terminal:
            terminal.wait_until(lambda: terminal.shows("tokens"), 30)
            terminal.wait_quiet(2.5)
            done += visits(terminal, options.visits)
        done += elsewhere(folder) if options.visits else ()
    Report("gestures", COLUMNS, [each.row() for each in done], list(targets(done))).show(
        options.json
    )


if __name__ == "__main__":
    main()
