"""First coloured frame: from the start of the process until tokens are seen in colour.

The app opens on its sample text; an empty Textual app starts in turn with it. Both start with
fresh settings, as on a new machine, but with their byte code compiled.
"""

from __future__ import annotations

from pathlib import Path

from _report import Report, Target, arguments, median, p95
from _terminal import TOKEN_COLOUR, on_terminal, peer_command, temporary_folder, tokviz_command

BACKGROUND = b"48;2;"
COLUMNS = ("program", "what", "median ms", "p95 ms", "min ms")


def empty_frame(folder: Path) -> float:
    """Return the seconds until an empty Textual app has painted itself."""
    with on_terminal(peer_command("_empty_app.py"), folder) as terminal:
        return terminal.wait_until(lambda: BACKGROUND in terminal.output, 30) - terminal.started


def app_frames(folder: Path) -> tuple[float, float]:
    """Return the seconds until the app's first frame, and until its first with coloured tokens."""
    with on_terminal(tokviz_command(), folder) as terminal:
        first = terminal.wait_until(lambda: BACKGROUND in terminal.output, 30)
        coloured = terminal.wait_until(lambda: TOKEN_COLOUR.search(terminal.output) is not None, 30)
        return first - terminal.started, coloured - terminal.started


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with temporary_folder() as folder:
        empty_frame(folder)
        app_frames(folder)
        runs = [(empty_frame(folder), *app_frames(folder)) for _ in range(options.runs)]
    empty, first, coloured = (
        [seconds * 1000 for seconds in times] for times in zip(*runs, strict=True)
    )
    rows: list[list[str | float]] = [
        [program, what, median(times), p95(times), min(times)]
        for program, what, times in (
            ("empty app", "first frame", empty),
            ("tokviz", "first frame", first),
            ("tokviz", "first coloured frame", coloured),
        )
    ]
    ratio = median([app / peer for peer, _, app in runs])
    target = Target("first coloured frame / empty app", ratio, "≤", 1.6, "times")
    Report("start", COLUMNS, rows, [target]).show(options.json)


if __name__ == "__main__":
    main()
