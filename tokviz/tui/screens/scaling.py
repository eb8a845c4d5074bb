"""The scale of curves: linear, or logarithmic if the user wants it."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen


class Scaling(Controller):
    """Has everything that stands over the merges drawn on the scale that the user chose."""

    def __init__(self, screen: TokvizScreen, draw: Callable[[bool], object]) -> None:
        """Take what draws it, told whether the scale is logarithmic."""
        super().__init__(screen)
        self._draw = draw

    def show(self) -> None:
        """Draw on the scale in force."""
        self._draw(self.settings.log_scale)

    @action("Linear or logarithmic curves", "f9", section="Curves")
    def toggle_scale(self) -> None:
        """Linear shows how much is gained by how many merges; logarithmic, how it begins."""
        self.session.change_settings(log_scale=not self.settings.log_scale)
        self.show()
