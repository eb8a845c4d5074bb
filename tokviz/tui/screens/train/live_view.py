"""The live view of a training: bars, compression curve and merges as they come."""

from __future__ import annotations

import math
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from tokviz.jobs.train_messages import TrainReport
from tokviz.tui.screens.train.learning import (
    Learning,
    NumberedMerge,
    paint_merge,
    phases_content,
)
from tokviz.tui.screens.train.plan import N_BYTES
from tokviz.tui.widgets.curve import curve_rows
from tokviz.tui.widgets.lists import RowList

_AXIS = 5


class CompressionCurve(Widget):
    """Bytes per token over the number of tokens, the latter on a logarithmic scale."""

    DEFAULT_CSS = """
    CompressionCurve {
        & > .compression-curve--bars { color: $text-accent; }
        & > .compression-curve--axis { color: $text-muted; }
        & > .compression-curve--value { color: $foreground; text-style: bold; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "compression-curve--bars",
        "compression-curve--axis",
        "compression-curve--value",
    }

    def __init__(self, *, id: str) -> None:
        """Begin without any point."""
        super().__init__(id=id)
        self._points: list[tuple[float, float]] = []
        self._last_x = float(N_BYTES + 1)
        self._rows: list[list[tuple[str, str]]] = []

    def show(self, points: list[tuple[float, float]], n_wanted: int) -> None:
        """Show a curve that will end at so many merges."""
        self._points = points
        self._last_x = float(N_BYTES + max(n_wanted, 1))
        self._draw()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self._draw()

    def _draw(self) -> None:
        width, height = self.size
        self._rows = curve_cells(self._points, self._last_x, width, height)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        base = self.rich_style
        row = self._rows[y] if y < len(self._rows) else []
        segments = [
            Segment(
                text,
                base + self.get_component_rich_style(f"compression-curve--{role}", partial=True),
            )
            for text, role in row
        ]
        return Strip(segments).adjust_cell_length(self.size.width, base)


def curve_cells(
    points: list[tuple[float, float]], last_x: float, width: int, height: int
) -> list[list[tuple[str, str]]]:
    """Draw the curve with its title and axes: rows of (text, role)."""
    if height < 4 or width < 24:
        return []
    title = [("Bytes per token  ", "axis")]
    if points:
        title.append((f"{points[-1][1]:.2f}", "value"))
    top = max(2.0, math.ceil(max((ratio for _, ratio in points), default=2.0) * 2) / 2)
    drawn = curve_rows(
        points, width - _AXIS - 1, height - 2, x_range=(N_BYTES, last_x), y_range=(1.0, top)
    )
    rows = [title]
    for number, line in enumerate(drawn):
        label = f"{top:.1f}" if number == 0 else "1.0" if number == len(drawn) - 1 else ""
        rows.append([(f"{label:>{_AXIS - 1}} ▕", "axis"), (line, "bars")])
    first, last = f"{N_BYTES} bytes", f"{int(last_x) - N_BYTES:,} merges"
    gap = " " * max(1, width - _AXIS - 1 - len(first) - len(last))
    rows.append([(" " * (_AXIS + 1) + first + gap + last, "axis")])
    return rows


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

    def compose(self) -> ComposeResult:
        """Yield the bars, the curve and the merges."""
        yield Static(id="phases")
        yield CompressionCurve(id="curve")
        yield Static("Newest merges", id="merges-title")
        yield RowList[NumberedMerge](paint_merge, id="merges")

    def begin(self) -> None:
        """Begin anew."""
        self.learning = Learning()
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
        curve = self.query_one(CompressionCurve)
        curve.show(learning.points, report.n_merges_wanted if report else 0)
        merges = self.query_one("#merges", RowList)
        at_top = merges.scroll_offset.y == 0
        if at_top or not learning.newest:
            merges.show(list(learning.newest), None)

    @property
    def text(self) -> Content:
        """What the bars and numbers say now."""
        return phases_content(self.learning, self.size.width)
