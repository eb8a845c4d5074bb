"""The side panels of the Tokens screen: visibility, updates and marks."""

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
    """Switch between side panels, and keep the visible ones up to date."""

    def __init__(
        self,
        screen: TokvizScreen,
        text: TextAtHand,
        right: Container,
        panels: SidePanels,
        detail: TokenDetail,
        one_part: OnePart,
    ) -> None:
        """Take the text, the widgets, and the controller of small terminals."""
        super().__init__(screen)
        self._text = text
        self._right, self._panels, self._detail = right, panels, detail
        self._one_part = one_part
        self.hover: int | None = None
        self._pointed: object = None
        self.pin: int | None = None
        self._show_panels(self.settings.panel_visible)

    # -- updates

    def _in_view(self) -> list[Panel]:
        if not self._right.display:
            return []
        shown = (self._panels.current, self._detail.current)
        return [cast(Panel, panel) for panel in shown if panel is not None]

    def sync(self) -> None:
        """Update the panels and all marks after the document has changed."""
        for panel in self._in_view():
            panel.sync()
        self.follow_cursor()

    def follow_cursor(self) -> None:
        """Mark the token at the cursor in the text and the panels, which explain a selection.

        The token under the pointer stays marked while it is the same.
        """
        if self._token(self.hover) != self._pointed:
            self.hover = self._pointed = None
        editor = self._text.editor
        self.pin = editor.token_at_cursor()
        editor.set_hover(self.hover)
        selected = None if editor.selection.is_empty else self._text.selected_range()
        for panel in self._in_view():
            panel.set_marks(self.hover, self.pin, scroll=True)
            if isinstance(panel, ExplainsSelection):
                panel.set_selection(selected)

    def _token(self, index: int | None) -> object:
        """Return the span and id of a token, which identify it after an edit."""
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

    # -- the current panel

    @action_each(PANELS, "{} panel", call="show_panel", section="Panels")
    def show_panel(self, panel_id: str) -> None:
        """Show a panel, creating it on first use."""
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
        """Show the IDs panel as a list of ids with their text, or again as a grid of ids."""
        was_shown = self._panels.shown == "ids" and self._right.display
        self.show_panel("ids")
        grid = cast("IdGrid", self._panels.current)
        if was_shown or not grid.as_list:
            grid.action_toggle_list()

    @action("Next panel", "f2", section="Panels", footer="next")
    def next_panel(self) -> None:
        """Show the panel to the right of the current one."""
        self._step(1)

    @action("Previous panel", "shift+f2", section="Panels")
    def prev_panel(self) -> None:
        """Show the panel to the left of the current one."""
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
        """True if panels are turned on, even if a small terminal hides them."""
        return not self.screen.has_class("-no-panels")

    def _show_panels(self, wanted: bool) -> None:
        is_token = self._panels.shown == "token"
        set_classes(self.screen, {"-no-panels": not wanted, "-token": is_token})
        self.screen.call_after_refresh(self.sync)

    @action("Show or hide the panels", "f9", section="Panels")
    def toggle_panel(self) -> None:
        """Use the whole width for the text, or share it with the panels."""
        if self._one_part.is_small and self._is_wanted:
            self.switch_focus()
            return
        self._show_panels(not self._is_wanted)
        self.session.change_settings(panel_visible=self._is_wanted)
        if not self._is_wanted:
            self._text.editor.focus()
