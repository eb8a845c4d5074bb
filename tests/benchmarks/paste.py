"""Bracketed paste: from its first byte until a finished frame shows the end of the pasted text.

Pasted into an empty document, in turn with a stock TextArea and with a program that only reads the
terminal (what the pseudo-terminal itself costs). Then a paste whose end never comes, and keys.
"""

from __future__ import annotations

import time
from argparse import BooleanOptionalAction
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from _report import Report, Target, arguments, median, p95
from _terminal import (
    PASTE_END,
    PASTE_START,
    on_terminal,
    peer_command,
    shows_coloured,
    temporary_folder,
    tokviz_command,
)
from _texts import count_tokens, mixed_text, parse_size

from tests.terminal import NoFrameError, Terminal

LAST_WORD = "the-pasted-text-ends-here"
LARGEST_FOR_PEER = 1_000_000
LIMITS = {1_000_000: 0.2, 10_000_000: 1.5}
"""Seconds until the first frame, by bytes pasted."""

UNFINISHED = "a-paste-without-an-end"
SWALLOWED_AFTER = 10.0
"""Seconds after which a key counts as lost."""

COLUMNS = ("paste", "program", "shown s", "p95 s", "coloured s", "all tokens s", "MB")


class Paste(NamedTuple):
    """Seconds after the first byte of a paste, and resident megabytes at the end."""

    shown: float
    coloured: float
    known: float
    resident: float


def paste_into_app(text: str, n_tokens: int, folder: Path) -> Paste:
    """Paste once into a new app with an empty document."""
    with empty_document(folder) as terminal:
        start = send_paste(terminal, text)
        shown = terminal.wait_until(lambda: terminal.shows(LAST_WORD), 120) - start
        coloured = terminal.wait_until(lambda: shows_coloured(terminal, LAST_WORD), 120) - start
        known = terminal.wait_counted(n_tokens, 120) - start
        return Paste(shown, coloured, known, terminal.resident_megabytes())


def paste_into_peer(text: str, folder: Path) -> float:
    """Return the seconds until a stock TextArea shows the end of the text."""
    path = folder / "peer.txt"
    path.write_text("", encoding="utf-8")
    with on_terminal(peer_command("_textarea_app.py", str(path)), folder) as terminal:
        terminal.wait_quiet(0.5)
        start = send_paste(terminal, text)
        return terminal.wait_until(lambda: terminal.shows(LAST_WORD), 300) - start


def paste_into_reader(text: str, folder: Path) -> float:
    """Return the seconds until a program that does nothing else has read the text."""
    with on_terminal(peer_command("_transport.py"), folder) as terminal:
        terminal.wait_until(lambda: terminal.shows("ready"), 30)
        start = send_paste(terminal, text)
        return terminal.wait_until(lambda: terminal.shows("received"), 120) - start


def unfinished_paste(folder: Path) -> list[tuple[str, float]]:
    """Send a paste without its end, wait two seconds, type three keys.

    Returns:
        What was waited for and after how many seconds it was shown, `inf` if never.
    """
    with empty_document(folder) as terminal:
        start = send_paste(terminal, UNFINISHED, end=b"")
        results = [("text of an unfinished paste", seconds_until(terminal, UNFINISHED, start))]
        terminal.wait_quiet(0.5)
        time.sleep(max(0.0, start + 2 - time.perf_counter()))
        for typed in ("Q", "QX", "QXZ"):
            start = time.perf_counter()
            terminal.type(typed[-1].encode())
            delay = seconds_until(terminal, UNFINISHED + typed, start)
            results.append((f"key {len(typed)} after it", delay))
        return results


def empty_document(folder: Path) -> Terminal:
    """Start the app with an empty file and wait until it is ready."""
    path = folder / "empty.txt"
    path.write_text("", encoding="utf-8")
    terminal = on_terminal(tokviz_command(str(path)), folder)
    terminal.wait_counted(0, 60)
    terminal.wait_quiet(0.5)
    return terminal


def send_paste(terminal: Terminal, text: str, end: bytes = PASTE_END) -> float:
    """Paste as terminals do, with CR for newlines, and return when it began."""
    data = PASTE_START + text.replace("\n", "\r").encode() + end
    start = time.perf_counter()
    terminal.type(data)
    return start


def seconds_until(terminal: Terminal, text: str, start: float) -> float:
    """Return the seconds from `start` until the text is shown, `inf` if it never is."""
    try:
        return terminal.wait_until(lambda: terminal.shows(text), SWALLOWED_AFTER) - start
    except NoFrameError:
        return float("inf")


def measure_size(
    size: str, runs: int, peer: bool | None, folder: Path
) -> Iterator[tuple[str, list[float], list[Paste]]]:
    """Paste that much into every program in turn.

    Yields:
        A program's name, the seconds of its runs, and what else is known of the app's.
    """
    n_bytes = parse_size(size)
    text = mixed_text(n_bytes) + LAST_WORD
    path = folder / "paste.txt"
    path.write_text(text, encoding="utf-8", newline="")
    n_tokens = count_tokens(path)
    with_peer = n_bytes <= LARGEST_FOR_PEER if peer is None else peer
    pastes, peers, reads = [], [], []
    for _ in range(runs):
        pastes.append(paste_into_app(text, n_tokens, folder))
        reads.append(paste_into_reader(text, folder))
        if with_peer:
            peers.append(paste_into_peer(text, folder))
    yield "tokviz", [paste.shown for paste in pastes], pastes
    if with_peer:
        yield "TextArea", peers, []
    yield "reader", reads, []


def row_of(size: str, program: str, shown: list[float], pastes: list[Paste]) -> list[str | float]:
    """Return the cells of the table."""
    row: list[str | float] = [size, program, median(shown), p95(shown)]
    if not pastes:
        return [*row, "", "", ""]
    columns = zip(*(paste[1:] for paste in pastes), strict=True)
    return row + [median(values) for values in columns]


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--sizes", default="1M,10M")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--peer", action=BooleanOptionalAction, default=None,
        help="the TextArea at every size, or at none (default: up to 1M)",
    )  # fmt: skip
    options = parser.parse_args()
    rows, targets = [], []
    with temporary_folder() as folder:
        for size in options.sizes.split(","):
            for program, shown, pastes in measure_size(size, options.runs, options.peer, folder):
                rows.append(row_of(size, program, shown, pastes))
                limit = LIMITS.get(parse_size(size))
                if program == "tokviz" and limit is not None:
                    targets.append(Target(f"{size} shown", median(shown), "≤", limit, "s"))
        for what, seconds in unfinished_paste(folder):
            targets.append(Target(what, seconds, "≤", SWALLOWED_AFTER, "s"))
    Report("paste", COLUMNS, rows, targets).show(options.json)


if __name__ == "__main__":
    main()
