"""The side panels: which there are, which one is shown, and their tabs in the border."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

from textual.containers import Container
from textual.widget import Widget

from tokviz.tui.palette import TokenPalette, palette_of
from tokviz.tui.widgets.view_switcher import Turn, Turns
from tokviz.workspace.session import Session


class Panel(Protocol):
    """What every side panel can do."""

    def sync(self) -> None:
        """Show what has become of the document; `set_marks` follows."""
        ...

    def set_marks(self, hover: int | None, pin: int | None, *, scroll: bool = False) -> None:
        """Mark the token under the pointer and the one at the cursor."""
        ...


@runtime_checkable
class ExplainsSelection(Protocol):
    """A panel that has something to say of the selected characters."""

    def set_selection(self, span: tuple[int, int] | None) -> None:
        """Take the selected characters, None if nothing is selected."""
        ...


def _ids(session: Session, palette: TokenPalette) -> Widget:
    """The token ids in order. Pointing at one lights up its text, and the other way round."""
    from tokviz.tui.widgets.id_grid import IdGrid

    return IdGrid(session.live, palette)


def _splits(session: Session, palette: TokenPalette) -> Widget:
    """The pre-tokens that two named patterns and your own regex cut from the same text."""
    from tokviz.tui.widgets.splits.panel import SplitsPanel

    panel = SplitsPanel(session.live, palette)
    panel.recall(session)
    return panel


def _token(session: Session, palette: TokenPalette) -> Widget:
    """A token: bytes, rank, merges, where else it occurs. Why a selected text is not one token."""
    from tokviz.tui.widgets.token_card import TokenCard

    return TokenCard(session.live, palette)


def _mask(session: Session, palette: TokenPalette) -> Widget:
    """The text as a conversation: which tokens a model learns from, and why."""
    from tokviz.tui.widgets.mask_panel import MaskPanel

    return MaskPanel(session.live, palette)


class PanelKind(NamedTuple):
    """A side panel that can be shown.

    Attributes:
        id: Its name in settings and actions.
        title: Its tab.
        keys: Its keys.
        make: Makes the widget when it is first shown; its docstring is the help.
        words: What people call it besides, for the command palette.
    """

    id: str
    title: str
    keys: tuple[str, ...]
    make: Callable[[Session, TokenPalette], Widget]
    words: str = ""

    @property
    def help(self) -> str:
        """What it shows."""
        return self.make.__doc__ or ""


PANELS = (
    PanelKind("ids", "IDs", ("alt+i",), _ids, "numbers list"),
    PanelKind(
        "splits", "Splits", ("alt+s",), _splits, "patterns regex compare pre-tokens pre-tokens"
    ),
    PanelKind("token", "Token", ("alt+t",), _token, "explain why lineage merges bytes"),
    PanelKind("mask", "Mask", ("alt+m",), _mask, "explain chat template training targets"),
)
"""Every side panel of the Tokens screen, in the order of the tabs."""


class SidePanels(Turns):
    """Holds the side panels, of which one is shown; each is made when it is first shown."""

    def __init__(self, session: Session) -> None:
        """Take what the panels show, and what is remembered of them."""

        def turn(kind: PanelKind) -> Turn:
            def make() -> Widget:
                return panel(kind, session, palette_of(self.app))

            return Turn(kind.id, kind.title, f"show_panel('{kind.id}')", make)

        super().__init__([turn(kind) for kind in PANELS], session.settings.panel, id="side")


def panel(kind: PanelKind, session: Session, palette: TokenPalette) -> Widget:
    """Make a panel."""
    widget = kind.make(session, palette)
    widget.add_class("panel", update=False)  # it has no styles yet
    return widget


TOKEN = next(kind for kind in PANELS if kind.id == "token")


class TokenDetail(Container):
    """The token card for terminals so large that it can stand beside another panel."""

    def __init__(self, session: Session) -> None:
        """Take what the card shows; it is made when there is first room for it."""
        super().__init__(id="detail")
        self._session = session
        self._card: Widget | None = None
        self.border_title = " Token "

    @property
    def current(self) -> Widget | None:
        """The card, None while there is no room for it."""
        return self._card if self.display else None

    def on_show(self) -> None:
        """Make the card when it is first seen."""
        if self._card is None:
            self._card = panel(TOKEN, self._session, palette_of(self.app))
            self.mount(self._card)
