"""A small terminal: of two parts of a screen it shows the one that has the keyboard."""

from __future__ import annotations

from textual import events, on
from textual.widget import Widget

from tokviz.tui.screens.base import Controller, TokvizScreen


class OnePart(Controller):
    """Tells the style sheet, by the class "-reading", that the second part has the keyboard."""

    def __init__(self, screen: TokvizScreen, second: Widget, *small: str) -> None:
        """Take the second part, and the classes of a screen with room for one part only."""
        super().__init__(screen)
        self._second, self._small = second, small

    @property
    def is_small(self) -> bool:
        """Whether there is room for one part only."""
        return all(map(self.screen.has_class, self._small))

    @property
    def is_away(self) -> bool:
        """Whether the second part cannot be seen for want of room."""
        return self.is_small and not self._second.has_focus_within

    @on(events.DescendantFocus)
    def _focus_moved(self) -> None:
        self.screen.set_class(self._second.has_focus_within, "-reading")
