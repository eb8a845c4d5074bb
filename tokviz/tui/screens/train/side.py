"""The side of the Train screen: plan, running training and result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tokviz.process.jobs.train_messages import HeldOut, TrainSummary
from tokviz.storage.listing import home_label, size_label
from tokviz.text.glyphs import safe, token_label
from tokviz.text.sentences import pluralize
from tokviz.training.attribution import N_FILES, folder_of
from tokviz.training.progress import TrainProgress
from tokviz.tui.screens.train.learning import (
    Learning,
    NumberedMerge,
    clock,
    paint_merge,
    phases_content,
)
from tokviz.tui.screens.train.plan import Plan, labelled, plan_content
from tokviz.tui.screens.train.state import Phase
from tokviz.tui.sizes import set_classes
from tokviz.tui.widgets.cursor_curve import CursorCurve, compression_curve
from tokviz.tui.widgets.field import PushButton
from tokviz.tui.widgets.fit import fit, fit_end
from tokviz.tui.widgets.lists import RowList

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
