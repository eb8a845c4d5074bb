"""Lists of rows, one of which is highlighted. Only visible rows are drawn.

A `RowList` is moved by a field above it, which has the focus; a `PickList` has the focus itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from tokviz.tui.messages import RIGHT, WhyWanted
from tokviz.tui.widgets.line_scroll_view import LineScrollView
from tokviz.tui.widgets.spans import Role, Span, draw

RowT = TypeVar("RowT")

MOVES: tuple[BindingType, ...] = (
    Binding("down", "move(1)", show=False),
    Binding("up", "move(-1)", show=False),
    Binding("pagedown", "page(1)", show=False),
    Binding("pageup", "page(-1)", show=False),
)
"""The keys that move the highlight, for the list and for the field that has the focus."""


class RowList(LineScrollView, Generic[RowT], can_focus=False):
    """Rows of any kind, one of them highlighted.

    A frame draws only the visible rows, so 100,000 rows are as fast as ten.
    """

    PREFIX = "row-list"
    HEARS_RIGHT: ClassVar[bool] = True
    ANSWERS_WHY: ClassVar[bool] = False
    """Whether a right click also requests an explanation of the row."""
    DEFAULT_CSS = """
    RowList {
        height: 1fr;
        overflow-y: auto;
        background: transparent;
        & > .row-list--hover { background: $block-hover-background; }
        & > .row-list--highlighted {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
        }
        & > .row-list--heading { text-style: bold; }
        & > .row-list--dim { color: $text-muted; }
        & > .row-list--accent { color: $text-accent; }
        & > .row-list--warning { color: $text-warning; }
        &:nocolor > .row-list--highlighted { text-style: reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"row-list--{name}"
        for name in ("hover", "highlighted", "heading", "dim", "accent", "warning")
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("home", "edge(-1)", show=False),
        Binding("end", "edge(1)", show=False),
        Binding("enter", "pick", show=False),
    ]

    highlighted: reactive[int | None] = reactive(None)
    """Index of the highlighted row."""
    hovered: reactive[int | None] = reactive(None)
    """Index of the row under the mouse."""

    _is_following = False

    class Highlighted(Message):
        """Another row is highlighted, or none."""

    class Moved(Message):
        """The user moved the highlight by a key."""

        def __init__(self, rows: RowList[Any], index: int) -> None:
            """Take the list, and the index of the row.

            The list may show other rows when the message is handled: `row` is the intended one.
            """
            super().__init__()
            self.rows = rows
            self.index = index
            self.row = rows.rows[index]

        @property
        def control(self) -> Widget:
            """The list, for selectors of handlers."""
            return self.rows

    class Picked(Moved):
        """The user pressed Enter on a row, or clicked it."""

        def __init__(self, rows: RowList[Any], index: int, again: bool) -> None:
            """Take the list, the row's index, and whether the row was highlighted already."""
            super().__init__(rows, index)
            self.again = again

    def __init__(self, paint: Callable[[RowT, int], Sequence[Span]], *, id: str | None = None):
        """Take the function that returns the spans of a row for a width in cells."""
        super().__init__(id=id)
        self._paint = paint
        self._clicked: RowT | None = None
        self.rows: Sequence[RowT] = ()
        self.empty_text = ""
        """The text shown if there are no rows."""

    def show(self, rows: Sequence[RowT], highlighted: int | None) -> None:
        """Show other rows, highlight one of them, and scroll to it."""
        self.rows = rows
        self.hovered = None
        self.virtual_size = Size(0, len(rows))
        self.set_reactive(RowList.highlighted, None)
        self.highlighted = highlighted if rows else None
        if highlighted is None:
            self.scroll_to(y=0, animate=False, force=True)
        self.refresh()

    def follow(self, index: int) -> None:
        """Highlight a row; if it is out of view, scroll it to the middle."""
        height, top = self.scrollable_content_region.height, self.top_row
        if height and not top <= index < top + height:
            self.scroll_to(y=max(0, index - height // 2), animate=False, force=True)
            self._is_following = True
        self.highlighted = index
        self._is_following = False

    @property
    def row(self) -> RowT | None:
        """The highlighted row."""
        return None if self.highlighted is None else self.rows[self.highlighted]

    def move(self, step: int) -> None:
        """Move the highlight by a number of rows, stopping at the ends."""
        if not self.rows:
            return
        if self.highlighted is None:
            self.highlighted = 0 if step > 0 else len(self.rows) - 1
        else:
            self.highlighted = min(max(self.highlighted + step, 0), len(self.rows) - 1)

    @property
    def page(self) -> int:
        """How many rows a page key moves."""
        return max(1, self.scrollable_content_region.height - 1)

    # -- keys

    def action_move(self, step: int) -> None:
        """Move the highlight."""
        self.move(step)
        if self.highlighted is not None:
            self.post_message(RowList.Moved(self, self.highlighted))

    def action_page(self, step: int) -> None:
        """Move the highlight by a page."""
        self.action_move(step * self.page)

    def action_edge(self, side: int) -> None:
        """Move the highlight to the first row or the last."""
        self.action_move(side * len(self.rows))

    def action_pick(self) -> None:
        """Pick the highlighted row."""
        if self.highlighted is not None:
            self.post_message(RowList.Picked(self, self.highlighted, True))

    # -- drawing

    def watch_highlighted(self, highlighted: int | None) -> None:
        """Bring the row into view, and post `Highlighted`."""
        self.current_row = highlighted or 0
        self._reveal()
        self.post_message(self.Highlighted())

    def on_resize(self) -> None:
        """Keep the highlighted row in view."""
        self._reveal()

    def _reveal(self) -> None:
        """Scroll as little as needed to show the highlighted row.

        `force` is needed because a list whose rows were just set has no scrollbar yet.
        """
        height = self.scrollable_content_region.height
        if self.highlighted is None or self._is_following or not height:
            return
        first = self.top_row
        if not first <= self.highlighted < first + height:
            above = self.highlighted < first
            y = self.highlighted if above else self.highlighted - height + 1
            self.scroll_to(y=y, animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        """Draw a row of the view."""
        width = self.row_width
        index = y + self.top_row
        styles = self.role_styles
        if index >= len(self.rows):
            return draw([Span("" if self.rows or y else self.empty_text, "dim")], styles, width)
        mark = self._mark_of(index)
        style = styles.base + styles[mark]
        plain = mark == "highlighted" and self.app.no_color
        segments = [
            Segment(span.text, style if plain else style + self._span_style(span.role, mark))
            for span in self._paint(self.rows[index], width)
        ]
        return Strip(segments).adjust_cell_length(width, style)

    def _span_style(self, role: Role, mark: str) -> Style:
        """Return the style of a role in a row that is marked "highlighted", "hover" or "text"."""
        return self.role_styles[role]

    def _mark_of(self, index: int) -> str:
        if index == self.highlighted:
            return "highlighted"
        return "hover" if index == self.hovered else "text"

    # -- mouse

    def index_at(self, event: events.MouseEvent) -> int | None:
        """Return the index of the row under the mouse."""
        place = self.place_at(event)
        return None if place is None else place.y

    def hover_at(self, place: Offset | None) -> None:
        """Mark the row under the mouse."""
        self.hovered = None if place is None else place.y

    def on_click(self, event: events.Click) -> None:
        """Highlight the row and pick it."""
        self.take_click(event)

    def take_click(self, event: events.Click) -> int | None:
        """Pick the row under the mouse; a right click only highlights it.

        The second click of a double click does not pick another row that has moved there.

        Returns:
            The row's index, None if none was picked.
        """
        index = self.index_at(event)
        if index is None:
            return None
        event.stop()
        before, self._clicked = self._clicked, self.rows[index]
        if event.chain > 1 and before != self._clicked:
            return None
        again = index == self.highlighted
        self.highlighted = index
        if event.button == RIGHT:
            self.post_message(RowList.Moved(self, index))
            if self.ANSWERS_WHY:
                self.post_message(WhyWanted())
            return None
        self.post_message(RowList.Picked(self, index, again))
        return index


class PickList(RowList[RowT], can_focus=True):
    """A list in which the user picks a row by moving to it, by Enter or by a click."""

    ANSWERS_WHY = True
    DEFAULT_CSS = """
    PickList {
        &:blur > .row-list--highlighted {
            background: $block-hover-background;
            color: $foreground;
            text-style: bold;
        }
        &:nocolor:blur > .row-list--highlighted { text-style: bold underline; }
    }
    """
