"""The side panels: which there are, which one is shown, and their tabs in the border."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, cast, runtime_checkable

from textual.containers import Container
from textual.widget import Widget

from tokviz.live.document import LiveDocument
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.turns import border_tabs


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


class PanelKind(NamedTuple):
    """A side panel that can be shown.

    Attributes:
        id: Its name in settings and actions.
        title: Its tab.
        make: Makes the widget; called when it is first shown.
    """

    id: str
    title: str
    make: Callable[[LiveDocument, TokenPalette], Widget]


def _make_ids(live: LiveDocument, palette: TokenPalette) -> Widget:
    from tokviz.tui.widgets.id_grid import IdGrid

    return IdGrid(live, palette)


def _make_splits(live: LiveDocument, palette: TokenPalette) -> Widget:
    from tokviz.tui.widgets.splits import SplitsPanel

    return SplitsPanel(live, palette)


def _make_token(live: LiveDocument, palette: TokenPalette) -> Widget:
    from tokviz.tui.widgets.token_card import TokenCard

    return TokenCard(live, palette)


def _make_mask(live: LiveDocument, palette: TokenPalette) -> Widget:
    from tokviz.tui.widgets.mask_panel import MaskPanel

    return MaskPanel(live, palette)


PANELS: tuple[PanelKind, ...] = (
    PanelKind("ids", "IDs", _make_ids),
    PanelKind("splits", "Splits", _make_splits),
    PanelKind("token", "Token", _make_token),
    PanelKind("mask", "Mask", _make_mask),
)
"""Every side panel of the Tokens screen, in the order of their tabs."""


class SidePanels(Container):
    """Holds the side panels, of which one is shown; each is made when it is first shown.

    It begins empty, since the first frame need not wait for a panel: `show` shows one.
    """

    def __init__(self, live: LiveDocument, palette: TokenPalette, shown: str) -> None:
        """Take what the panels show, and which of them is shown first."""
        super().__init__(id="side")
        self._live = live
        self._palette = palette
        self._made: dict[str, Widget] = {}
        self._shown = shown if any(kind.id == shown for kind in PANELS) else PANELS[0].id
        self._draw_tabs()

    @property
    def shown(self) -> str:
        """The id of the panel that is shown."""
        return self._shown

    @property
    def current(self) -> Panel | None:
        """The panel that is shown, None before the first one is."""
        return cast("Panel | None", self.current_widget)

    @property
    def current_widget(self) -> Widget | None:
        """The panel that is shown, as a widget."""
        return self._made.get(self._shown)

    def all_made(self) -> list[Panel]:
        """List the panels that exist."""
        return [cast(Panel, widget) for widget in self._made.values()]

    def show(self, panel_id: str) -> None:
        """Show a panel, making it if need be."""
        self._shown = panel_id
        if panel_id not in self._made:
            self.mount(self._make(panel_id))
        for made_id, widget in self._made.items():
            widget.display = made_id == panel_id
        self._draw_tabs()

    def step(self, by: int) -> None:
        """Show the panel so many tabs further on, in a circle."""
        ids = [kind.id for kind in PANELS]
        self.show(ids[(ids.index(self._shown) + by) % len(ids)])

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw all panels with other colours."""
        self._palette = palette
        for panel in self.all_made():
            panel.set_palette(palette)

    def _make(self, panel_id: str) -> Widget:
        kind = next(kind for kind in PANELS if kind.id == panel_id)
        widget = self._made[panel_id] = kind.make(self._live, self._palette)
        widget.add_class("panel", update=False)  # it has no styles yet
        return widget

    def _draw_tabs(self) -> None:
        self.border_title = border_tabs(
            (kind.title, f"show_{kind.id}", kind.id == self._shown) for kind in PANELS
        )


class TokenDetail(Container):
    """The token card for terminals so large that it can stand beside another panel."""

    def __init__(self, live: LiveDocument, palette: TokenPalette) -> None:
        """Take what the card shows; it is made when there is first room for it."""
        super().__init__(id="detail")
        self._live = live
        self._palette = palette
        self._card: Widget | None = None
        self.border_title = " Token "

    @property
    def current(self) -> Panel | None:
        """The card, None while there is no room for it."""
        return cast(Panel, self._card) if self._card is not None and self.display else None

    def on_show(self) -> None:
        """Make the card when it is first seen."""
        if self._card is None:
            self._card = _make_token(self._live, self._palette)
            self._card.add_class("panel")
            self.mount(self._card)

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        self._palette = palette
        if self._card is not None:
            cast(Panel, self._card).set_palette(palette)
