"""A widget that was measured before its first layout learns its size."""

from __future__ import annotations

import pytest
from textual._compositor import Compositor
from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

from tokviz.tui.textual_private.resize_events import LayoutCompositor


class Sized(Widget):
    resized = False

    def on_resize(self) -> None:
        self.resized = True


async def is_resized_though_measured_early(compositor: type[Compositor]) -> bool:
    class Measured(Screen[None]):
        def __init__(self) -> None:
            super().__init__()
            self._compositor = compositor()

    app = App[None]()
    async with app.run_test() as pilot:
        screen = Measured()
        await app.push_screen(screen)
        await pilot.pause()
        widget = Sized()
        await screen.mount(widget)
        screen._compositor.update_widgets({widget})  # as a repaint before the layout does
        assert widget.region
        await pilot.pause()
        return widget.resized


@pytest.mark.parametrize(
    ("compositor", "is_resized"), [(LayoutCompositor, True), (Compositor, False)]
)
async def test_only_textual_itself_needs_the_workaround(
    compositor: type[Compositor], is_resized: bool
) -> None:
    assert await is_resized_though_measured_early(compositor) is is_resized
