"""The side of the Train screen: plan, running training and result."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tokviz.process.jobs.train_messages import TrainSummary
from tokviz.text.glyphs import safe
from tokviz.training.progress import TrainProgress
from tokviz.tui.screens.train.learning import Learning, NumberedMerge, paint_merge, phases_content
from tokviz.tui.screens.train.plan import Plan, plan_content
from tokviz.tui.screens.train.state import Phase
from tokviz.tui.screens.train.summary import summary_content
from tokviz.tui.sizes import set_classes
from tokviz.tui.widgets.cursor_curve import CursorCurve
from tokviz.tui.widgets.curve import compression_curve
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.push_button import PushButton


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
