"""The side of the Train screen: plan, running training and result."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from tokviz.formats.run import HISTORY
from tokviz.formats.run_arrays import read_arrays
from tokviz.process.jobs.train_messages import HeldOut, TrainSummary
from tokviz.storage.listing import home_label, size_label
from tokviz.text.glyphs import safe, token_label
from tokviz.text.sentences import pluralize
from tokviz.training.attribution import N_FILES, folder_of
from tokviz.training.progress import NewMerge, TrainProgress
from tokviz.tui.screens.train.plan import Plan, labelled, plan_content
from tokviz.tui.screens.train.state import Phase
from tokviz.tui.sizes import set_classes
from tokviz.tui.widgets.card_rows import merge_cells
from tokviz.tui.widgets.cursor_curve import CursorCurve, compression_curve
from tokviz.tui.widgets.field import PushButton
from tokviz.tui.widgets.fit import fit, fit_end
from tokviz.tui.widgets.lists import RowList
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


NEW = "new"
_NAMES = {NEW: "this one", "gpt2": "GPT-2", "cl100k_base": "GPT-4", "o200k_base": "GPT-4o"}
_LABEL = 12
_LEAST_COMPARED = 1_000  # bytes; a comparison on less text is noise


def summary_content(summary: TrainSummary, width: int) -> Content:
    """Draw a summary."""
    width = max(8, width)
    total = clock(summary.seconds)
    title = Content.assemble(
        ("✓ ", "$text-success bold"), (f"{summary.n_vocab:,} tokens in {total}", "bold")
    )
    lines = [title]
    if summary.stopped_early:
        fewer = f"{summary.n_merges:,} of {summary.n_merges_wanted:,} merges: "
        early = safe(fewer + summary.stopped_early)
        lines.append(Content.assemble(("! ", "$text-warning bold"), early))
    lines += [Content(""), *_facts(summary, width)]
    if summary.held_out is not None and summary.held_out.n_bytes >= _LEAST_COMPARED:
        size = size_label(summary.held_out.n_bytes)
        text = f"Bytes per token on {size} of unseen text"
        if summary.is_comparing:
            text = f"Comparing on {size} of unseen text… Esc skips"
        lines += [Content(""), Content(text).stylize("$text-muted")]
        lines += _comparison(summary.held_out, width)
        advice = summary.held_out.advice
        if advice is not None:
            lines += [
                Content(""),
                Content("Bytes per token by vocabulary size").stylize("$text-muted"),
            ]
            lines += [Content(line) for text in advice.lines() for line in wrap(text, width)]
    return Content("\n").join(lines)


def _facts(summary: TrainSummary, width: int) -> list[Content]:
    spent = summary.seconds_by_phase.items()
    seconds = ", ".join(f"{name} {clock(value)}" for name, value in spent if value >= 0.05)
    documents = pluralize(summary.n_documents, "document")
    facts = [
        ("Time", seconds),
        ("Corpus", f"{size_label(summary.n_bytes)}, {documents}"),
        ("Pre-tokens", f"{summary.n_pre_tokens:,} distinct"),
    ]
    if summary.peak_memory_bytes is not None:
        facts.append(("Memory", f"{size_label(summary.peak_memory_bytes)} at most"))
    if summary.n_invalid:
        facts.append(("Not UTF-8", f"{summary.n_invalid:,} bytes, kept unchanged"))
    if summary.longest_token:
        ending = f"  {pluralize(len(summary.longest_token), 'byte')}"
        shown = fit(token_label(summary.longest_token), max(8, width - _LABEL - len(ending)))
        facts.append(("Longest", shown + ending))
    if summary.bytes_per_token is not None:
        facts.append(("Compression", f"{summary.bytes_per_token:.2f} bytes/token on the corpus"))
    files = [str(part.file) for part in summary.files]
    labels = ("Merges from", *[""] * N_FILES)
    for label, part, file in zip(labels, summary.files, files, strict=False):
        room = max(8, width - _LABEL - len("100% "))
        name = safe(os.path.relpath(file, folder_of(files)))
        facts.append((label, f"{part.share:4.0%} {fit_end(name, room)}"))
    facts.append(("Written to", home_label(Path(summary.run_folder))))
    return [line for label, text in facts if text for line in labelled(label, text, width, _LABEL)]


def _comparison(held_out: HeldOut, width: int) -> list[Content]:
    lines = []
    best = max(held_out.bytes_per_token.values(), default=1.0)
    columns = max(4, min(width - _LABEL - 8, 48))
    for name, ratio in held_out.bytes_per_token.items():
        filled = max(1, round(columns * ratio / best))
        is_new = name == NEW
        lines.append(
            Content.assemble(
                (f"{safe(_NAMES.get(name, name)):<{_LABEL}}", "bold" if is_new else ""),
                ("━" * filled, "$text-accent" if is_new else "$text-muted"),
                " " * (columns - filled),
                (f"  {ratio:.2f}", "bold" if is_new else ""),
            )
        )
    return lines


class LiveView(Vertical):
    """View of a running training."""

    DEFAULT_CSS = """
    LiveView {
        height: 1fr;
        #phases { height: auto; margin-bottom: 1; }
        #curve { height: 2fr; min-height: 7; max-height: 14; }
        #merges-title { height: 1; margin-top: 1; color: $text-muted; }
        #merges { height: 3fr; scrollbar-size-vertical: 0; }
    }
    TrainScreen.-narrow.-low #merges-title { margin-top: 0; }
    TrainScreen.-narrow.-low #phases { margin-bottom: 0; }
    """

    def __init__(self) -> None:
        """Create the view before the first report."""
        super().__init__(id="live")
        self.learning = Learning()
        self.curve = CursorCurve(has_cursor=False, id="curve")

    def compose(self) -> ComposeResult:
        """Yield the bars, the curve and the merges."""
        yield Static(id="phases")
        yield self.curve
        yield Static("Newest merges", id="merges-title")
        yield RowList[NumberedMerge](paint_merge, id="merges")

    def begin(self) -> None:
        """Clear the view for a new training."""
        self.learning = Learning()
        self._show()

    def stop(self) -> None:
        """Show that the training is stopping, which may take a moment."""
        self.learning.is_stopping = True
        self._show()

    def take(self, report: TrainProgress) -> None:
        """Show a report."""
        self.learning.take(report)
        self._show()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._show()

    def _show(self) -> None:
        learning, report = self.learning, self.learning.report
        self.query_one("#phases", Static).update(phases_content(learning, self.size.width))
        show_compression(self.curve, learning.points, report.n_merges_wanted if report else 0)
        merges = self.query_one("#merges", RowList)
        at_top = merges.scroll_offset.y == 0
        if at_top or not learning.newest:
            merges.show(list(learning.newest), None)


def show_compression(
    curve: CursorCurve, points: Sequence[tuple[float, float]], n_wanted: int
) -> None:
    """Show the compression curve up to the last merge."""
    curve.show(compression_curve("Bytes per token", points, n_wanted), f"{points[-1][1]:.2f}")


_TITLES: dict[Phase, str] = {"form": "Plan", "running": "Training", "done": "Result"}
_MAIN_BUTTONS: dict[Phase, str] = {"form": "#start", "running": "#stop", "done": "#use"}


class Side(Container):
    """Show the view of the current phase, the error, and its buttons."""

    def __init__(self) -> None:
        """Create the views."""
        super().__init__(id="side")
        self.live = LiveView()
        self._plan = Static(id="plan")
        self._error = Static(id="error")
        self._summary = Static(id="summary")
        self._curve = CursorCurve(has_cursor=False, id="final-curve")

    def compose(self) -> ComposeResult:
        """Yield the views and buttons of all phases; the style sheet hides the others."""
        yield self._plan
        yield self.live
        with VerticalScroll(id="result", can_focus=False):
            yield self._summary
            yield self._curve
        yield self._error
        with Horizontal(id="buttons"):
            yield PushButton("Start training", "screen.start_training", id="start", classes="-main")
            yield PushButton("Stop…", "screen.stop_training", id="stop")
            yield PushButton("Use it", "screen.use_result", id="use", classes="-main")
            yield PushButton("Replay", "screen.replay_result", id="replay")
            yield PushButton("Save as…", "screen.save_result", id="save")
            yield PushButton("New run", "screen.new_training", id="new")

    @property
    def _columns(self) -> int:
        return self.content_size.width or self.app.size.width

    def show_phase(self, phase: Phase) -> None:
        """Show the view of a phase."""
        set_classes(self.screen, {f"-{name}": name == phase for name in _TITLES})
        self.border_title = _TITLES[phase]

    def focus_button(self, phase: Phase) -> None:
        """Focus the main button of a phase."""
        self.query_one(_MAIN_BUTTONS[phase]).focus()

    def show_plan(self, plan: Plan, *, can_start: bool, is_low: bool) -> None:
        """Show the plan, and whether the training can start."""
        self._plan.update(plan_content(plan, self._columns, is_low=is_low))
        self.query_one("#start").disabled = not can_start

    def show_error(self, text: str) -> None:
        """Show an error, or clear it."""
        self._error.update(Content(safe(text)))
        self._error.display = bool(text)
        self.set_class(bool(text), "-failed")

    def show_summary(self, summary: TrainSummary) -> None:
        """Show the summary of a training."""
        # Leave a column for the scroll bar.
        self._summary.update(summary_content(summary, self._columns - 1))

    def set_scale(self, is_log: bool) -> None:
        """Draw the curves on a linear or a logarithmic scale."""
        self.live.curve.set_scale(is_log)
        self._curve.set_scale(is_log)

    def show_curve(self, points: list[tuple[float, float]], summary: TrainSummary) -> None:
        """Show the compression curve of a finished training."""
        show_compression(self._curve, points, summary.n_merges)
