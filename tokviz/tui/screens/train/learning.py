"""Progress of a running training, and its drawing."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from textual.content import Content
from textual.style import Style

from tokviz.formats.run import HISTORY
from tokviz.formats.run_arrays import read_arrays
from tokviz.storage.listing import size_label
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.training.progress import NewMerge, TrainProgress
from tokviz.tui.widgets.card_rows import merge_cells
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.spans import Span

_PHASES = ("reading", "merging", "saving")
_MEASURED = ("reading", "merging")
_MOST_MERGES = 500
_MERGES_IN_A_ROW = 12
_MOST_POINTS = 4_000


class NumberedMerge(NamedTuple):
    """A merge with its number, counted from 1."""

    number: int
    merge: NewMerge


class Learning:
    """Accumulated reports of one training.

    Attributes:
        report: The last report, None before the first.
        phases: The started phases, each with its progress from 0 to 1.
        points: The compression curve: (merges, bytes per token), from one byte per token on.
        newest: The last merges, the newest first.
        is_stopping: Whether it was asked to stop, which may take a moment.
    """

    is_stopping = False

    def __init__(self) -> None:
        """Start before the first report."""
        self.report: TrainProgress | None = None
        self.phases: dict[str, float] = {}
        self.points: list[tuple[float, float]] = [(0.0, 1.0)]
        self.newest: deque[NumberedMerge] = deque(maxlen=_MOST_MERGES)

    def take(self, report: TrainProgress) -> None:
        """Add a report."""
        self.report = report
        for phase in self.phases:
            if phase != report.phase:
                self.phases[phase] = 1.0
        self.phases[report.phase] = report.fraction
        self._take_merges(report)
        ratio = report.bytes_per_token
        if ratio is not None and report.phase == "merging":
            self._add_point(float(report.n_merges), ratio)

    def _take_merges(self, report: TrainProgress) -> None:
        """Add the new merges of a report, which holds only the last ones."""
        known = self.newest[0].number if self.newest else 0
        n_new = min(len(report.newest), _MERGES_IN_A_ROW, report.n_merges - known)
        for place in range(n_new, 0, -1):
            merge = report.newest[-place]
            self.newest.appendleft(NumberedMerge(report.n_merges - place + 1, merge))

    def _add_point(self, n_merges: float, ratio: float) -> None:
        if self.points[-1][0] >= n_merges:
            return
        self.points.append((n_merges, ratio))
        if len(self.points) > _MOST_POINTS:
            # Half of the points are still more than a terminal can show.
            self.points = [*self.points[:-1:2], self.points[-1]]


def curve_of_run(folder: str, n_bytes: int) -> list[tuple[float, float]]:
    """Read the compression curve of a saved run.

    Args:
        folder: The run folder.
        n_bytes: The bytes of its corpus.

    Raises:
        TokvizError: If the run cannot be read.
    """
    counts = read_arrays(folder, HISTORY)["n_tokens"].tolist()
    step = max(1, len(counts) // _MOST_POINTS)
    merges = {*range(0, len(counts), step), len(counts) - 1} if counts else set()
    points = [(float(number + 1), n_bytes / counts[number]) for number in sorted(merges)]
    return [(0.0, 1.0), *points]


def phases_content(learning: Learning, width: int) -> Content:
    """Draw a bar for every phase, with the numbers below."""
    shown = [p for p in _PHASES if p in learning.phases or p in _MEASURED]
    lines = [_phase_line(learning, phase, width) for phase in shown]
    lines.append(Content(""))
    if learning.report is None:
        lines.append(Content.assemble(("Starting…", "$text-muted")))
    else:
        lines += [Content(fit(line, width)) for line in numbers(learning.report)]
        cluster = learning.report.cluster
        if cluster is not None and cluster.dashboard:
            link = Style(underline=True) + Style.from_meta({"@click": "screen.open_dashboard"})
            lines.append(Content(fit(safe(cluster.dashboard), width)).stylize(link))
    if learning.is_stopping:
        lines[-1] = Content.assemble(
            ("Stopping: the merges learned so far are kept.", "$text-accent")
        )
    return Content("\n").join(lines)


def _phase_line(learning: Learning, phase: str, width: int) -> Content:
    fraction = learning.phases.get(phase)
    columns = max(width - 18, 4)
    filled = 0 if fraction is None else min(columns, int(fraction * columns))
    if fraction is None:
        end = "waiting"
    elif fraction >= 1:
        end = "done"
    else:
        end = f"{int(fraction * 100)} %" if phase in _MEASURED else "…"
    role = "$text-muted" if fraction is None else "$foreground"
    return Content.assemble(
        (f"{phase.capitalize():<10}", role),
        ("━" * filled, "$text-accent"),
        ("╌" * (columns - filled), "$border-quiet"),
        (f"{end:>8}", role),
    )


def numbers(report: TrainProgress) -> list[str]:
    """Return the progress of a training as lines."""
    left = "" if report.eta_seconds is None else f" · {clock(report.eta_seconds)} left"
    memory = "" if report.memory_bytes is None else f" · {size_label(report.memory_bytes)} memory"
    done = f"{size_label(report.n_bytes)} read · {report.n_pre_tokens:,} distinct pre-tokens"
    if report.phase == "starting":
        done = "Starting…"
    elif report.phase != "reading":
        merges = f"{report.n_merges:,} of {report.n_merges_wanted:,} merges"
        done = f"{merges} · {report.n_pre_tokens:,} pre-tokens"
    lines = [f"{clock(report.seconds)}{left}{memory}", done]
    if report.cluster is not None:
        cluster = report.cluster
        workers, tasks = pluralize(cluster.n_workers, "worker"), pluralize(cluster.n_tasks, "task")
        pace = ""
        if cluster.bytes_per_second:
            pace = f" · {size_label(round(cluster.bytes_per_second))}/s"
        lines.append(f"{workers} · {tasks} · {size_label(cluster.memory_bytes)}{pace}")
    return lines


def progress_word(report: TrainProgress) -> str:
    """Return the progress of a training as one word."""
    return f"{int(report.fraction * 100)} %" if report.phase == "merging" else report.phase


def clock(seconds: float) -> str:
    """Format the time of a running clock.

    >>> clock(3.21), clock(75), clock(3700)
    ('3.2 s', '1:15 min', '1:01:40 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02} h"


def paint_merge(row: NumberedMerge, width: int) -> list[Span]:
    """Draw a row of the list of merges."""
    left, right, count = row.merge.left, row.merge.right, row.merge.count
    return merge_cells(row.number, left + right, (left, right), count, width)
