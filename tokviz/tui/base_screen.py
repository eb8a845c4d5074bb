"""Base class of all screens of the app, dialogs included."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from tokviz.tui.messages import ScreenReady
from tokviz.tui.textual_private.message_dispatch import HandlerScreen
from tokviz.tui.textual_private.resize_events import fix_resize_events

ResultT = TypeVar("ResultT")


class BaseScreen(HandlerScreen[ResultT], Generic[ResultT]):
    """A screen that reports when it can take input: until then, the app holds input back."""

    is_ready = False
    """Whether the screen shows its first content and can take input."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Create the screen; see `Screen`."""
        super().__init__(*arguments, **options)
        fix_resize_events(self)

    def set_ready(self) -> None:
        """Take input from now on."""
        self.is_ready = True
        self.app.post_message(ScreenReady())
