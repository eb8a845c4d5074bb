"""Curves over the merges and the scrubber: a scale, a cursor, and dragging by the mouse."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.spans import Role, RoleStyles, Span, draw, flow, words_of

_BLOCKS = " ▁▂▃▄▅▆▇█"


class Scale(NamedTuple):
    """A scale of whole numbers from 0 at the left edge to the last one at the right edge.

    Attributes:
        last: The last number.
        is_log: Whether it is logarithmic, in the number plus 1.
    """

    last: int
    is_log: bool = False

    def column_of(self, value: float, width: int) -> int:
        """Return the column of a number, one of `width`.

        >>> [Scale(4).column_of(value, 3) for value in range(5)]
        [0, 0, 1, 2, 2]
        >>> [Scale(999, is_log=True).column_of(value, 31) for value in (0, 9, 99, 999)]
        [0, 10, 20, 30]
        """
        if self.last <= 0 or width <= 1:
            return 0
        share = value / self.last
        if self.is_log:
            share = math.log1p(max(value, 0)) / math.log1p(self.last)
        return min(max(round(share * (width - 1)), 0), width - 1)

    def value_at(self, column: float, width: int) -> float:
        """Return the number at the middle of a column.

        >>> [Scale(999, is_log=True).value_at(column, 31) for column in (0, 30)]
        [0.0, 999.0]
        """
        if self.last <= 0 or width <= 1 or column <= 0:
            return 0.0
        if column >= width - 1:
            return float(self.last)
        share = column / (width - 1)
        return math.expm1(share * math.log1p(self.last)) if self.is_log else share * self.last

    def value_of(self, column: int, width: int) -> int:
        """Return the whole number at a column; columns outside have the first or last one.

        >>> [Scale(4).value_of(column, 3) for column in (-1, 0, 1, 2, 9)]
        [0, 0, 2, 4, 4]
        """
        return round(self.value_at(column, width))


class Curve(NamedTuple):
    """A curve and its axes.

    Attributes:
        title: The title of the y axis.
        points: Pairs (x, y) with growing x: the value after x merges.
        last_x: The right edge of the x axis; its left edge is 0.
        y_range: The bottom and the top of the y axis.
        y_label: Formats a number of the y axis.
        log_from: The bottom of a logarithmic y axis; None if the y axis is always linear.
        empty_text: The text shown if there are no points.
    """

    title: str
    points: Sequence[tuple[float, float]] = ()
    last_x: int = 1
    y_range: tuple[float, float] = (0.0, 1.0)
    y_label: Callable[[float], str] = str
    log_from: float | None = None
    empty_text: str = ""

    def y_axis(self, is_log: bool) -> tuple[float, float, bool]:
        """Return the bottom, the top, and whether the axis is logarithmic."""
        if is_log and self.log_from is not None:
            return self.log_from, max(self.y_range[1], 2 * self.log_from), True
        return *self.y_range, False


def compression_curve(
    title: str, points: Sequence[tuple[float, float]], last_x: int, empty_text: str = ""
) -> Curve:
    """Return a curve of bytes per token, which starts with one token per byte."""
    top = max(2.0, math.ceil(max((ratio for _, ratio in points), default=2.0) * 2) / 2)
    return Curve(title, points, last_x, (1.0, top), "{:.1f}".format, empty_text=empty_text)


def curve_rows(curve: Curve, width: int, height: int, *, is_log: bool = False) -> list[str]:
    """Draw a curve as columns of blocks; columns beyond the last point are empty.

    Returns:
        The rows from the top down, each `width` characters wide.

    >>> curve_rows(Curve("", [(0, 0.0), (4, 1.0)], last_x=4), 5, 1)
    ['▁▂▄▆█']
    """
    bottom, top, is_log_y = curve.y_axis(is_log)
    scale = Scale(curve.last_x, is_log)
    levels = []
    index = 0
    for column in range(width):
        x = scale.value_at(column, width)
        while index < len(curve.points) and curve.points[index][0] < x:
            index += 1
        value = _value_at(curve.points, index, x)
        levels.append(0 if value is None else _level(value, height * 8, bottom, top, is_log_y))
    return [
        "".join(_BLOCKS[min(max(level - row * 8, 0), 8)] for level in levels)
        for row in reversed(range(height))
    ]


def _value_at(points: Sequence[tuple[float, float]], index: int, x: float) -> float | None:
    """Return the value at an x; `index` is that of the first point at or after it."""
    if index == len(points):
        return None
    after = points[index]
    if index == 0:
        return after[1]
    before = points[index - 1]
    return before[1] + (x - before[0]) / (after[0] - before[0]) * (after[1] - before[1])


def _level(value: float, n_levels: int, bottom: float, top: float, is_log: bool) -> int:
    if is_log:
        value, bottom, top = (math.log(max(number, bottom)) for number in (value, bottom, top))
    share = (value - bottom) / (top - bottom) if top > bottom else 0.0
    return min(max(round(share * n_levels), 1), n_levels)


class Dragged(Widget):
    """Base of widgets in which presses and drags of the mouse choose a number."""

    @dataclass
    class Moved(Message):
        """The user moved to another number."""

        value: int

        def can_replace(self, message: Message) -> bool:
            """Only the newest number matters."""
            return isinstance(message, Dragged.Moved)

    # Selecting text by a drag would redraw the whole screen at every move.
    ALLOW_SELECT = False
    _is_dragged = False

    def can_go(self) -> bool:
        """Return whether the mouse can choose a number."""
        return True

    @abstractmethod
    def go(self, column: int) -> None:
        """Choose the number at a column, which may be outside the widget."""

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Choose the number under the mouse, and start dragging."""
        if self.can_go():
            event.stop()
            self._is_dragged = True
            self.capture_mouse()
            self.go(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse while a button is pressed; another window may receive the release."""
        if self._is_dragged and not event.button:
            self._let_go()
        elif self._is_dragged:
            self.go(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Stop dragging."""
        if self._is_dragged:
            event.stop()
            self._let_go()

    def _let_go(self) -> None:
        self._is_dragged = False
        self.release_mouse()


class Scrubber(Dragged, can_focus=True):
    """A value between 0 and a last one, which a click or a drag changes.

    The screen handles the arrow keys, because it defines the size of a step.
    """

    DEFAULT_CSS = """
    Scrubber {
        height: 1;
        width: 1fr;
        & > .scrubber--accent { color: $text-accent; }
        & > .scrubber--rest { color: $border-blurred; }
        & > .scrubber--mark { color: $text-warning; text-style: bold; }
        & > .scrubber--handle { color: $text-accent; text-style: bold; }
        &:focus > .scrubber--handle { color: $foreground; background: $block-cursor-background; }
        &:nocolor:focus > .scrubber--handle { text-style: reverse; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"scrubber--{role}" for role in ("accent", "rest", "mark", "handle")
    }

    def __init__(self, *, id: str | None = None) -> None:
        """Create a scrubber with the range 0 to 0."""
        super().__init__(id=id)
        self._value, self._scale = 0, Scale(0)
        self._mark: int | None = None

    def show(self, value: int, scale: Scale, mark: int | None = None) -> None:
        """Show a value on a scale, and optionally a mark at another value."""
        if (value, scale, mark) != (self._value, self._scale, self._mark):
            self._value, self._scale, self._mark = value, scale, mark
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        width = self.size.width
        if width < 1:
            return Strip([])
        handle = self._scale.column_of(self._value, width)
        spans = [Span("━", "accent")] * handle + [Span("●", "handle")]
        spans += [Span("─", "rest")] * (width - handle - 1)
        if self._mark is not None:
            column = self._scale.column_of(self._mark, width)
            if column != handle:
                spans[column] = Span("◆", "mark")
        return draw(spans, RoleStyles(self, "scrubber"), width)

    def go(self, column: int) -> None:
        """Move the handle to a column."""
        value = self._scale.value_of(column, self.size.width)
        if value != self._value:
            self.show(value, self._scale, self._mark)
            self.post_message(self.Moved(value))


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
