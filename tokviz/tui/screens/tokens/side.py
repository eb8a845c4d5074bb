"""The side of the Tokens screen: which panels are in view, and what they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import on
from textual.containers import Container

from tokviz.tui.actions import action, action_each
from tokviz.tui.messages import TokenHovered, TokenPicked
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.single_pane import OnePart
from tokviz.tui.screens.tokens.panels import (
    PANELS,
    ExplainsSelection,
    Panel,
    SidePanels,
    TokenDetail,
)
from tokviz.tui.screens.tokens.text import TextAtHand
from tokviz.tui.sizes import set_classes

if TYPE_CHECKING:
    from tokviz.tui.widgets.id_grid import IdGrid


class Side(Controller):
    """Keeps the panels in view up to date, and goes from one to another."""

    def __init__(
        self,
        screen: TokvizScreen,
        text: TextAtHand,
        right: Container,
        panels: SidePanels,
        detail: TokenDetail,
        one_part: OnePart,
    ) -> None:
        """Take the text, the widgets, and what knows whether both parts have room."""
        super().__init__(screen)
        self._text = text
        self._right, self._panels, self._detail = right, panels, detail
        self._one_part = one_part
        self.hover: int | None = None
        self._pointed: object = None
        self.pin: int | None = None
        self._show_panels(self.settings.panel_visible)

    # -- what the panels are told

    def _in_view(self) -> list[Panel]:
        if not self._right.display:
            return []
        shown = (self._panels.current, self._detail.current)
        return [cast(Panel, panel) for panel in shown if panel is not None]

    def sync(self) -> None:
        """Show what has become of the document."""
        for panel in self._in_view():
            panel.sync()
        self.follow_cursor()

    def follow_cursor(self) -> None:
        """Show the token at the cursor, and say what the panels say of a selection."""
        nothing = self._text.editor.selection.is_empty
        for panel in self._in_view():
            panel.set_marks(self.hover, self.pin, scroll=True)
            if isinstance(panel, ExplainsSelection):
                panel.set_selection(None if nothing else self._text.selected_range())

    def pin_cursor_token(self) -> None:
        """Mark the token at the cursor in the text, and the one pointed at while it is the same."""
        if self._token(self.hover) != self._pointed:
            self.hover = self._pointed = None
        self.pin = self._text.editor.token_at_cursor()
        self._text.editor.set_hover(self.hover)

    def _token(self, index: int | None) -> object:
        """Give what tells a token from others that have its index at another time."""
        live = self._text.live
        return None if index is None or index >= live.n_tokens else live.token(index)[:6]

    @on(TokenHovered)
    def _hovered(self, message: TokenHovered) -> None:
        if message.index == self.hover:
            return
        self.hover, self._pointed = message.index, self._token(message.index)
        self._text.editor.set_hover(self.hover)
        for panel in self._in_view():
            panel.set_marks(self.hover, self.pin)

    @on(TokenPicked)
    def _picked(self, message: TokenPicked) -> None:
        self._text.editor.go_to_token(message.index)

    # -- which panel

    @action_each(PANELS, "{} panel", call="show_panel", section="Panels")
    def show_panel(self, panel_id: str) -> None:
        """Show a panel, making it if need be."""
        self._panels.show(panel_id)
        self._panel_changed()

    @action("Go between text and panel", "f5", section="Panels", footer="panel")
    def switch_focus(self) -> None:
        """Move the keyboard from the text to the panel and back."""
        panel = self._panels.current
        if self._text.editor.has_focus and self._right.display and panel is not None:
            panel.focus()
        else:
            self._text.editor.focus()

    @action("Ids with their text, or alone", "shift+f5", section="Panels", footer="ids",
            words="list tokens grid")  # fmt: skip
    def list_ids(self) -> None:
        """Show the IDs panel as a list of ids with their text; again: as a grid of ids."""
        was_shown = self._panels.shown == "ids" and self._right.display
        self.show_panel("ids")
        grid = cast("IdGrid", self._panels.current)
        if was_shown or not grid.as_list:
            grid.action_toggle_list()

    @action("Next panel", "f2", section="Panels", footer="next")
    def next_panel(self) -> None:
        """Show the panel to the right of the one shown now."""
        self._step(1)

    @action("Previous panel", "shift+f2", section="Panels")
    def prev_panel(self) -> None:
        """Show the panel to the left of the one shown now."""
        self._step(-1)

    def _step(self, by: int) -> None:
        if self._is_wanted and not self._one_part.is_hidden:
            self._panels.step(by)
        self._panel_changed()

    def _panel_changed(self) -> None:
        self._show_panels(True)
        if self._one_part.is_small:
            self._panels.focus()
        self.session.change_settings(panel=self._panels.shown, panel_visible=True)

    @property
    def _is_wanted(self) -> bool:
        """Whether the user wants to see the panels; a small terminal may have no room for them."""
        return not self.screen.has_class("-no-panels")

    def _show_panels(self, wanted: bool) -> None:
        is_token = self._panels.shown == "token"
        set_classes(self.screen, {"-no-panels": not wanted, "-token": is_token})
        self.screen.call_after_refresh(self.sync)

    @action("Show or hide the panels", "f9", section="Panels")
    def toggle_panel(self) -> None:
        """Give the whole width to the text, or share it with the panels."""
        if self._one_part.is_small and self._is_wanted:
            self.switch_focus()
            return
        self._show_panels(not self._is_wanted)
        self.session.change_settings(panel_visible=self._is_wanted)
        if not self._is_wanted:
            self._text.editor.focus()
