"""What the mouse of a terminal does and that of Textual's pilot does not."""

from __future__ import annotations

from textual import events
from textual.pilot import Pilot
from textual.widget import Widget


async def drag(pilot: Pilot[None], widget: Widget, offset: tuple[int, int]) -> None:
    """Move the mouse, its left button down, to a place that may lie outside the widget."""
    x, y = offset
    widget.post_message(events.MouseMove(widget, x, y, 0, 0, 1, False, False, False))
    await pilot.pause()


async def click(pilot: Pilot[None], place: tuple[int, int], button: int = 1) -> None:
    """Click as a terminal does, so that clicks close together are told from others.

    A test says by `App.CLICK_CHAIN_TIME_THRESHOLD` what is close.
    """
    for kind in (events.MouseDown, events.MouseUp):
        await pilot.app.on_event(kind(None, *place, 0, 0, button, False, False, False))
    await pilot.pause()
