"""The app. Its text, tokenizers and settings are in its session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.actions import ActionParseResult, parse
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen
from textual.worker import WorkerCancelled, WorkerFailed

from tokviz.errors import TokvizError
from tokviz.guide import sections
from tokviz.text.glyphs import safe_lines
from tokviz.text.sentences import sentence
from tokviz.tokenizer.pretokenize import regex_process
from tokviz.tui.actions import (
    LEADER,
    PREFIX,
    Action,
    Gesture,
    action,
    actions,
    bindings_of,
    declared_by,
    declared_in,
    doable,
    everywhere_but,
)
from tokviz.tui.checks import check_config
from tokviz.tui.dialogs.base import Modal
from tokviz.tui.error_notices import ErrorNotices
from tokviz.tui.idle_gc import IdleCollector
from tokviz.tui.input_queue import InputQueue
from tokviz.tui.line_filter import InTurn, OwnColours, SafeLineFilter
from tokviz.tui.messages import Question, ScreenReady
from tokviz.tui.palette import TakesPalette, palette_of
from tokviz.tui.screen_switcher import ScreenSwitcher, screen_class
from tokviz.tui.screens.base import TokvizScreen, ask
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.screens.safekeeping import unless_unsaved
from tokviz.tui.session_files import SessionFiles, SettingsWriter
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.textual_private.app_errors import ErrorHandlingApp
from tokviz.tui.textual_private.notices import dismiss_notices
from tokviz.tui.textual_private.one_shot_timers import fix_one_shot_timers
from tokviz.tui.textual_private.resize_events import screen_strips
from tokviz.tui.themes import DARK, OWN, THEMES, fellow, load_user_themes, theme
from tokviz.tui.widgets.view_switcher import neighbour, title_around
from tokviz.workspace.error_log import ErrorLog
from tokviz.workspace.session import Asked, Session, SessionFileRequested, SettingsChanged
from tokviz.workspace.settings import SettingError, check_file, config_path

if TYPE_CHECKING:
    from tokviz.tui.tour import Tour

IMPORT_SECONDS = 1.0
"""Delay before the other screens are imported, because the first frame needs the processor."""

GC_INTERVAL_SECONDS = 0.25
"""Seconds between checks for garbage."""

GESTURES = (
    Gesture("Click a tab", "Shows that screen."),
    Gesture("Click a word such as merge", "Opens the glossary at that word."),
    Gesture("Click outside a dialog", "Closes the dialog without a change."),
    Gesture("Right-click a row of a list", "Only highlights it, to rename or delete it."),
)


class TokvizApp(ErrorHandlingApp):
    """The terminal app: its themes, its global actions, and the parts that it is composed of."""

    TITLE = "tokviz"
    # Textual does not read the CSS_PATH of a default screen.
    CSS_PATH: ClassVar[Any] = [
        "app.tcss",
        "screens/tokens/screen.tcss",
    ]
    DEFAULT_MODE = SCREENS[0].id
    NOTIFICATION_TIMEOUT = 6

    def __init__(
        self,
        session: Session,
        *,
        driver_class: type[Driver] | None = None,
        errors: ErrorLog | None = None,
    ) -> None:
        """Create the app.

        Args:
            session: The text, the tokenizer, the settings, and the first request to a screen.
            driver_class: The driver for this terminal, None for Textual's own choice.
            errors: Records unexpected errors, which the app then survives. Without it, the first
                error ends the app, as tests need it.
        """
        fix_one_shot_timers()
        super().__init__(driver_class=driver_class)
        self.session = session
        self.is_exiting = False
        """True after `exit` was called."""
        self.errors = None if errors is None else ErrorNotices(self, errors)
        self.input = InputQueue(self, session, self.can_take_input, self._deliver)
        self.switcher = ScreenSwitcher(self, session)
        self.session_files = SessionFiles(self, session, self.switcher.created)
        for found in declared_by(SessionFiles):
            setattr(self, PREFIX + found.method, getattr(self.session_files, found.method))
        self._settings_writer = SettingsWriter(self, session)
        self._collector = IdleCollector()
        session.subscribe(Asked, lambda change: self.switcher.show(change.screen))
        open_file = self.session_files.open_file
        session.subscribe(SessionFileRequested, lambda change: open_file(change.path))
        self._quit_dialog: Screen[Any] | None = None
        self.tour: Tour | None = None
        # Without a driver of its own it may be drawn for a test or a browser, whatever $TERM is.
        self._colours = self.console.color_system if driver_class else "truecolor"
        load_user_themes()
        chosen = session.settings.theme if session.settings.theme in THEMES else DARK
        self.register_theme(theme(chosen, self._colours))
        self.theme = chosen

    # -- input

    async def on_event(self, event: events.Event) -> None:
        """Pass input to the queue, and other events to Textual."""
        await self.input.take(event)

    async def _deliver(self, event: events.Event) -> None:
        try:
            await super().on_event(event)
        except Exception as error:
            if self.errors is None:
                raise
            self.handle_error(error)

    def can_take_input(self) -> bool:
        """Return whether the current screen is ready."""
        is_there = self.is_running and bool(self.screen_stack)
        return is_there and bool(getattr(self.screen, "is_ready", True))

    async def on_screen_ready(self) -> None:
        """Deliver input that was waiting."""
        await self.input.deliver_next()

    def on_question(self, message: Question) -> None:
        """Ask for permission before work continues."""
        from tokviz.tui.dialogs.confirm import ConfirmDialog

        def answer(is_allowed: bool | None) -> None:
            (message.yes if is_allowed else message.no)()

        self.push_screen(ConfirmDialog("Large file", message.text, "read it"), answer)

    def exit(self, *arguments: Any, **options: Any) -> None:
        """Exit the app, and remember that it is exiting."""
        self.is_exiting = True
        self.input.close()
        super().exit(*arguments, **options)

    # -- errors

    def handle_error(self, error: Exception) -> None:
        """Report an unexpected error and continue; end if it occurs twice, or at the start."""
        if self.errors is None:
            super().handle_error(error)
            return
        noted = self.errors.record(error)
        if self.is_exiting:
            return  # the app ends by itself, with its own exit code
        if not self.screen_stack or not getattr(self.screen_stack[0], "is_ready", True):
            super().handle_error(error)
            return
        if noted.times == 1:
            for screen in self.switcher.created.values():
                screen.keep()
        self.errors.report(noted)

    @action("Copy the last unexpected error", section="App")
    def action_copy_error(self) -> None:
        """Copy the error with its traceback, for a bug report."""
        if self.errors is not None:
            self.run_worker(self.errors.copy_last(), exit_on_error=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse actions that are not possible now."""
        has_error = self.errors is not None and self.errors.last_error is not None
        return action != "copy_error" or has_error

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action, unless it is an action of a screen that is no longer the current one."""
        node = self if default_namespace is None else default_namespace
        if node is not self and node.is_attached and node.screen is not self.screen:
            namespace, *_ = parse(action) if isinstance(action, str) else action
            if namespace == "screen":
                return False
        return await super().run_action(action, default_namespace, namespaces)

    # -- screens

    def get_default_screen(self) -> Screen[Any]:
        """Return the first screen."""
        return self.switcher.screen(self.DEFAULT_MODE)

    def on_mount(self) -> None:
        """Show the requested screen, and follow changes of settings, theme and screen."""
        for kind in SCREENS:
            self.add_mode(kind.id, partial(self.switcher.screen, kind.id))
        self.session.subscribe(SettingsChanged, lambda _: self._settings_writer.schedule())
        self.theme_changed_signal.subscribe(self, lambda _: self._change_palette())
        self.app_resume_signal.subscribe(self, lambda _: self.screen.refresh())
        self.screen_change_signal.subscribe(self, lambda _: self._screen_changed())
        if self.session.first_screen != self.current_mode:
            self.action_show_screen(self.session.first_screen)
        self.set_timer(IMPORT_SECONDS, self._import_screens)
        self.set_interval(
            GC_INTERVAL_SECONDS,
            lambda: self._collector.collect(monotonic() - self.input.last_input),
        )
        session = self.session
        is_plain_start = session.is_sample and session.first_screen == self.DEFAULT_MODE
        if session.remember and session.settings.tour and is_plain_start:
            self.set_timer(IMPORT_SECONDS, self._start_tour)

    def _screen_changed(self) -> None:
        # Keys may have waited for a dialog that closed before it could take them.
        self.post_message(ScreenReady())
        self.input.restore_focus()
        # The tour's line must be there in the first frame, or it would push the content down.
        if self.tour is not None:
            self.tour.look()

    def _import_screens(self) -> None:
        """Import the other screens in a thread, so that each opens faster."""

        def work(task: Task) -> str:
            for kind in SCREENS:
                screen_class(kind.id)
            return config_complaint() if self.session.remember else ""

        def report(complaint: str) -> None:
            if complaint:
                self.notify(complaint, severity="warning", markup=False)

        in_thread(self, "import", work, report)

    @action("Go to a screen, and more keys", LEADER, section="Screens", footer="screens")
    def action_more_keys(self) -> None:
        """Show what each second key does: go to a screen, or replace a key that you lack."""
        from tokviz.tui.dialogs.more_keys import MoreKeys

        if isinstance(self.screen, MoreKeys):
            self.screen.take(LEADER)
            return
        offers = [offer for offer in doable(self, self.screen) if offer[0].second_keys()]

        async def run(index: int) -> None:
            action, node = offers[index]
            await self.run_action(action.call, node)

        ask(self, MoreKeys([action for action, _ in offers]), run)

    @actions(
        *(
            action(
                f"{kind.title} screen",
                f"{LEADER} {number}",
                *kind.keys,
                section="Screens",
                id=f"{kind.id}_screen",
                help=kind.help,
                call=f"show_screen('{kind.id}')",
                footer=kind.title,
                words=kind.words,
            )
            for number, kind in enumerate(SCREENS, 1)
        )
    )
    def action_show_screen(self, screen_id: str) -> None:
        """Go to a screen. Close dialogs as Esc closes them."""
        for dialog in self.screen_stack[:0:-1]:
            if isinstance(dialog, Modal):
                dialog.give_up()
        self.switcher.show(screen_id)

    @action("Next screen", f"{LEADER} {LEADER}", "f11", section="Screens", footer="next screen")
    def action_next_screen(self) -> None:
        """Go to the next screen. Work on this one continues."""
        ids = [kind.id for kind in SCREENS]
        self.action_show_screen(neighbour(ids, self.current_mode))

    # -- theme

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return filters that keep unsafe characters of any widget from the terminal."""
        own = [_OWN_COLOURS] if self.theme.startswith(OWN) else []
        return [_in_turn(*super().get_line_filters(), _SAFE, *own)]

    @action(
        "Dark or light",
        "f10",
        f"{LEADER} d",
        section="View",
        words="settings config theme color colours mode",
    )
    def action_toggle_theme(self) -> None:
        """Switch between the dark and the light version of the theme."""
        self._use_theme(fellow(self.theme))

    @action("Theme…", f"{LEADER} c", section="View",
            words="settings config colors colours contrast blind accessibility")  # fmt: skip
    def action_choose_theme(self) -> None:
        """Choose the colors: also for color blindness, high contrast, or the terminal's own."""
        from tokviz.tui.dialogs.pick import Option, PickDialog

        options = [Option(name, name, help=look.help) for name, look in THEMES.items()]
        ask(self, PickDialog("Theme", options, current=self.theme), self._use_theme)

    def _use_theme(self, name: str) -> None:
        self.register_theme(theme(name, self._colours))
        self.theme = name
        self.session.change_settings(theme=name)

    def _change_palette(self) -> None:
        """Draw tokens in the theme's colors on every screen and dialog."""
        palette = palette_of(self)
        for screen in {*self.switcher.created.values(), *self.screen_stack}:
            for node in screen.walk_children():
                if isinstance(node, TakesPalette):
                    node.set_palette(palette)

    # -- notifications

    def notify(self, message: str, **options: Any) -> None:
        """Show a notification; replace the same one if it is still displayed."""
        text = safe_lines(message)
        dismiss_notices(self, lambda notice: notice.message == text)
        super().notify(text, **options)

    # -- other actions

    @action("Command palette", "ctrl+p", section="App")
    def action_command_palette(self) -> None:
        """Find and run any action by its name."""
        from tokviz.tui.dialogs.action_palette import ActionPalette, offers_elsewhere, offers_here

        if not isinstance(self.screen, ActionPalette):
            palette = ActionPalette(offers_here(self), lambda: list(offers_elsewhere(self)))
            ask(self, palette, lambda offer: offer.do())

    @action(
        "Help",
        "f1",
        "question_mark",
        f"{LEADER} question_mark",
        section="App",
        footer="help",
        stays=True,
        priority=False,
        words="tutorial manual documentation guide shortcuts",
    )
    def action_help(self) -> None:
        """Show the keys, panels and mouse actions of the current screen.

        ? opens it, too, where you are not typing.
        """
        from tokviz.tui.dialogs.help import HelpDialog

        if not isinstance(self.screen, HelpDialog):
            mode = self.current_mode
            self.push_screen(HelpDialog(explained_on(mode), gestures_on(mode)))

    @action("Settings and keys", section="App", id="settings", call="guide('settings')",
            help="How to change settings, themes and keys. The terminal sets the font.",
            words="preferences options config keybindings shortcuts font")  # fmt: skip
    @action("Guide", f"{LEADER} h", section="App",
            words="manual documentation tutorial read learn how")  # fmt: skip
    def action_guide(self, name: str = "", heading: str = "") -> None:
        """Open the page about the current panel or screen, with examples, and all other pages."""
        from tokviz.tui.dialogs.guide import GuideDialog

        if not name and self.focused is not None:
            title = title_around(self.focused)
            headings = [part.title for part in sections([self.current_mode])]
            heading = next((found for found in headings if title.startswith(found)), "")
        self.push_screen(GuideDialog(name or self.current_mode, heading))

    @action(
        "Jump to a place on the screen",
        "ctrl+space",
        "ctrl+@",
        f"{LEADER} space",
        section="Screens",
        words="letters labels hints go click mouse",
    )
    def action_jump(self) -> None:
        """Label everything you can focus or click; type a label to go there."""
        from tokviz.tui.dialogs.jump import JumpMode, Target, click, targets

        screen = self.screen
        if isinstance(screen, JumpMode):
            screen.dismiss(None)
            return

        def chosen(target: Target) -> None:
            if target.takes is not None:
                screen.set_focus(target.takes)
            else:
                for event in click(target.place):
                    self.post_message(event)

        strips = screen_strips(screen)
        ask(self, JumpMode(targets(screen, strips), strips), chosen)

    @action("Glossary", f"{LEADER} g", section="App",
            words="word term meaning define lookup explain rank merge lossless")  # fmt: skip
    def action_glossary(self) -> None:
        """Explain the words on the screen. A click on a word opens it, too."""
        screen, shown = self.screen, ""
        if isinstance(screen, TokvizScreen):
            near = screen.read((self.focused or screen).region)
            shown = near + screen.read(screen.region)
        self.action_define("", shown)

    def action_define(self, word: str, shown: str = "") -> None:
        """Open the glossary at a word."""
        from tokviz.tui.dialogs.pick import GlossaryDialog

        self.push_screen(GlossaryDialog(word, shown))

    @action("First steps", f"{LEADER} f", section="App", words="tour tutorial begin learn newcomer")
    def action_first_steps(self) -> None:
        """Show what to try next, above each screen. The same key skips a step or ends it."""
        from tokviz.tui.dialogs.pick import Option, PickDialog

        if self._start_tour():
            return
        options = [Option("skip_step", "Skip this step"), Option("end_tour", "End the first steps")]
        dialog = PickDialog("First steps", options)
        ask(self, dialog, lambda answer: self.run_action(f"app.{answer}"))

    def _start_tour(self) -> bool:
        """Start the tour; return False if it is running already."""
        from tokviz.tui.tour import Tour

        can_start = self.tour is None or self.tour.is_over
        if can_start:
            self.tour = Tour(self, self.session)
        return can_start

    def action_skip_step(self) -> None:
        """Skip a step of the tour."""
        if self.tour is not None:
            self.tour.skip()

    def action_end_tour(self) -> None:
        """End the tour."""
        if self.tour is not None:
            self.tour.end()

    @action("Quit", "ctrl+q", section="App", words="exit close end")
    async def action_quit(self) -> None:
        """Quit tokviz. It asks first if changes are unsaved or a training is running.

        The next start offers unsaved changes again.
        """
        # In a worker, because the app's own task must handle keys while a slow disk writes.
        self.run_worker(self._quit(), group="quit", exclusive=True)

    async def _quit(self) -> None:
        for saving in [worker for worker in self.workers if worker.group == "save"]:
            with suppress(WorkerFailed, WorkerCancelled):
                await saving.wait()
        if self._quit_dialog is None or self._quit_dialog is not self.screen:
            mounted = self.switcher.mounted()
            again = partial(self.call_later, self.action_quit)
            for screen in mounted:
                self._quit_dialog = screen.ask_to_end(again)
                if self._quit_dialog is not None:
                    return
            losses = [loss for screen in mounted for loss in screen.unsaved()]
            after = "The next start offers it again." if self.session.remember else ""
            self._quit_dialog = unless_unsaved(self, losses, "quit", self.exit, again, after)

    def on_unmount(self) -> None:
        """Write the settings, and end the process that runs untrusted regexes."""
        regex_process.close()
        self.session.write_settings()

    @classmethod
    def declared(cls) -> list[Action]:
        """List the actions of the app and of its parts."""
        return [*declared_by(cls), *declared_by(SessionFiles)]

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_of([*declared_in(locals()), *declared_by(SessionFiles)])
    ]


