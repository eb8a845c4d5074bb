"""The app: themes, safety nets and screens. What it is about is the session."""

from __future__ import annotations

import asyncio
import gc
import traceback
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import events
from textual.actions import ActionParseResult, parse
from textual.app import App
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.driver import Driver
from textual.filter import LineFilter
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import WorkerCancelled, WorkerFailed

from tokviz.errors import TokvizError
from tokviz.process.memory import give_back
from tokviz.storage.files import write_file
from tokviz.storage.listing import home_label
from tokviz.text.glyphs import safe_lines
from tokviz.text.sentences import failure_message, sentence
from tokviz.tui.actions import (
    LEADER,
    Action,
    Gesture,
    Kind,
    action,
    actions,
    bindings_of,
    declared_by,
    declared_in,
    doable,
    everywhere_but,
)
from tokviz.tui.line_filter import InTurn, OwnColours, SafeLineFilter
from tokviz.tui.messages import Begun, Question
from tokviz.tui.palette import TakesPalette, palette_of
from tokviz.tui.screens.base import TokvizScreen, ask
from tokviz.tui.screens.choosing import cancel_pending_loads
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.screens.safekeeping import unless_unsaved
from tokviz.tui.stale_clicks import IdleClicks, widget_at
from tokviz.tui.tasks import Task, dismiss_notice, in_thread, stop_work
from tokviz.tui.textual_private.notices import dismiss_notices
from tokviz.tui.textual_private.one_shot_timers import fix_one_shot_timers
from tokviz.tui.textual_private.resize_events import screen_strips
from tokviz.tui.themes import DARK, OWN, THEMES, fellow, theme
from tokviz.tui.widgets.editor.editor import TokenEditor
from tokviz.tui.widgets.view_switcher import neighbour
from tokviz.workspace.error_log import ErrorLog, ErrorReport
from tokviz.workspace.session import (
    SESSION_ENDING,
    Asked,
    Session,
    SessionFileRequested,
    SettingsChanged,
)
from tokviz.workspace.settings import SettingError, check_file, config_path

if TYPE_CHECKING:
    from tokviz.tui.tour import Tour

SETTINGS_SECONDS = 0.3
"""How long a changed choice waits until it is written."""

IMPORT_SECONDS = 1.0
"""How long the first screen has the computer for itself."""

PAUSE_SECONDS = 1.0
"""Behind a key or a click nobody waits for so long."""

SOME_GARBAGE = 3
"""Looks at what is new after which one at everything is worth while: it may be 15 MB by then."""

LONG_PAUSE_SECONDS = 10.0
"""In a pause like this all is looked at, also what outlived a look before, which takes longer."""

MANY_LOOKS = 20
"""Looks at what is new after which all is looked at though no pause was long."""

ESCAPE_SECONDS = 0.5
"""An Esc this soon after one that closed a dialog was meant for the dialog too."""

ANSWER_SECONDS = 1.0
"""How long the next key waits for what a key does, at most; longer for a long text."""

_PREPARING = "A long text is being put in"

_ANSWERS = ("enter", "escape")
"""Keys that close a dialog, and mean nothing more right behind one that has closed it."""

GESTURES = (
    Gesture("Click a tab", "Shows that screen."),
    Gesture("Click a word such as merge", "Says what it means: see the glossary."),
    Gesture("Click outside a dialog", "Closes the dialog, nothing changes."),
    Gesture("Right-click a row of a list", "Only highlights it, to rename or delete it."),
)


def screen_class(screen_id: str) -> type[TokvizScreen]:
    """Import a screen."""
    found: type[TokvizScreen] = import_module(f"tokviz.tui.screens.{screen_id}").SCREEN
    return found


