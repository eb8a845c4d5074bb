"""The side panels: which there are, which one is shown, and their tabs in the border."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from textual.containers import Container
from textual.widget import Widget

from tokviz.live.document import LiveDocument
from tokviz.tui.palette import TokenPalette, palette_of
from tokviz.tui.widgets.turns import Turn, Turns


class Panel(Protocol):
    """What every side panel can do."""

    def sync(self) -> None:
        """Show what has become of the document."""
        ...

    def set_marks(self, hover: int | None, pin: int | None, *, scroll: bool = False) -> None:
        """Mark the token under the pointer and the one at the cursor."""
        ...

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        ...


@runtime_checkable
class ExplainsSelection(Protocol):
    """A panel that has something to say of the selected characters."""

    def set_selection(self, span: tuple[int, int] | None) -> None:
        """Take the selected characters, None if nothing is selected."""
        ...


def _ids(live: LiveDocument, palette: TokenPalette) -> Widget:
    from tokviz.tui.widgets.id_grid import IdGrid

    return IdGrid(live, palette)


def _splits(live: LiveDocument, palette: TokenPalette) -> Widget:
    from tokviz.tui.widgets.splits.panel import SplitsPanel

    return SplitsPanel(live, palette)


def _token(live: LiveDocument, palette: TokenPalette) -> Widget:
    from tokviz.tui.widgets.token_card import TokenCard

    return TokenCard(live, palette)


def _mask(live: LiveDocument, palette: TokenPalette) -> Widget:
    from tokviz.tui.widgets.mask_panel import MaskPanel

    return MaskPanel(live, palette)


PANELS: tuple[tuple[str, str, Callable[[LiveDocument, TokenPalette], Widget]], ...] = (
    ("ids", "IDs", _ids),
    ("splits", "Splits", _splits),
    ("token", "Token", _token),
    ("mask", "Mask", _mask),
)
"""Every side panel of the Tokens screen, in the order of the tabs: its id, its tab, its widget."""


class SidePanels(Turns):
    """Holds the side panels, of which one is shown; each is made when it is first shown."""

    def __init__(self, live: LiveDocument, shown: str) -> None:
        """Take what the panels show, and which of them is shown first."""

        def turn(id: str, title: str, make: Callable[[LiveDocument, TokenPalette], Widget]) -> Turn:
            return Turn(id, title, f"show_{id}", lambda: panel(make, live, palette_of(self.app)))

        super().__init__([turn(*kind) for kind in PANELS], shown, id="side")


def panel(
    make: Callable[[LiveDocument, TokenPalette], Widget],
    live: LiveDocument,
    palette: TokenPalette,
) -> Widget:
    """Make a panel."""
    widget = make(live, palette)
    widget.add_class("panel", update=False)  # it has no styles yet
    return widget


class TokenDetail(Container):
    """The token card for terminals so large that it can stand beside another panel."""

    def __init__(self, live: LiveDocument) -> None:
        """Take what the card shows; it is made when there is first room for it."""
        super().__init__(id="detail")
        self._live = live
        self._card: Widget | None = None
        self.border_title = " Token "

    @property
    def current(self) -> Widget | None:
        """The card, None while there is no room for it."""
        return self._card if self.display else None

    def on_show(self) -> None:
        """Make the card when it is first seen."""
        if self._card is None:
            self._card = panel(_token, self._live, palette_of(self.app))
            self.mount(self._card)
