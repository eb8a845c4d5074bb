"""Key to frame: from a byte sent to the terminal until the end of the frame that follows it.

Documents of several sizes are open at once, in the app and in a plain Textual TextArea; short
bursts of keys go to one after the other, so that all are measured under the same conditions. Half
of the bursts happen near the start of the document, half near its end.
"""

from __future__ import annotations

import itertools
from argparse import BooleanOptionalAction
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from _report import Report, Target, arguments, median, p95
from _terminal import (
    CTRL_END,
    CTRL_HOME,
    F2,
    PAGE_DOWN,
    PAGE_UP,
    RIGHT,
    on_terminal,
    peer_command,
    temporary_folder,
    tokviz_command,
)
from _texts import LINES, count_tokens, mixed_text, parse_size

from tests.terminal import Echo, Terminal

KEYS = b"etaoin\x7fshr dlu\rthe quick\x7fbrown fox\r"
KEYS_PER_BURST = 6
PAGES_FROM_THE_END = 8
LARGEST_FOR_PEER = 1_000_000
"""Bytes: the stock TextArea needs seconds per key beyond this."""

COLUMNS = (
    "document", "program", "p50 ms", "p95 ms", "max ms", "settled p50", "bytes/key", "MB", "peak MB"
)  # fmt: skip


@dataclass
class Subject:
    """A document open in a program, and what was measured there."""

    document: str
    n_bytes: int
    program: str
    terminal: Terminal
    keys: Iterator[int] = field(default_factory=lambda: itertools.cycle(KEYS))
    echoes: list[Echo] = field(default_factory=list)
    resident: float = 0.0
    peak: float = 0.0

    def type_one(self) -> None:
        """Type the next key, and remember its echo."""
        self.echoes.append(self.terminal.key(bytes([next(self.keys)])))

    def latencies(self) -> list[float]:
        """Return the milliseconds from each key to the end of its first frame."""
        return [echo.first * 1000 for echo in self.echoes]

    def row(self) -> list[str | float]:
        """Return the cells of the table."""
        latencies = self.latencies()
        return [
            self.document,
            self.program,
            median(latencies),
            p95(latencies),
            max(latencies),
            median([echo.settled * 1000 for echo in self.echoes]),
            median([float(echo.n_bytes) for echo in self.echoes]),
            self.resident,
            self.peak,
        ]


def write_documents(folder: Path, sizes: list[str], lines: bool) -> dict[str, Path]:
    """Write the documents and return their paths by name."""
    makers = LINES if lines else {"": mixed_text}
    paths = {}
    for (kind, make), size in itertools.product(makers.items(), sizes):
        name = f"{size} {kind}".strip()
        paths[name] = folder / f"{name.replace(' ', '-')}.txt"
        paths[name].write_text(make(parse_size(size)), encoding="utf-8", newline="")
    return paths


def open_documents(
    stack: ExitStack, paths: dict[str, Path], folder: Path, largest_for_peer: int
) -> Iterator[Subject]:
    """Open every document in the app, and in the peer unless it is too large for that."""
    for name, path in paths.items():
        n_bytes = path.stat().st_size
        app = stack.enter_context(on_terminal(tokviz_command(str(path)), folder))
        app.wait_counted(count_tokens(path), timeout=120)
        yield Subject(name, n_bytes, "tokviz", app)
        if n_bytes <= largest_for_peer:
            command = peer_command("_textarea_app.py", str(path))
            plain = stack.enter_context(on_terminal(command, folder))
            plain.wait_until(lambda plain=plain: bool(plain.screen().text().strip()), 120)  # type: ignore[misc]
            plain.wait_quiet(0.5, timeout=120)
            yield Subject(name, n_bytes, "TextArea", plain)


def place_cursor(terminal: Terminal, near_end: bool) -> None:
    """Move the cursor into the text, some pages from the document's start or end."""
    terminal.type(CTRL_END if near_end else CTRL_HOME)
    terminal.wait_quiet(0.1)
    terminal.type((PAGE_UP if near_end else PAGE_DOWN) * PAGES_FROM_THE_END + RIGHT * 4)
    terminal.wait_quiet(0.2)


def type_burst(subject: Subject, n_keys: int) -> None:
    """Type some measured keys after one that is not counted."""
    subject.terminal.key(b"x")
    for _ in range(n_keys):
        subject.type_one()


def measure(
    paths: dict[str, Path], n_keys: int, folder: Path, largest: int, panel: int
) -> list[Subject]:
    """Open the documents and type into all of them in turn, beside a panel of the app."""
    with ExitStack() as stack:
        subjects = list(open_documents(stack, paths, folder, largest))
        for subject in subjects:
            if subject.program == "tokviz":
                subject.terminal.type(F2 * panel)
                subject.terminal.wait_quiet(0.5)
        for done in range(0, n_keys, KEYS_PER_BURST):
            for subject in subjects:
                place_cursor(subject.terminal, near_end=done // KEYS_PER_BURST % 2 == 1)
                type_burst(subject, min(KEYS_PER_BURST, n_keys - done))
        for subject in subjects:
            subject.resident = subject.terminal.resident_megabytes()
            subject.peak = subject.terminal.peak_megabytes()
    return subjects


def targets(subjects: list[Subject], lines: bool) -> Iterator[Target]:
    """Compare what was measured with what was asked for."""
    medians = {(s.document, s.program): median(s.latencies()) for s in subjects}
    apps = [subject for subject in subjects if subject.program == "tokviz"]
    for app in apps:
        name, p50 = app.document, medians[app.document, "tokviz"]
        yield Target(f"{name} p50", p50, "≤", 50 if lines else 16, "ms")
        if not lines:
            yield Target(f"{name} p95", p95(app.latencies()), "≤", 40, "ms")
        plain = medians.get((name, "TextArea"))
        if plain is not None and app.n_bytes == LARGEST_FOR_PEER and not lines:
            yield Target(f"{name} TextArea / tokviz", plain / p50, "≥", 7, "times")
    if not lines and len(apps) > 1:
        small, large = apps[0].document, apps[-1].document
        ratio = medians[large, "tokviz"] / medians[small, "tokviz"]
        yield Target(f"{large} / {small}", ratio, "≤", 1.5, "times")


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--sizes", help="default 1K,100K,1M,10M, with --lines 1M")
    parser.add_argument("--keys", type=int, default=60, help="measured keys per document")
    parser.add_argument("--panel", type=int, default=0, help="F2 is pressed so often before")
    parser.add_argument("--lines", action="store_true", help="documents of a single line")
    parser.add_argument(
        "--peer", action=BooleanOptionalAction, default=None,
        help="the TextArea at every size, or at none (default: up to 1M)",
    )  # fmt: skip
    options = parser.parse_args()
    sizes = (options.sizes or ("1M" if options.lines else "1K,100K,1M,10M")).split(",")
    largest = {None: LARGEST_FOR_PEER, True: 10**12, False: -1}[options.peer]
    with temporary_folder() as folder:
        paths = write_documents(folder, sizes, options.lines)
        subjects = measure(paths, options.keys, folder, largest, options.panel)
    rows = [subject.row() for subject in subjects]
    Report("keys", COLUMNS, rows, list(targets(subjects, options.lines))).show(options.json)


if __name__ == "__main__":
    main()
