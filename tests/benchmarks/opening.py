"""Opening a large file: first coloured frame, all tokens known, and how long the UI is deaf.

The deafness is measured in runs of their own: from the first coloured frame on, a letter is typed
every 50 ms at the start of the document, and its echo is looked for on the screen.
"""

from __future__ import annotations

from pathlib import Path

from _report import Report, Target, arguments, median, p95
from _terminal import on_terminal, peer_command, shows_coloured, temporary_folder, tokviz_command
from _texts import count_tokens, mixed_text, parse_size

FIRST_LINE = "first-line-of-the-document"
KEY_INTERVAL = 0.05
COLUMNS = ("what", "median", "p95", "unit")
LARGEST_OF_PEER = 10_000_000
"""Characters of the largest document that the peer is shown: it takes minutes for more."""
LIMITS = {100_000_000: (1.0, 5.0), 1_000_000_000: (3.0, 60.0)}
"""By the size of the document: seconds until colours, and until all tokens are known."""


def open_file(path: Path, n_tokens: int, folder: Path) -> tuple[float, float, float, float]:
    """Open the file once.

    Returns:
        Seconds until the first coloured frame, seconds until all tokens are known, resident and
        peak megabytes then.
    """
    with on_terminal(tokviz_command(str(path)), folder) as terminal:
        coloured = terminal.wait_until(lambda: shows_coloured(terminal, FIRST_LINE), 120)
        known = terminal.wait_counted(n_tokens, 300)
        memory = terminal.resident_megabytes(), terminal.peak_megabytes()
        return coloured - terminal.started, known - terminal.started, *memory


def echo_delays(path: Path, seconds: float, folder: Path) -> list[float]:
    """Open the file and type while it loads.

    Returns:
        The seconds from each letter to the frame that shows it.
    """
    with on_terminal(tokviz_command(str(path)), folder) as terminal:
        terminal.wait_until(lambda: shows_coloured(terminal, FIRST_LINE), 120)
        return terminal.type_steadily(KEY_INTERVAL, lambda passed: passed < seconds)


def peer_first_frame(path: Path, folder: Path) -> float:
    """Return the seconds until a stock TextArea shows the file."""
    with on_terminal(peer_command("_textarea_app.py", str(path)), folder) as terminal:
        return terminal.wait_until(lambda: terminal.shows(FIRST_LINE), 300) - terminal.started


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--size", default="10M")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--typing-runs", type=int, default=3)
    options = parser.parse_args()
    size = parse_size(options.size)
    with temporary_folder() as folder:
        path = folder / "document.txt"
        text = f"{FIRST_LINE}\n{mixed_text(size)}"
        path.write_text(text, encoding="utf-8", newline="")
        n_tokens = count_tokens(path)
        opened, peers = [], []
        for _ in range(options.runs):
            opened.append(open_file(path, n_tokens, folder))
            if size <= LARGEST_OF_PEER:
                peers.append(peer_first_frame(path, folder))
        coloured, known, resident, peak = (list(values) for values in zip(*opened, strict=True))
        typing_time = max(1.0, 1.5 * (median(known) - median(coloured)))
        runs = [echo_delays(path, typing_time, folder) for _ in range(options.typing_runs)]
    delays = [delay * 1000 for run in runs for delay in run]
    worst = [max(run) * 1000 for run in runs]
    rows: list[list[str | float]] = [
        ["first coloured frame", median(coloured), p95(coloured), "s"],
        ["all tokens known", median(known), p95(known), "s"],
        *([["TextArea's first frame", median(peers), p95(peers), "s"]] if peers else ()),
        ["echo of a key meanwhile", median(delays), p95(delays), "ms"],
        ["longest echo of a run", median(worst), p95(worst), "ms"],
        ["resident memory", median(resident), max(resident), "MB"],
        ["peak memory", median(peak), max(peak), "MB"],
    ]
    to_colours, to_counts = LIMITS.get(size, (0.5, 1.0))
    targets = [
        Target("first coloured frame", median(coloured), "≤", to_colours, "s"),
        Target("all tokens known", median(known), "≤", to_counts, "s"),
        Target("longest echo", median(worst), "≤", 100, "ms"),
    ]
    Report("opening", COLUMNS, rows, targets).show(options.json)


if __name__ == "__main__":
    main()
