"""One row of words, some of which can be clicked: the title bar and the key bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.dom import DOMNode
from textual.strip import Strip
from textual.widget import Widget

from tokviz.tui.widgets.fit import fit_name
from tokviz.tui.widgets.spans import RoleStyles, RunAction, Span, draw, width_of

_GAP = 2
"""Columns between two items."""
_STAYS = 2
"""The weight of items at the left end that are never left out."""


class BarItem(NamedTuple):
    """An item of a bar.

    Attributes:
        spans: Its text.
        action: The action that a click runs, empty for none.
        shorter: A shorter text for narrow bars, None if there is none.
        node: The node that the action runs on, None for the bar itself.
        weight: Items with a lower weight are left out first. An item of weight 2 at the left end
            always stays.
        least: The fewest columns to which its first span may be cut, 0 if it may not be cut.
    """

    spans: tuple[Span, ...]
    action: str = ""
    shorter: tuple[Span, ...] | None = None
    node: DOMNode | None = None
    weight: int = 1
    least: int = 0

    def width(self) -> int:
        """Count the cells."""
        return width_of(self.spans)

    def spare(self) -> int:
        """Count the cells by which it may be cut."""
        return max(0, cell_len(self.spans[0].text) - self.least) if self.least else 0

    def cut(self, columns: int) -> BarItem:
        """Cut the first span by a number of columns."""
        first, *rest = self.spans
        text = fit_name(first.text, cell_len(first.text) - columns)
        return self._replace(spans=(first._replace(text=text), *rest))


class PlacedItem(NamedTuple):
    """An item with the columns it takes."""

    item: BarItem
    start: int
    stop: int


def place(
    left: Sequence[BarItem],
    right: Sequence[BarItem],
    width: int,
    more: BarItem | None = None,
) -> list[PlacedItem]:
    """Place items from both ends of a row.

    Items that do not fit are shortened, then cut, then left out: at the left end by weight, the
    last item first; at the right end only when the left end cannot be shortened further.

    Args:
        left: The items of the left end.
        right: The items of the right end.
        width: Columns of the row.
        more: An item that replaces items left out of the left end, None for none.
    """
    ends = (list(left), list(right))

    def lacking() -> int:
        return sum(map(columns, ends)) - _GAP - width

    def fits() -> bool:
        return lacking() <= sum(item.spare() for items in ends for item in items)

    for items in ends:
        for at, item in reversed(list(enumerate(items))):
            if lacking() > 0 and item.shorter is not None:
                items[at] = item._replace(spans=item.shorter, shorter=None)
    for items in ends:
        while items and not fits():
            at = min(range(len(items)), key=lambda at: (items[at].weight, -at))
            if items is ends[0] and items[at].weight == _STAYS:
                break
            gone = items.pop(at)
            if more is not None and gone.weight and more not in items and items is ends[0]:
                items.append(more)
    for items in ends:
        for at, item in enumerate(items):
            items[at] = item.cut(min(item.spare(), lacking())) if lacking() > 0 else item
    placed: list[PlacedItem] = []
    for items, x in zip(ends, (0, width - columns(ends[1]) + _GAP), strict=True):
        for item in items:
            placed.append(PlacedItem(item, x, x + item.width()))
            x += item.width() + _GAP
    return placed


def columns(items: Sequence[BarItem]) -> int:
    """Count the cells of items with a gap after each."""
    return sum(item.width() + _GAP for item in items)


def bar_spans(placed: Sequence[PlacedItem]) -> Iterator[Span]:
    """Yield the spans of placed items, with spaces between the items."""
    x = 0
    for item, start, stop in placed:
        if start > x:
            yield Span(" " * (start - x))
        action = RunAction(item.action) if item.action else None
        yield from (span._replace(action=action) for span in item.spans)
        x = stop


class Bar(Widget):
    """A row of items that run their actions when they are clicked."""

    DEFAULT_CSS = """
    Bar {
        height: 1;
        color: $text-muted;
        .bar--heading { color: $foreground; text-style: bold; }
        .bar--key { color: $accent; text-style: bold; }
        .bar--warning { color: $text-warning; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"bar--heading", "bar--key", "bar--warning"}

    def __init__(self, *, id: str | None = None) -> None:
        """Create an empty bar."""
        super().__init__(id=id)
        self._left: Sequence[BarItem] = ()
        self._right: Sequence[BarItem] = ()
        self._more: BarItem | None = None
        self._hovered = ""

    def show(
        self,
        left: Sequence[BarItem],
        right: Sequence[BarItem] = (),
        more: BarItem | None = None,
    ) -> None:
        """Show items; see `place`."""
        if (left, right, more) != (self._left, self._right, self._more):
            self._left, self._right, self._more = left, right, more
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the row."""
        spans, styles = bar_spans(self._placed()), RoleStyles(self, "bar")
        return draw(spans, styles, self.size.width, RunAction(self._hovered))

    def _placed(self) -> list[PlacedItem]:
        return place(self._left, self._right, self.size.width, self._more)

    def _item_at(self, x: int) -> BarItem:
        """Return the item at a column of the widget, counted with its padding as in events."""
        x -= self.gutter.left
        found = (placed.item for placed in self._placed() if placed.start <= x < placed.stop)
        return next(found, _NOTHING)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Underline the item under the mouse."""
        self._hover(self._item_at(event.x).action)

    def on_leave(self) -> None:
        """Underline nothing."""
        self._hover("")

    def _hover(self, action: str) -> None:
        if action != self._hovered:
            self._hovered = action
            self.refresh()

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the item under the mouse."""
        item = self._item_at(event.x)
        if item.action:
            event.stop()
            await self.app.run_action(item.action, item.node or self)


_NOTHING = BarItem(())
