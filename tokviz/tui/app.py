"""The app: themes, safety nets and the screen; everything else is in `screens` and `widgets`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import App
from textual.binding import BindingType
from textual.command import Provider
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen
from textual.signal import Signal

from tokviz.opening import Opening
from tokviz.settings import Settings, save_settings
from tokviz.tokenizer import Tokenizer
from tokviz.tui.actions.registry import bindings_for
from tokviz.tui.line_filter import SafeLineFilter
from tokviz.tui.palette import TokenPalette, token_palette
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.tui.themes import DARK, LIGHT, THEMES

if TYPE_CHECKING:
    from tokviz.replay.request import ReplayRequest


def _action_provider() -> type[Provider]:
    from tokviz.tui.actions.palette import ActionProvider

    return ActionProvider


class TokvizApp(App[None]):
    """See what a tokenizer does."""

    TITLE = "tokviz"
    # Textual does not read the CSS_PATH of a default screen, so it stands here.
    CSS_PATH: ClassVar[Any] = [
        "app.tcss",
        "screens/tokens/screen.tcss",
    ]
    COMMANDS: ClassVar[set[Any]] = {_action_provider}
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("app")]
    DEFAULT_MODE = SCREENS[0].id
    NOTIFICATION_TIMEOUT = 6

    def __init__(
        self,
        opening: Opening,
        settings: Settings | None = None,
        *,
        driver_class: type[Driver] | None = None,
        remember: bool = True,
    ) -> None:
        """Take what to show first.

        Args:
            opening: The text and the tokenizer.
            settings: The remembered choices.
            driver_class: The driver for this terminal, None for Textual's own choice.
            remember: Whether changed settings and unsaved text are written to the user's folders.
        """
        super().__init__(driver_class=driver_class)
        self.opening = opening
        self.settings = settings or Settings()
        self.remember = remember
        self._screens_known = False
        self.tokenizer_changed: Signal[Tokenizer] = Signal(self, "tokenizer changed")
        """Tells of another tokenizer at hand."""
        for theme in THEMES:
            self.register_theme(theme)
        if self.settings.theme == LIGHT:
            self.theme = LIGHT
        else:
            # As dark as Textual's default, it differs in colours only. Its watcher would parse all
            # styles once more, after they have been parsed with the colours of that default.
            self.set_reactive(App.theme, DARK)
            self.stylesheet.set_variables(self.get_css_variables())

    def get_default_screen(self) -> Screen[Any]:
        """Begin on the first screen."""
        return SCREENS[0].make(self)

    def on_mount(self) -> None:
        """Go to the screen that was asked for."""
        self.app_resume_signal.subscribe(self, lambda _: self.screen.refresh())
        if self.opening.screen != self.current_mode:
            self.action_show_screen(self.opening.screen)

    def action_show_screen(self, screen_id: str) -> None:
        """Go to a screen, which is made when it is first shown and keeps its state from then on."""
        if len(self.screen_stack) > 1:
            # A dialog waits for its answer.
            return
        if not self._screens_known:
            for kind in SCREENS:
                self.add_mode(kind.id, partial(kind.make, self))
            self._screens_known = True
        self.switch_mode(screen_id)

    def action_next_screen(self) -> None:
        """Go to the screen of the next tab."""
        ids = [kind.id for kind in SCREENS]
        self.action_show_screen(ids[(ids.index(self.current_mode) + 1) % len(ids)])

    @property
    def tokens_screen(self) -> TokensScreen:
        """The Tokens screen, whose text and tokenizer the other screens take up."""
        return cast(TokensScreen, self.get_screen_stack(self.DEFAULT_MODE)[0])

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer at hand: the one of the Tokens screen, or the one that it begins with."""
        return self.tokens_screen.live.tokenizer or self.opening.tokenizer

    def use_tokenizer(self, name: str, *, show: bool = True) -> None:
        """Tokenize by another tokenizer, given by its name or its folder.

        Args:
            name: What `tokviz.load` takes.
            show: Whether to go to the Tokens screen.
        """
        if show:
            self.action_show_screen(SCREENS[0].id)
        self.tokens_screen.use_tokenizer(name)

    def pick_tokenizer(self) -> None:
        """Ask for another tokenizer, and use it on every screen."""
        self.tokens_screen.action_pick_tokenizer()

    def load_tokenizer(self, source: str) -> None:
        """Load a tokenizer, given by what `tokviz.load` takes, and use it on every screen."""
        self.tokens_screen.pick_tokenizer(source)

    def action_show_in_vocabulary(self, token_id: int) -> None:
        """Show the page of a token of the tokenizer at hand."""
        self.action_show_screen("vocabulary")
        self.call_after_refresh(self.screen.run_action, f"screen.find_id({token_id})")

    def show_text(self, text: str) -> None:
        """Show a text on the Tokens screen in place of the one there; undo brings that back."""
        self.action_show_screen(SCREENS[0].id)
        self.tokens_screen.replace_all(text)

    def replay(self, request: ReplayRequest) -> None:
        """Show a training or a vocabulary on the Replay screen."""
        self.opening.request = request
        self.action_show_screen("replay")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Let nothing dangerous reach the terminal from any widget, whatever it shows."""
        return [*super().get_line_filters(), _SAFE]

    def token_palette(self) -> TokenPalette:
        """Make the token colours for the theme and for what the terminal can show."""
        colours = "truecolor" if self.is_headless else self.console.color_system
        return token_palette(self.current_theme.dark, colours, self.no_color)

    def change_settings(self, **changes: Any) -> None:
        """Remember choices. They are written when the app ends."""
        self.settings = self.settings._replace(**changes)

    def action_toggle_theme(self) -> None:
        """Change between dark and light."""
        self.theme = LIGHT if self.current_theme.dark else DARK
        self.change_settings(theme=self.theme)

    def action_command_palette(self) -> None:
        """Offer all actions."""
        from tokviz.tui.actions.palette import ActionPalette

        if not isinstance(self.screen, ActionPalette):
            self.push_screen(ActionPalette())

    def action_help(self) -> None:
        """Show the help of the screen."""
        from tokviz.tui.dialogs.help import HelpDialog

        if not isinstance(self.screen, HelpDialog):
            self.push_screen(HelpDialog(self.current_mode))

    async def action_quit(self) -> None:
        """End the app, once a file that is being written is written."""
        await self.workers.wait_for_complete(
            [worker for worker in self.workers if worker.group == "save"]
        )
        self.exit()

    def on_unmount(self) -> None:
        """Remember the choices."""
        if self.remember:
            save_settings(self.settings)


_SAFE = SafeLineFilter()
