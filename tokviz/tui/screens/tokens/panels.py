"""The side panels and their tabs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

from textual.containers import Container
from textual.widget import Widget

from tokviz.tui.palette import TokenPalette, palette_of
from tokviz.tui.widgets.view_switcher import SwitcherView, ViewSwitcher
from tokviz.workspace.session import Session


class Panel(Protocol):
    """Interface of a side panel."""

    def sync(self) -> None:
        """Update after the document has changed; `set_marks` follows."""
        ...

    def set_marks(self, hover: int | None, pin: int | None, *, scroll: bool = False) -> None:
        """Mark the token under the pointer and the one at the cursor."""
        ...


@runtime_checkable
class ExplainsSelection(Protocol):
    """A panel that explains the selected characters."""

    def set_selection(self, span: tuple[int, int] | None) -> None:
        """Set the selected characters, or None."""
        ...


def _ids(session: Session, palette: TokenPalette) -> Widget:
    """The token ids in order. Pointing at an id highlights its text, and vice versa."""
    from tokviz.tui.widgets.id_grid import IdGrid

    return IdGrid(session.live, palette)


def _splits(session: Session, palette: TokenPalette) -> Widget:
    """The pre-tokens of the text for two named split patterns and your own regex."""
    from tokviz.tui.widgets.splits.panel import SplitsPanel

    panel = SplitsPanel(session.live, palette)
    panel.recall(session)
    return panel


def _token(session: Session, palette: TokenPalette) -> Widget:
    """A token's bytes, rank, merges and other occurrences. Why a selection is not one token."""
    from tokviz.tui.widgets.token_card import TokenCard

    return TokenCard(session.live, palette)


def _mask(session: Session, palette: TokenPalette) -> Widget:
    """The text as a conversation: the tokens in the loss, and why."""
    from tokviz.tui.widgets.mask_panel import MaskPanel

    return MaskPanel(session.live, palette)


class PanelKind(NamedTuple):
    """A side panel that can be shown.

    Attributes:
        id: Its name in settings and actions.
        title: Its tab.
        keys: Its keys.
        make: Creates the widget on first use; its docstring is the help.
        words: Other names of it, for the command palette.
    """

    id: str
    title: str
    keys: tuple[str, ...]
    make: Callable[[Session, TokenPalette], Widget]
    words: str = ""

    @property
    def help(self) -> str:
        """The help text."""
        return self.make.__doc__ or ""


PANELS = (
    PanelKind("ids", "IDs", ("alt+i",), _ids, "numbers list"),
    PanelKind("splits", "Splits", ("alt+s",), _splits, "patterns regex compare pre-tokens"),
    PanelKind("token", "Token", ("alt+t",), _token, "explain why lineage merges bytes"),
    PanelKind("mask", "Mask", ("alt+m",), _mask, "explain chat template training targets"),
)
"""Every side panel of the Tokens screen, in the order of the tabs."""


class SidePanels(ViewSwitcher):
    """The side panels, one visible at a time and each created on first use."""

    def __init__(self, session: Session) -> None:
        """Take the session, which holds the text and the settings of the panels."""

        def turn(kind: PanelKind) -> SwitcherView:
            def make() -> Widget:
                return panel(kind, session, palette_of(self.app))

            return SwitcherView(kind.id, kind.title, f"show_panel('{kind.id}')", make)

        super().__init__([turn(kind) for kind in PANELS], session.settings.panel, id="side")


def panel(kind: PanelKind, session: Session, palette: TokenPalette) -> Widget:
    """Create a panel."""
    widget = kind.make(session, palette)
    widget.add_class("panel", update=False)  # it has no styles yet
    return widget


TOKEN = next(kind for kind in PANELS if kind.id == "token")


class TokenDetail(Container):
    """The token card below another panel, in large terminals."""

    def __init__(self, session: Session) -> None:
        """Take the session; the card is created once there is room for it."""
        super().__init__(id="detail")
        self._session = session
        self._card: Widget | None = None
        self.border_title = " Token "

    @property
    def current(self) -> Widget | None:
        """The card, None if it is hidden."""
        return self._card if self.display else None

    def on_show(self) -> None:
        """Create the card on first use."""
        if self._card is None:
            self._card = panel(TOKEN, self._session, palette_of(self.app))
            self.mount(self._card)