class TokvizApp(App[None]):
    """See what a tokenizer does."""

    TITLE = "tokviz"
    # Textual does not read the CSS_PATH of a default screen, so it stands here.
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
        """Take what the app is about.

        Args:
            session: The text, the tokenizer, the settings, and what is to be shown first.
            driver_class: The driver for this terminal, None for Textual's own choice.
            errors: Remembers unexpected errors, which the app then outlives; without it the first
                one ends the app, as tests want it.
        """
        fix_one_shot_timers()
        super().__init__(driver_class=driver_class)
        self._errors = errors
        self._last_error: ErrorReport | None = None
        self.is_exiting = False
        """Whether `exit` was called."""
        self._waiting: deque[events.Event] = deque()
        self._answering: list[MessagePump] | None = None
        self._is_preparing = False
        """Whether it was said that what is pressed waits for a long text."""
        self._asked: tuple[str, Screen[Any] | None] = "", None
        self._typed: Widget | None = None
        self._pressed: tuple[Screen[Any], Widget | None] | None = None
        """The screen that was last pressed with the mouse, and its focused widget before that."""
        self._passing: str | None = None
        """The screen that was asked for last, if it was not gone to."""
        self._is_undrawn = self._is_late = False
        """Whether the screen that was gone to was not seen yet, and whether another waits."""
        self.session = session
        session.subscribe(Asked, lambda change: self._show_screen(change.screen))
        session.subscribe(SessionFileRequested, lambda change: self._open_session(change.path))
        self._imported = False
        self._made: dict[str, TokvizScreen] = {}
        self._session_file: Path | None = None
        self._question: Screen[Any] | None = None
        self._touched = 0.0
        self._looks = 0
        self._tour: Tour | None = None
        self._escaped = float("-inf")
        self._idle_clicks = IdleClicks()
        self._saving: Timer | None = None
        self._complaint: str | None = None
        # Without a driver of its own it may be drawn for a test or a browser, whatever $TERM is.
        self._colours = self.console.color_system if driver_class else "truecolor"
        chosen = session.settings.theme if session.settings.theme in THEMES else DARK
        self.register_theme(theme(chosen, self._colours))
        self.theme = chosen

    # -- input

    async def on_event(self, event: events.Event) -> None:
        """Let input wait until what it is meant for is there, and drop it once that is gone."""
        if isinstance(event, events.InputEvent | events.Paste):
            if self.is_exiting or not self.screen_stack:
                return
            # What no widget wanted comes back, forwarded by then, from the screen that it was for.
            if event.__dict__.get("aimed_at", self.screen) is not self.screen:
                return
            if not event.is_forwarded:
                if self._waiting or self._answering is not None or not self._is_ready():
                    if self._is_preparing and getattr(event, "key", "") == "escape":
                        self._waiting.clear()
                    elif self._may_end(event):
                        await self.action_quit()
                    else:
                        self._waiting.append(event)
                    return
                event.__dict__["aimed_at"] = self.screen
        await self._take(event)

    def _is_ready(self) -> bool:
        if not (self.is_running and self.screen_stack) or self._is_late:  # it is ending
            return False
        return bool(getattr(self.screen, "has_begun", True))

    def _may_end(self, event: events.Event) -> bool:
        """Tell whether this quits while a long text is read, and nothing was pressed before it."""
        if self._waiting or not self.session.live.has_rest or not isinstance(event, events.Key):
            return False
        asked = self.active_bindings.get(event.key)
        return asked is not None and asked.binding.action == "quit"

    async def on_begun(self, message: Begun) -> None:
        """Take the input that waited, one by one: the next may have to wait for what this does."""
        if self._is_undrawn:
            self._await_drawing()
        if self._waiting and self._answering is None and self._is_ready() and not self.is_exiting:
            event = self._waiting.popleft()
            event.__dict__["aimed_at"] = self.screen
            try:
                await self._take(event)
            finally:
                self.post_message(message)

    def on_question(self, message: Question) -> None:
        """Ask what work has to know before it goes on."""
        from tokviz.tui.dialogs.confirm import ConfirmDialog

        def answered(yes: bool | None) -> None:
            (message.yes if yes else message.no)()

        self.push_screen(ConfirmDialog("Large file", message.text, "read it"), answered)

    def _overtakes(self, event: events.Event) -> bool:
        """Let what would overtake letters or a paste wait until they are in the text: tell so."""
        typed = self._typed
        if typed is None or event.is_forwarded or not self._is_command(event):
            return False
        self._typed = None
        self._waiting.appendleft(event)
        self._let_answer([typed])
        return True

    def _is_command(self, event: events.Event) -> bool:
        """Tell whether something else than what has the keyboard hears of this first."""
        if not isinstance(event, events.Key):
            return isinstance(event, events.MouseUp)
        active = self.active_bindings.get(event.key)
        return active is not None and active.binding.priority

    async def _take(self, event: events.Event) -> None:
        if self._overtakes(event):
            return
        if isinstance(event, events.Key) and event.key == "escape":
            is_alone = len(self.screen_stack) == 1
            if self._is_too_many(event) or (is_alone and stop_work(self)):
                return
        if (
            isinstance(event, events.MouseDown | events.MouseUp)
            and not event.is_forwarded
            and self._idle_clicks.take(event, self.screen)
        ):
            return
        is_input = isinstance(event, events.InputEvent)
        if is_input:
            if isinstance(self.screen, TokvizScreen):
                # A busy screen hears late that it is seen again.
                self.screen.follow_tokenizer()
            self._touched = monotonic()
        if isinstance(event, events.MouseDown) and not event.is_forwarded:
            self._pressed = self.screen, self.focused
        if (
            isinstance(event, events.InputEvent | events.Paste)
            and not event.is_forwarded
            and isinstance(self.focused, TokenEditor)
            and self.focused.coalesces(event)
        ):
            return
        answering: list[MessagePump] = []
        if isinstance(event, events.Key | events.MouseUp) and not event.is_forwarded:
            answering = self._answerers(event)
            self._asked = getattr(event, "key", ""), self.screen
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._typed = None if answering else self.focused
        try:
            await super().on_event(event)
        except Exception as error:
            if self._errors is None:
                raise
            self._handle_exception(error)
        if answering:
            self._let_answer(answering)

    def _answerers(self, event: events.Key | events.MouseUp) -> list[MessagePump]:
        """List what may have something to do for a key or click, in the order of hearing of it.

        A letter that is typed into a text leads nowhere else, so nothing needs to wait for it.
        """
        asked = self.focused or self.screen
        if isinstance(event, events.MouseUp):
            asked = widget_at(self.screen, event.screen_offset) or asked
        elif asked.check_consume_key(event.key, event.character):
            return []
        screens = self.screen_stack[-2::-1]
        return [*(node for node in asked.ancestors_with_self if node is not self), *screens, self]

    def _let_answer(self, answering: list[MessagePump]) -> None:
        self._answering = answering
        self._limit_wait(answering, answering[0])
        self._wait_for(answering)

    def _limit_wait(self, answering: list[MessagePump], first: MessagePump) -> None:
        """Wait no longer than a while, but where a text would be saved without what was pasted.

        Whatever else keeps a widget from its queue, it must not keep the keys from the others.
        """

        def end() -> None:
            if answering is not self._answering or not getattr(first, "is_preparing", False):
                self._wait_for(answering, True)
                return
            if not self._is_preparing:
                self._is_preparing = True
                self.notify(f"{_PREPARING}… Esc drops what was pressed since.", markup=False)
            self._limit_wait(answering, first)

        asyncio.get_running_loop().call_later(ANSWER_SECONDS, end)

    def _wait_for(self, answering: list[MessagePump], is_late: bool = False) -> None:
        """Take the next input once all of these have done what a key asked them for.

        Each has a queue. What a key does passes through them from the widget that has it upwards,
        and so does this, behind it. Those that are closed by then are left out.
        """
        if answering is not self._answering:
            return
        while answering and not is_late:
            if answering.pop(0).call_later(self._wait_for, answering):
                return
        self._answering = None
        if self._is_preparing:
            self._is_preparing = False
            dismiss_notice(self, f"{_PREPARING}…")
        (key, asked), self._asked, self._pressed = self._asked, ("", None), None
        if key in _ANSWERS and asked not in self.screen_stack:
            # Pressed too often: what it meant is gone.
            while self._waiting and getattr(self._waiting[0], "key", None) == key:
                self._waiting.popleft()
        self.post_message(Begun())

    def _is_too_many(self, escape: events.Key) -> bool:
        """Tell whether an Esc comes right behind one in a dialog, which is not there any more."""
        is_soon = escape.time - self._escaped < ESCAPE_SECONDS
        is_in_dialog = len(self.screen_stack) > 1
        if is_soon or is_in_dialog:
            self._escaped = escape.time
        return is_soon and not is_in_dialog

    def exit(self, *arguments: Any, **options: Any) -> None:
        """Exit the app, and remember that it is exiting."""
        self.is_exiting = True
        super().exit(*arguments, **options)

    # -- errors

    def _handle_exception(self, error: Exception) -> None:
        """Say that something went wrong, and go on; end if it is the second time or the start.

        What is typed is safe: it is written down at once, and once more at the end.
        """
        if self._errors is None:
            super()._handle_exception(error)
            return
        noted = self._errors.note(error.error if isinstance(error, WorkerFailed) else error)
        if self.is_exiting:
            return  # it ends by itself, with the exit code that it was given
        if not self.screen_stack or not getattr(self.screen_stack[0], "has_begun", True):
            super()._handle_exception(error)
        elif noted.times > 1:
            where = f" The whole error is in {noted.file}." if noted.file else ""
            words = f"tokviz ended, since this went wrong twice: {noted.summary}.{where}"
            self.exit(return_code=1, message=Text(words))
        else:
            self._last_error = noted
            for screen in self._made.values():
                screen.keep()
            self._show_error(noted)

    def _fatal_error(self) -> None:
        """End with the traceback alone.

        Textual would draw the variables too, which takes minutes where one of them is a long text.
        """
        self.bell()
        self.panic(Text(safe_lines(traceback.format_exc())))

    def _show_error(self, noted: ErrorReport) -> None:
        # What Textual makes markup of again leaves a lone bracket as it is, and cannot be read.
        summary, where = (
            text.replace("[", r"\[")
            for text in (noted.summary, f" It is in {noted.file} too." if noted.file else "")
        )
        copy = "[@click=app.copy_error]Copy the whole error[/]"
        text = f"{summary}. Your text is safe. {copy}{where}"
        self.notify(text, title="Unexpected error", severity="error", timeout=30)

    @action("Copy the last unexpected error", section="App")
    def action_copy_error(self) -> None:
        """What went wrong, with its place in the program, for a report."""
        if self._last_error is not None:
            self.run_worker(self._copy_error(self._last_error.trace), exit_on_error=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse what makes no sense now."""
        return action != "copy_error" or self._last_error is not None

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Do what a key or a link says, but not on a screen that came after the one it was on."""
        asker = self if default_namespace is None else default_namespace
        if asker is not self and asker.is_attached and asker.screen is not self.screen:
            asked, *_ = parse(action) if isinstance(action, str) else action
            if asked == "screen":
                return False
        return await super().run_action(action, default_namespace, namespaces)

    async def _copy_error(self, trace: str) -> None:
        from tokviz.tui.clipboard import copied, copy

        self.notify(copied(await copy(self, trace), "the error"), markup=False)

    # -- screens

    def get_default_screen(self) -> Screen[Any]:
        """Begin on the first screen."""
        return self._make_screen(self.DEFAULT_MODE)

    def _make_screen(self, screen_id: str) -> TokvizScreen:
        if screen_id in self._made:
            return self._made[screen_id]
        screen = self._made[screen_id] = screen_class(screen_id)(self.session)
        return screen

    def on_mount(self) -> None:
        """Go to the screen that was asked for, and write choices when they change."""
        for kind in SCREENS:
            self.add_mode(kind.id, partial(self._make_screen, kind.id))
        self.session.subscribe(SettingsChanged, lambda _: self._settings_changed())
        self.theme_changed_signal.subscribe(self, lambda _: self._change_palette())
        self.app_resume_signal.subscribe(self, lambda _: self.screen.refresh())
        self.screen_change_signal.subscribe(self, lambda _: self._screen_changed())
        if self.session.first_screen != self.current_mode:
            self.action_show_screen(self.session.first_screen)
        self.set_timer(IMPORT_SECONDS, self._import_screens)
        self.set_interval(PAUSE_SECONDS / 4, self._use_pause)
        session = self.session
        is_plain_start = session.is_sample and session.first_screen == self.DEFAULT_MODE
        if session.remember and session.settings.tour and is_plain_start:
            self.set_timer(IMPORT_SECONDS, self._begin_tour)

    def _screen_changed(self) -> None:
        # Keys may have waited for a dialog that is gone before it could take them.
        self.post_message(Begun())
        if self._pressed is not None and self._pressed[0] in self.screen_stack[:-1]:
            # A dialog opened by a click leaves the focus where it was before the click.
            screen, focused = self._pressed
            screen.set_focus(focused, scroll_visible=False)
        # The line of the tour comes with a screen: later it would push down what is there.
        if self._tour is not None:
            self._tour.look()

    def _use_pause(self) -> None:
        seconds = monotonic() - self._touched
        is_pause = seconds > PAUSE_SECONDS
        self._collect(is_pause, seconds > LONG_PAUSE_SECONDS)

    def _collect(self, is_pause: bool, is_long: bool) -> None:
        """Look for garbage: in little bites, and in a pause, before that has to be done at a key.

        What outlives a look is left out of the next ones, which then take less, until a pause is
        long or comes after many. What is freed goes back to the system in a pause: that takes some
        milliseconds for 100 MB.
        """
        is_due = gc.get_count()[2] >= SOME_GARBAGE
        if (is_due or (is_long and self._looks)) and gc.isenabled():
            is_whole = is_long or (is_pause and self._looks >= MANY_LOOKS)
            if is_whole:
                gc.unfreeze()
            gc.collect()
            self._looks = 0 if is_whole else self._looks + 1
            gc.freeze()
            if is_pause:
                give_back()

    def _import_screens(self) -> None:
        """Import the other screens in a thread, so that each is quicker to come."""

        def work(task: Task) -> str:
            for kind in SCREENS:
                screen_class(kind.id)
            return config_complaint() if self.session.remember else ""

        def done(complaint: str) -> None:
            self._imported = True
            if complaint:
                self.notify(complaint, severity="warning", markup=False)

        in_thread(self, "import", work, done)

    @action("Go to a screen, and more keys", LEADER, section="Screens", footer="screens")
    def action_more_keys(self) -> None:
        """Show what a second key does: go to a screen, and what stands in for keys you lack."""
        from tokviz.tui.dialogs.more_keys import MoreKeys

        if isinstance(self.screen, MoreKeys):
            self.screen.take(LEADER)
            return
        found = [(one, node) for one, node in doable(self, self.screen) if one.second_keys()]

        async def chosen(at: int) -> None:
            action, node = found[at]
            await self.run_action(action.call, node)

        ask(self, MoreKeys([one for one, _ in found]), chosen)

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
        """Go to a screen, which is made when it is first shown and keeps its state from then on.

        Dialogs are closed as Esc closes them.
        """
        from tokviz.tui.dialogs.base import Modal

        for dialog in self.screen_stack[:0:-1]:
            if isinstance(dialog, Modal):
                dialog.give_up()
        self._show_screen(screen_id)

    def _show_screen(self, screen_id: str, may_wait: bool = True) -> None:
        if len(self.screen_stack) > 1 or not self.is_running:
            # A dialog waits for its answer; or one screen after the other is taken apart.
            return
        following = [
            event.key for event in islice(self._waiting, 2) if isinstance(event, events.Key)
        ]
        if {*following[:1], " ".join(following)} & _SCREEN_KEYS:
            # To make a screen takes long. One that is left at once is not worth it.
            self._passing = screen_id
            return
        has_more = self._is_undrawn or (may_wait and self.message_queue_size > 0)
        if has_more and screen_id != self.current_mode:
            # Of all that are asked for until one can be seen, only the last is worth drawing.
            if not (self._is_undrawn or self._is_late):
                self.call_later(self._screen_drawn)
            self._passing, self._is_late = screen_id, True
            return
        self._passing, self._is_late = None, False
        if screen_id == self.current_mode:
            return
        self.switch_mode(screen_id)
        self._is_undrawn = True
        self._await_drawing()

    def _await_drawing(self) -> None:
        """Wait until the current screen is drawn; a new one reports it by `Begun`."""
        if self.screen_stack and getattr(self.screen_stack[0], "has_begun", True):
            self.screen_stack[0].call_after_refresh(self._screen_drawn)

    def _screen_drawn(self) -> None:
        self._is_undrawn = False
        if self._is_late and self._passing is not None:
            wanted, self._passing, self._is_late = self._passing, None, False
            self._show_screen(wanted, may_wait=False)
        self.post_message(Begun())

    def elsewhere(self) -> Iterator[tuple[Kind, Action]]:
        """Yield what the other screens could do and this one cannot, each with its screen."""
        own = set(map(id, screen_class(self.current_mode).declared()))
        for kind in SCREENS:
            made = self._made.get(kind.id)
            for found in screen_class(kind.id).declared() if kind.id != self.current_mode else ():
                if id(found) not in own and (made is None or made.check_action(found.method, ())):
                    yield kind, found

    @action("Next screen", f"{LEADER} {LEADER}", "f11", section="Screens", footer="next screen")
    def action_next_screen(self) -> None:
        """Go to the next screen. What this one does goes on."""
        ids = [kind.id for kind in SCREENS]
        self.action_show_screen(neighbour(ids, self._passing or self.current_mode))

    # -- the look

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Let nothing dangerous reach the terminal from any widget, whatever it shows."""
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
        """Change between the dark and the light kind of the theme."""
        self._use_theme(fellow(self.theme))

    @action("Theme…", f"{LEADER} c", section="View",
            words="settings config colors colours contrast blind accessibility")  # fmt: skip
    def action_choose_theme(self) -> None:
        """Choose the colours: also for colour blindness, of high contrast, the terminal's own."""
        from tokviz.tui.dialogs.pick import Option, PickDialog

        options = [Option(name, name, help=look.help) for name, look in THEMES.items()]
        ask(self, PickDialog("Theme", options, current=self.theme), self._use_theme)

    def _use_theme(self, name: str) -> None:
        self.register_theme(theme(name, self._colours))
        self.theme = name
        self.session.change_settings(theme=name)

    def _change_palette(self) -> None:
        """Draw tokens in the colours of the theme on every screen, and in what lies above it."""
        palette = palette_of(self)
        for screen in {*self._made.values(), *self.screen_stack}:
            for node in screen.walk_children():
                if isinstance(node, TakesPalette):
                    node.set_palette(palette)

    # -- sentences for the user

    def notify(self, message: str, **options: Any) -> None:
        """Show a notification; replace the same one if it is still displayed."""
        text = safe_lines(message)
        dismiss_notices(self, lambda notice: notice.message == text)
        super().notify(text, **options)

    # -- what can be done everywhere

    @action("Command palette", "ctrl+p", section="App")
    def action_command_palette(self) -> None:
        """Every action by its name."""
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
        """The keys, panels and mouse of the screen you are on.

        ? does it where you are not typing.
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
        """The page about the panel or screen you are on, and all others, with examples."""
        from tokviz.guide import sections
        from tokviz.tui.dialogs.guide import GuideDialog
        from tokviz.tui.widgets.view_switcher import title_around

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
        """Show letters on all that can be reached; typing one goes there, or clicks on it."""
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
        """What the words on the screen mean. A click on one that stands alone says it too."""
        screen, shown = self.screen, ""
        if isinstance(screen, TokvizScreen):
            near = screen.read((self.focused or screen).region)
            shown = near + screen.read(screen.region)
        self.action_define("", shown)

    def action_define(self, word: str, shown: str = "") -> None:
        """Say what a word means."""
        from tokviz.tui.dialogs.glossary import GlossaryDialog

        self.push_screen(GlossaryDialog(word, shown))

    @action("First steps", f"{LEADER} f", section="App", words="tour tutorial begin learn newcomer")
    def action_first_steps(self) -> None:
        """A line above each screen says what to try next; the same key skips a step or ends it."""
        from tokviz.tui.dialogs.pick import Option, PickDialog

        if self._begin_tour():
            return
        options = [Option("skip_step", "Skip this step"), Option("end_tour", "End the first steps")]
        dialog = PickDialog("First steps", options)
        ask(self, dialog, lambda answer: self.run_action(f"app.{answer}"))

    def _begin_tour(self) -> bool:
        """Begin the first steps, unless they are under way: tell which."""
        from tokviz.tui.tour import Tour

        begins = self._tour is None or self._tour.is_over
        if begins:
            self._tour = Tour(self, self.session)
        return begins

    def action_skip_step(self) -> None:
        """Go on to the next of the first steps."""
        if self._tour is not None:
            self._tour.skip()

    def action_end_tour(self) -> None:
        """Show no first steps any more."""
        if self._tour is not None:
            self._tour.end()

    @action("Quit", "ctrl+q", section="App", words="exit close end")
    async def action_quit(self) -> None:
        """End tokviz. It asks first if changes are not saved, or a training goes on.

        The changes come back at the next start all the same.
        """
        # Not in the app's own task, which would hear no key while a slow disk writes.
        self.run_worker(self._quit(), group="quit", exclusive=True)

    async def _quit(self) -> None:
        for saving in [worker for worker in self.workers if worker.group == "save"]:
            with suppress(WorkerFailed, WorkerCancelled):
                await saving.wait()
        if self._question is None or self._question is not self.screen:
            made = [screen for screen in self._made.values() if screen.is_mounted]
            again = partial(self.call_later, self.action_quit)
            for screen in made:
                self._question = screen.ask_to_end(again)
                if self._question is not None:
                    return
            losses = [loss for screen in made for loss in screen.unsaved()]
            after = "The next start offers it again." if self.session.remember else ""
            self._question = unless_unsaved(self, losses, "quit", self.exit, again, after)

    # -- session files

    @action("Save the session…", f"{LEADER} k", section="App",
            words="share workspace project tokviz.json keep")  # fmt: skip
    def action_save_session(self) -> None:
        """Write the text, its tokenizers, the conversation and where you are to a file.

        Whoever opens it sees the same. Tokenizers are named in it, not held.
        """
        from tokviz.tui.dialogs.save_file import SaveFileDialog
        from tokviz.workspace.session_file import capture_session, to_bytes

        session, path = self.session, self.session.path
        made = [screen for screen in self._made.values() if screen.has_begun]
        fields = {key: value for screen in made for key, value in screen.saved().items()}
        save = capture_session(session, self.current_mode, fields)

        def save_to(path: Path) -> None:
            def saved(_: None) -> None:
                self._session_file = path
                self.notify(f"Saved the session to {home_label(path)}.", markup=False)

            def write(task: Task) -> None:
                write_file(path, to_bytes(save()))

            in_thread(self, "save", write, saved, exclusive=False)

        name = f"{path.stem if path else 'session'}{SESSION_ENDING}"
        file = self._session_file
        dialog = SaveFileDialog(
            session.folder if file is None else file.parent,
            name if file is None else file.name,
            title="Save the session",
            kinds=(SESSION_ENDING[1:],),
        )
        ask(self, dialog, save_to)

    @action("Open a session…", f"{LEADER} o", section="App",
            words="load workspace project tokviz.json resume")  # fmt: skip
    def action_open_session(self) -> None:
        """Show what a session file holds. Undo brings your text and conversation back."""
        from tokviz.tui.dialogs.open_file import OpenFileDialog

        dialog = OpenFileDialog(self.session.folder, title="Open a session", takes_any=True)
        ask(self, dialog, self._open_session)

    def _open_session(self, path: Path) -> None:
        from tokviz.workspace.session_file import LoadedSession, load_session, read_session, restore

        def show(found: LoadedSession) -> None:
            self._session_file = path
            cancel_pending_loads(self)
            restore(self.session, found)
            for lacking in found.missing:
                self.notify(lacking, severity="warning", markup=False)

        in_thread(
            self,
            "session",
            lambda task: load_session(read_session(path), self.session.settings),
            show,
            failed=lambda error: self.notify(
                failure_message("Not opened", error), severity="error", markup=False
            ),
        )

    # -- choices

    def _settings_changed(self) -> None:
        """Write them soon: often several change at once."""
        if self._saving is None:
            self._saving = self.set_timer(SETTINGS_SECONDS, self._save_settings)

    def _save_settings(self) -> None:
        self._saving = None

        def written(complaint: str | None) -> None:
            if complaint is not None and complaint != self._complaint:
                self.notify(complaint, severity="warning", markup=False)
            self._complaint = complaint

        in_thread(
            self, "save", lambda task: self.session.write_settings(), written, exclusive=False
        )

    def on_unmount(self) -> None:
        """Remember the choices; nobody waits any more for a regex."""
        # The start of the app need not wait for this.
        from tokviz.tokenizer.pretokenize import regex_process

        regex_process.close()
        self.session.write_settings()

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(declared_in(locals()))]


APP_ACTIONS: list[Action] = declared_by(TokvizApp)
"""What can be done on every screen."""

_SCREEN_KEYS = {
    key
    for found in APP_ACTIONS
    for key in found.keys
    if found.method in ("show_screen", "next_screen")
}


def actions_on(screen_id: str) -> list[Action]:
    """List what can be done on a screen: its own actions, then those of every screen."""
    return [*screen_class(screen_id).declared(), *APP_ACTIONS]


def explained_on(screen_id: str) -> list[Action]:
    """List what the help of a screen explains: also the keys of its parts, and those of all."""
    screen = screen_class(screen_id)
    parts = [found for part in screen.parts() for found in declared_by(part)]
    keys = everywhere_but(actions_on(screen_id))
    return [*screen.declared(), *parts, *keys, *APP_ACTIONS]


def actions_everywhere() -> dict[str, list[Action]]:
    """List what can be done, by the title of the screen."""
    return {kind.title: explained_on(kind.id) for kind in SCREENS}


def check_settings(path: Path) -> list[SettingError]:
    """List what is wrong with a file of settings; see `checks.check_config`."""
    from tokviz.tui.checks import check_config

    return check_config(path, actions_everywhere())


def config_complaint() -> str:
    """Say what is wrong with the user's settings, empty if nothing is or they cannot be read."""
    path = config_path()
    with suppress(TokvizError):
        found = [*check_settings(path), *check_file(path.with_name("state.toml"))]
        more = f" `tokviz config check` tells {len(found) - 1} more." if found[1:] else ""
        return sentence(str(found[0])) + more if found else ""
    return ""


def gestures_on(screen_id: str) -> list[Gesture]:
    """List what the mouse does on a screen."""
    return [*screen_class(screen_id).GESTURES, *GESTURES]


_SAFE = SafeLineFilter()
_in_turn = lru_cache(4)(InTurn)
_OWN_COLOURS = OwnColours()
