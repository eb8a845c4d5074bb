"""A screen whose widgets learn of every new size, and that takes no old size for a new one."""

from __future__ import annotations

from textual import events
from textual.geometry import Size
from textual.screen import Screen


class SizedScreen(Screen[None]):
    """Mends two ways in which Textual loses the size of a screen that fits itself to it."""

    def drop_if_outdated(self, event: events.Resize) -> bool:
        """Keep a size that is no longer the terminal's from being laid out.

        A layout tells the screen its size again, so that an old and a new size could take turns for
        ever. To be asked first in `on_resize`.

        Returns:
            Whether the size is outdated.
        """
        outdated: bool = event.size != self.app.size
        if outdated:
            event.prevent_default()
        return outdated

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        """Lay out, and bring the compositor's map up to date at once.

        Textual compares a new layout with that map to tell widgets of their new sizes. But it
        renews an outdated map for anybody who asks for a size in between, and then finds nothing
        new, so that a widget would go on with its old size.
        """
        super()._refresh_layout(size, scroll)
        _ = self._compositor.full_map
