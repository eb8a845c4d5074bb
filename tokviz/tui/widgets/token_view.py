"""Base of the views that show tokens in rows, one under the mouse and one pinned."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset

from tokviz.tui.messages import RIGHT, WhyWanted
from tokviz.tui.widgets.line_scroll_view import LineScrollView


class TokenView(LineScrollView):
    """Tokens in rows; keys and clicks pin one. A subclass arranges them."""

    HEARS_RIGHT: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "Previous token", show=False),
        Binding("right", "move(1)", "Next token", show=False),
        Binding("up", "move_rows(-1)", "Up", show=False),
        Binding("down", "move_rows(1)", "Down", show=False),
        Binding("pageup", "move_pages(-1)", "Page up", show=False),
        Binding("pagedown", "move_pages(1)", "Page down", show=False),
        Binding("home", "first", "First token", show=False),
        Binding("end", "last", "Last token", show=False),
        Binding("enter", "pick", "Go to the token", show=False),
    ]

    _hover: int | None = None
    """The token under the mouse."""
    pinned: int | None = None
    """The token that is explained."""

    # -- positions

    @property
    @abstractmethod
    def n_tokens(self) -> int:
        """The number of tokens."""

    @abstractmethod
    def row_of(self, index: int) -> int:
        """Return the row of a token."""

    @abstractmethod
    def row_tokens(self, number: int) -> range:
        """Return the tokens of a row."""

    @abstractmethod
    def token_at(self, x: int, number: int) -> int | None:
        """Return the token drawn at a column of a row."""

    # -- marks

    @abstractmethod
    def hover(self, index: int | None) -> None:
        """Highlight another token, which is under the mouse now."""

    @abstractmethod
    def pin(self, index: int) -> None:
        """Mark a token at once, so that repeated keys move on from it, and notify the screen."""

    def enter(self) -> None:
        """Go to the origin of the pinned token after a double click. The default does nothing."""

    # -- size

    @abstractmethod
    def sync(self) -> None:
        """Lay out and draw the current tokens."""

    def on_resize(self) -> None:
        """Lay out for the new size, and keep the pinned token in view."""
        self.sync()
        if self.pinned is not None and self.size and 0 <= self.pinned < self.n_tokens:
            self.show_row(self.row_of(self.pinned))

    def on_show(self) -> None:
        """Catch up with changes that happened while the tokens were hidden."""
        self.on_resize()

    # -- mouse

    def hover_at(self, place: Offset | None) -> None:
        """Highlight the token under the mouse."""
        index = self._index_at(place)
        if index != self._hover:
            self.hover(index)

    def on_click(self, event: events.Click) -> None:
        """Pin the token under the mouse."""
        index = self._index_at(self.place_at(event))
        if index is not None:
            self._pick(index)
            if event.button == RIGHT:
                self.post_message(WhyWanted())
            elif event.chain == 2:
                self.enter()

    def _index_at(self, place: Offset | None) -> int | None:
        return None if place is None else self.token_at(place.x, place.y)

    # -- keys

    def _pick(self, index: int) -> None:
        if 0 <= index < self.n_tokens:
            self.pin(index)

    def move_to(self, index: int) -> None:
        """Pin a token, or the nearest one."""
        self._pick(max(0, min(index, self.n_tokens - 1)))

    def first_in_view(self) -> int:
        """Return the first token in view."""
        return self.row_tokens(min(self.top_row, max(0, self.virtual_size.height - 1))).start

    def action_move(self, step: int) -> None:
        """Pin a following or preceding token, or the first one in view if none is pinned."""
        self.move_to(self.first_in_view() if self.pinned is None else self.pinned + step)

    def action_move_rows(self, step: int) -> None:
        """Pin a token some rows below, or the first one in view if none is pinned."""
        if self.pinned is None or not self.n_tokens:
            self.action_move(0)
            return
        here = self.row_of(min(self.pinned, self.n_tokens - 1))
        last = self.virtual_size.height - 1
        target = self.row_tokens(max(0, min(here + step, last)))
        if target:
            into = min(self.pinned - self.row_tokens(here).start, len(target) - 1)
            self.move_to(target.start + max(0, into))

    def action_move_pages(self, step: int) -> None:
        """Pin a token some pages below."""
        self.action_move_rows(step * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """Pin the first token."""
        self.move_to(0)

    def action_last(self) -> None:
        """Pin the last token."""
        self.move_to(self.n_tokens - 1)
