"""Show one of two panes in a small terminal: the one that has the focus."""

from __future__ import annotations

from textual import events, on
from textual.widget import Widget

from tokviz.tui.screens.base import Controller, TokvizScreen


class OnePart(Controller):
    """Sets the class "-reading" while the second pane has the focus."""

    def __init__(self, screen: TokvizScreen, second: Widget, *small: str) -> None:
        """Create the controller.

        Args:
            screen: The screen.
            second: The second pane.
            *small: The classes of a screen that is too small for both panes.
        """
        super().__init__(screen)
        self._second, self._small = second, small

    @property
    def is_small(self) -> bool:
        """Whether the screen shows one pane only."""
        return all(map(self.screen.has_class, self._small))

    @property
    def is_hidden(self) -> bool:
        """Whether the second pane is hidden."""
        return self.is_small and not self._second.has_focus_within

    @on(events.DescendantFocus)
    def _focus_moved(self) -> None:
        self.screen.set_class(self._second.has_focus_within, "-reading")
