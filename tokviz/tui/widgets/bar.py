"""One row of words, some of which can be clicked: the title bar and the key bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, NamedTuple, get_args

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.dom import DOMNode
from textual.strip import Strip
from textual.widget import Widget

from tokviz.tui.widgets.fit import fit_name
from tokviz.tui.widgets.roles import TARGET

Role = Literal["brand", "active", "plain", "key", "chip", "warning"]
ROLES: tuple[Role, ...] = get_args(Role)


_GAP = 2
"""Columns between two items."""
_STAYS = 2
"""The weight of what is never left out of the left end."""


class BarItem(NamedTuple):
    """Some words in a bar.

    Attributes:
        words: What stands there: (text, role) side by side.
        action: The action a click runs, empty for none.
        shorter: What stands there when room is scarce, None to leave the item out.
        node: What does the action, None for the screen or the app that its name begins with.
        weight: When it is left out where room is scarce: 0 before the others, 2 after them.
        least: To how many columns its first words may be cut, 0 if they may not.
    """

    words: tuple[tuple[str, Role], ...]
    action: str = ""
    shorter: tuple[tuple[str, Role], ...] | None = None
    node: DOMNode | None = None
    weight: int = 1
    least: int = 0

    def width(self) -> int:
        """Count the cells."""
        return sum(cell_len(text) for text, _ in self.words)

    def spare(self) -> int:
        """Count the cells by which it may be cut."""
        return max(0, cell_len(self.words[0][0]) - self.least) if self.least else 0

    def cut(self, columns: int) -> BarItem:
        """Cut the first words by so many columns."""
        (text, role), *rest = self.words
        return self._replace(words=((fit_name(text, cell_len(text) - columns), role), *rest))


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

    What does not fit is shortened, cut, then left out: on the left by weight, the last item first;
    the right ones only when nothing is left on the left that may go.

    Args:
        left: The items of the left end.
        right: The items of the right end.
        width: The columns there are.
        more: What stands in place of items of the left end, None for nothing.
    """
    ends = (list(left), list(right))

    def lacking() -> int:
        return sum(map(columns, ends)) - _GAP - width

    def fits() -> bool:
        return lacking() <= sum(item.spare() for items in ends for item in items)

    for items in ends:
        for at, item in reversed(list(enumerate(items))):
            if lacking() > 0 and item.shorter is not None:
                items[at] = item._replace(words=item.shorter, shorter=None)
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
    """Count the cells of items with a gap behind each."""
    return sum(item.width() + _GAP for item in items)


def bar_strip(
    placed: Sequence[PlacedItem], width: int, style_of: Callable[[Role], Style], hovered: str = ""
) -> Strip:
    """Draw placed items over a whole row; the words of the hovered action are underlined."""
    base = style_of("plain")
    segments: list[Segment] = []
    x = 0
    for place_ in placed:
        if place_.start > x:
            segments.append(Segment(" " * (place_.start - x), base))
        for text, role in place_.item.words:
            style = style_of(role)
            if place_.item.action:
                style += TARGET
            if hovered and place_.item.action == hovered:
                style += Style(underline=True)
            segments.append(Segment(text, style))
        x = place_.stop
    if x < width:
        segments.append(Segment(" " * (width - x), base))
    return Strip(segments, max(x, width)).crop(0, width)


class Bar(Widget):
    """A row that draws items and runs their actions when they are clicked."""

    DEFAULT_CSS = """
    Bar {
        height: 1;
        color: $text-muted;
        .bar--brand { color: $accent; text-style: bold; }
        .bar--active { color: $foreground; text-style: bold; }
        .bar--key { color: $accent; text-style: bold; }
        .bar--chip { color: $foreground; text-style: bold; }
        .bar--warning { color: $text-warning; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"bar--{role}" for role in ROLES}

    def __init__(self, *, id: str | None = None) -> None:
        """Make an empty bar."""
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
        """Show other items, as `place` does."""
        if (left, right, more) != (self._left, self._right, self._more):
            self._left, self._right, self._more = left, right, more
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the row."""
        return bar_strip(self._placed(), self.size.width, self._style_of, self._hovered)

    def _style_of(self, role: Role) -> Style:
        return self.get_component_rich_style(f"bar--{role}")

    def _placed(self) -> list[PlacedItem]:
        return place(self._left, self._right, self.size.width, self._more)

    def _item_at(self, x: int) -> BarItem:
        """Give the item at a column of the widget, its padding included, as events have it."""
        x -= self.gutter.left
        found = (placed.item for placed in self._placed() if placed.start <= x < placed.stop)
        return next(found, _NOTHING)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Underline what a click would do."""
        self._hover(self._item_at(event.x).action)

    def on_leave(self) -> None:
        """Underline nothing."""
        self._hover("")

    def _hover(self, action: str) -> None:
        if action != self._hovered:
            self._hovered = action
            self.refresh()

    async def on_click(self, event: events.Click) -> None:
        """Run the action under the mouse."""
        item = self._item_at(event.x)
        if item.action:
            event.stop()
            await self.app.run_action(item.action, item.node or self)


_NOTHING = BarItem(())
