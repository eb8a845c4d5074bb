"""A widget on which a press of the mouse goes somewhere and a drag follows the pointer."""

from __future__ import annotations

from abc import abstractmethod

from textual import events
from textual.message import Message
from textual.widget import Widget


class Dragged(Widget):
    """Turns presses and drags into columns, and tells what stands there."""

    class Moved(Message):
        """The user pointed out another place."""

        def __init__(self, value: int) -> None:
            """Take the number of the place."""
            super().__init__()
            self.value = value

        def can_replace(self, message: Message) -> bool:
            """Only the newest place matters."""
            return isinstance(message, Dragged.Moved)

    # To select text by a drag would paint the whole screen anew at every move.
    ALLOW_SELECT = False
    _is_dragged = False

    def can_go(self) -> bool:
        """Tell whether there is anywhere to go."""
        return True

    @abstractmethod
    def go(self, column: int) -> None:
        """Go where the pointer is; the column may lie outside the widget."""

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Go there."""
        if self.can_go():
            event.stop()
            self._is_dragged = True
            self.capture_mouse()
            self.go(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse while it is pressed: the release may have gone to another window."""
        if self._is_dragged and not event.button:
            self._let_go()
        elif self._is_dragged:
            self.go(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Stay here."""
        if self._is_dragged:
            event.stop()
            self._let_go()

    def _let_go(self) -> None:
        self._is_dragged = False
        self.release_mouse()
