"""A button of one line that runs an action.

It differs from Textual's `Button(compact=True)`: a click keeps the focus, so that the user can
continue to type, Space presses it, and it stays readable in 16 colors and without color.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static


class PushButton(Static, can_focus=True):
    """A label that runs an action on a click, Enter or Space."""

    FOCUS_ON_CLICK = False

    DEFAULT_CSS = """
    PushButton {
        width: auto;
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $text-accent;
        &.-main { text-style: bold; }
        &:hover { text-style: underline; }
        &.-main:hover { text-style: bold underline; }
        &:focus {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: bold;
        }
        /* No opacity: 16 colors may not include a mixed color. */
        &:disabled:can-focus { color: $text-disabled; text-style: none; opacity: 1; }
        &:nocolor:focus { text-style: reverse; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "press", show=False)]

    def __init__(
        self, label: str, action: str, *, id: str | None = None, classes: str = ""
    ) -> None:
        """Create a button with a label and an action."""
        super().__init__(Content(label), id=id, classes=classes)
        self._action = action

    async def action_press(self) -> None:
        """Run the action."""
        await self.run_action(self._action)

    async def on_click(self, event: events.Click) -> None:
        """Run the action."""
        event.stop()
        await self.action_press()