APP_ACTIONS: list[Action] = TokvizApp.declared()
"""The actions of every screen."""


def actions_on(screen_id: str) -> list[Action]:
    """List the actions of a screen, then those of every screen."""
    return [*screen_class(screen_id).declared(), *APP_ACTIONS]


def explained_on(screen_id: str) -> list[Action]:
    """List the actions that the help of a screen explains, including those of its widgets."""
    screen = screen_class(screen_id)
    parts = [found for part in screen.parts() for found in declared_by(part)]
    keys = everywhere_but(actions_on(screen_id))
    return [*screen.declared(), *parts, *keys, *APP_ACTIONS]


def actions_everywhere() -> dict[str, list[Action]]:
    """List the actions of each screen, by its title."""
    return {kind.title: explained_on(kind.id) for kind in SCREENS}


def check_settings(path: Path) -> list[SettingError]:
    """List the errors in a settings file; see `checks.check_config`."""
    return check_config(path, actions_everywhere())


def config_complaint() -> str:
    """Describe the first error in the user's settings; empty if there is none, or no file."""
    path = config_path()
    with suppress(TokvizError):
        found = [*check_settings(path), *check_file(path.with_name("state.toml"))]
        more = f" `tokviz config check` lists {len(found) - 1} more." if found[1:] else ""
        return sentence(str(found[0])) + more if found else ""
    return ""


def gestures_on(screen_id: str) -> list[Gesture]:
    """List the mouse gestures of a screen."""
    return [*screen_class(screen_id).GESTURES, *GESTURES]


_SAFE = SafeLineFilter()
_in_turn = lru_cache(4)(InTurn)
_OWN_COLOURS = OwnColours()
