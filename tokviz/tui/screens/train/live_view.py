"""The live view of a training: bars, compression curve and merges as they come."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from tokviz.jobs.train_messages import TrainReport
from tokviz.tui.screens.train.learning import (
    Learning,
    NumberedMerge,
    paint_merge,
    phases_content,
)
from tokviz.tui.widgets.cursor_curve import CursorCurve
from tokviz.tui.widgets.curve import compression_curve
from tokviz.tui.widgets.lists import RowList


class LiveView(Vertical):
    """Shows a training while it goes on."""

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
        """Begin before the first report."""
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
        """Begin anew."""
        self.learning = Learning()
        self._show()

    def stop(self) -> None:
        """Say that it ends, though what it is at goes on for a while."""
        self.learning.is_stopping = True
        self._show()

    def take(self, report: TrainReport) -> None:
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
    """Show how the compression grows towards the last merge."""
    curve.show(compression_curve("Bytes per token", points, n_wanted), f"{points[-1][1]:.2f}")
