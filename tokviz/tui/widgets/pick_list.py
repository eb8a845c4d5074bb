"""A list of rows that has the keyboard itself."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget

from tokviz.tui.dialogs.row_list import RowList

RowT = TypeVar("RowT")


class PickList(RowList[RowT], can_focus=True):
    """Rows of which the user picks one: by moving to it, by Enter, or by a click."""

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
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("home", "edge(-1)", show=False),
        Binding("end", "edge(1)", show=False),
        Binding("enter", "pick", show=False),
    ]

    _is_following = False

    class Moved(Message):
        """The user moved the highlight by a key."""

        def __init__(self, picks: Widget, index: int) -> None:
            """Take the list, and the index of the row."""
            super().__init__()
            self.picks = picks
            self.index = index

        @property
        def control(self) -> Widget:
            """The list, for selectors of handlers."""
            return self.picks

    class Picked(Moved):
        """The user pressed Enter on a row, or clicked it."""

    def follow(self, index: int) -> None:
        """Highlight a row from outside; one that is out of view comes to its middle."""
        height, top = self.scrollable_content_region.height, round(self.scroll_offset.y)
        if height and not top <= index < top + height:
            self.scroll_to(y=max(0, index - height // 2), animate=False, force=True)
            self._is_following = True
        self.highlighted = index
        self._is_following = False

    def _reveal(self) -> None:
        if not self._is_following:
            super()._reveal()

    def watch_highlighted(self, old: int | None, new: int | None) -> None:  # type: ignore[override]
        """Draw the two rows that change, and tell."""
        self._reveal()
        top = round(self.scroll_offset.y)
        for index in (old, new):
            if index is not None and 0 <= index - top < self.size.height:
                self.refresh(Region(0, index - top, self.size.width, 1))
        self.post_message(self.Highlighted())

    def action_move(self, step: int) -> None:
        """Move the highlight."""
        self.move(step)
        if self.highlighted is not None:
            self.post_message(self.Moved(self, self.highlighted))

    def action_page(self, step: int) -> None:
        """Move the highlight by a page."""
        self.action_move(step * self.page)

    def action_edge(self, side: int) -> None:
        """Move the highlight to the first row or the last."""
        self.action_move(side * len(self.rows))

    def action_pick(self) -> None:
        """Pick the highlighted row."""
        if self.highlighted is not None:
            self.post_message(self.Picked(self, self.highlighted))

    def on_click(self, event: events.Click) -> None:
        """Pick the row under the mouse."""
        event.prevent_default()
        index = self._index_at(event)
        if index is not None:
            event.stop()
            self.highlighted = index
            self.post_message(self.Picked(self, index))
