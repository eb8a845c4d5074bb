"""A curve with axes, a movable cursor and a switch between two scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.strip import Strip

from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.curve import Curve, Scale, curve_rows
from tokviz.tui.widgets.scrubber import Dragged
from tokviz.tui.widgets.spans import Role, RoleStyles, Span, draw, flow, words_of

AXIS_COLUMNS = 7
"""Columns at the left for the labels of the y axis and the axis itself."""


class CursorCurve(Vertical):
    """A curve below a line with its title, the value at the cursor and the switch of its scale."""

    DEFAULT_CSS = """
    CursorCurve > Bar { height: 1; }
    CursorCurve > CurvePlot { height: 1fr; }
    """

    def __init__(self, *, has_cursor: bool = True, id: str | None = None) -> None:
        """Create an empty curve.

        Args:
            has_cursor: Whether it has a cursor, which a click or a drag moves.
            id: The widget's id.
        """
        super().__init__(id=id)
        self._head, self.plot = Bar(), CurvePlot(has_cursor=has_cursor)
        self._value = ""

    def compose(self) -> ComposeResult:
        """Yield the line above the curve, and the curve."""
        yield self._head
        yield self.plot

    def show(self, curve: Curve, value: str | None = None) -> None:
        """Show another curve and a value; None keeps the value shown."""
        self._value = self._value if value is None else value
        self.plot.show(curve)
        self._show_head()

    def set_scale(self, is_log: bool) -> None:
        """Draw on a linear or a logarithmic scale."""
        self.plot.set_scale(is_log)
        self._show_head()

    def set_cursor(self, x: int, value: str) -> None:
        """Move the cursor to an x, and show the value there."""
        self._value = value
        self.plot.set_cursor(x)
        self._show_head()

    def _show_head(self) -> None:
        curve, is_log = self.plot.curve, self.plot.is_log
        left = [BarItem((Span(curve.title),)), BarItem((Span(self._value, "heading"),))]
        self._head.show(left, [scale_item(is_log)] if curve.points else ())


class CurvePlot(Dragged):
    """A curve between its axes."""

    DEFAULT_CSS = """
    CurvePlot {
        & > .curve-plot--accent { color: $text-accent; }
        & > .curve-plot--rest { color: $text-disabled; }
        & > .curve-plot--mark { color: $text-warning; text-style: bold; }
        & > .curve-plot--dim { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"curve-plot--{role}" for role in ("accent", "rest", "mark", "dim")
    }

    def __init__(self, *, has_cursor: bool) -> None:
        """Create an empty curve."""
        super().__init__()
        self.curve, self.is_log = Curve(""), False
        self._cursor: int | None = 0 if has_cursor else None
        self._drawn: tuple[tuple[int, int], list[str]] | None = None

    def show(self, curve: Curve) -> None:
        """Show another curve."""
        self.curve = curve
        self._drawn = None
        self.refresh()

    def set_scale(self, is_log: bool) -> None:
        """Draw on a linear or a logarithmic scale."""
        if is_log != self.is_log:
            self.is_log = is_log
            self.show(self.curve)

    @property
    def _scale(self) -> Scale:
        return Scale(self.curve.last_x, self.is_log)

    @property
    def _columns(self) -> int:
        return max(self.size.width - AXIS_COLUMNS, 0)

    def set_cursor(self, x: int) -> None:
        """Move the cursor to an x."""
        before, self._cursor = self._cursor, x
        scale, columns = self._scale, self._columns
        if scale.column_of(before or 0, columns) != scale.column_of(x, columns):
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        width, height = self.size
        if self._drawn is None or self._drawn[0] != (width, height):
            rows = curve_rows(self.curve, self._columns, max(height - 1, 0), is_log=self.is_log)
            self._drawn = ((width, height), rows)
        spans = curve_line(
            self.curve, self._drawn[1], self._cursor, y, width, height, is_log=self.is_log
        )
        return draw(spans, RoleStyles(self, "curve-plot"), width)

    def can_go(self) -> bool:
        """Return whether the curve has points and a cursor."""
        return self._cursor is not None and bool(self.curve.points)

    def go(self, column: int) -> None:
        """Post the merge at a column."""
        x = self._scale.value_of(column - AXIS_COLUMNS, self._columns)
        if x != self._cursor:
            self.post_message(self.Moved(x))


def scale_item(is_log: bool) -> BarItem:
    """Return the switch between the two scales."""
    linear: Role = "text" if is_log else "heading"
    log: Role = "heading" if is_log else "text"
    return BarItem(
        (Span("linear", linear), Span(" │ "), Span("logarithmic", log)),
        "screen.toggle_scale",
        (Span("lin", linear), Span("│"), Span("log", log)),
    )


def curve_line(
    curve: Curve,
    blocks: Sequence[str],
    cursor: int | None,
    y: int,
    width: int,
    height: int,
    *,
    is_log: bool = False,
) -> list[Span]:
    """Draw a row of the curve, or the x axis."""
    if not curve.points:
        rows = flow(words_of(curve.empty_text), width)
        return [span._replace(role="dim") for row in rows[y : y + 1] for span in row]
    columns = width - AXIS_COLUMNS
    if height < 2 or columns <= 4:
        return []
    if y == height - 1:
        return [Span(" " * AXIS_COLUMNS + x_axis(curve.last_x, columns), "dim")]
    bottom, top, _ = curve.y_axis(is_log)
    label = curve.y_label(top) if y == 0 else curve.y_label(bottom) if y == height - 2 else ""
    row, axis = blocks[y], Span(f"{label:>{AXIS_COLUMNS - 1}}▕", "dim")
    if cursor is None:
        return [axis, Span(row, "accent")]
    column = Scale(curve.last_x, is_log).column_of(cursor, columns)
    mark = row[column] if row[column] != " " else "│"
    before, after = Span(row[:column], "accent"), Span(row[column + 1 :], "rest")
    return [axis, before, Span(mark, "mark"), after]


def x_axis(last: int, width: int) -> str:
    """Label the x axis: its two ends, and its name between them.

    >>> x_axis(4000, 30)
    '0         merges         4,000'
    """
    end = f"{last:,}"
    room = width - 1 - len(end)
    return f"0{'merges' if room > 8 else '':^{max(room, 1)}}{end}"
