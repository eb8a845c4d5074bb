"""A button of one line that runs an action."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static


class PushButton(Static, can_focus=True):
    """Words that can be clicked, or pressed with Enter or Space.

    A click leaves the focus where it is, so that the user can continue to type afterwards.
    """

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
        /* Nothing is mixed with the ground: of 16 colours none may be between them. */
        &:disabled:can-focus { color: $text-disabled; text-style: none; opacity: 1; }
        &:nocolor:focus { text-style: reverse; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "press", show=False)]

    def __init__(
        self, label: str, action: str, *, id: str | None = None, classes: str = ""
    ) -> None:
        """Take what stands on it and the action it runs."""
        super().__init__(Content(label), id=id, classes=classes)
        self._action = action

    async def action_press(self) -> None:
        """Run the action."""
        await self.run_action(self._action)

    async def on_click(self, event: events.Click) -> None:
        """Run the action."""
        event.stop()
        await self.action_press()
