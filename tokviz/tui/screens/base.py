"""Base classes of the screens and of the controllers that they are composed of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar, dataclass_transform

from textual import events
from textual.app import App
from textual.css.match import match
from textual.geometry import Region, Size
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from tokviz.errors import TokvizError
from tokviz.storage.listing import home_label
from tokviz.text.sentences import failure_message
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui import clipboard
from tokviz.tui.actions import PREFIX, Action, Gesture, bindings_of, declared_by
from tokviz.tui.base_screen import BaseScreen
from tokviz.tui.messages import CopyRequested, Notice
from tokviz.tui.screens.bars import MORE_TABS, key_items, tab_items, tokenizer_item
from tokviz.tui.sizes import set_classes, size_classes
from tokviz.tui.stale_clicks import widget_at
from tokviz.tui.tasks import Task, dismiss_notice, in_thread
from tokviz.tui.textual_private.resize_events import screen_strips
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.status_line import StatusLine
from tokviz.workspace.session import (
    Asked,
    ProgressChanged,
    Request,
    RunAction,
    Session,
    TextChanged,
    TokenizerChanged,
)
from tokviz.workspace.settings import Settings

T = TypeVar("T")
Handler = tuple[type[Message], dict[str, Any], str]
Loss = tuple[str, Callable[[Callable[[], object]], object]]
"""Unsaved work: its name, and a function that saves it and then calls another function."""


class TokvizScreen(BaseScreen[None]):
    """A screen of the app: layout and routing. Its controllers do the work.

    A subclass lists its controllers' classes in `CONTROLLERS` and creates them in `compose`, after
    the widgets that they need. From then on their actions are actions of the screen, and their
    `@on` handlers receive its messages.
    """

    SCREEN_ID: ClassVar[str]
    """The id of the screen: the app's mode, and the value of `Request.screen`."""
    CONTROLLERS: ClassVar[tuple[type[Controller], ...]] = ()
    GESTURES: ClassVar[tuple[Gesture, ...]] = ()
    """Mouse gestures, for the help page."""
    LOW_LINES: ClassVar[int] = 30
    """Terminals with fewer lines get the class "-low"."""
    BROAD_COLUMNS: ClassVar[int] = 150
    """Terminals with at least this many columns get the class "-broad"."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Collect the key bindings."""
        cls.BINDINGS = [*bindings_of(cls.declared()), *cls.__dict__.get("BINDINGS", [])]
        super().__init_subclass__(**options)

    def __init__(self, session: Session) -> None:
        """Create the screen, without controllers."""
        super().__init__()
        self.session = session
        self.title_bar = Bar(id="title")
        self.keys = Bar(id="keys")
        self._owners: dict[str, tuple[Action, object]] = {
            found.method: (found, self) for found in declared_by(type(self))
        }
        self._controllers: list[Controller] = []
        self._answers = False
        self._unsubscribe: tuple[Callable[[], None], ...] = ()
        self._tokenizer: Tokenizer | None = None
        self._fitted_size: Size | None = None

    # -- controllers

    @classmethod
    def declared(cls) -> list[Action]:
        """Return the actions of the screen and of its controllers."""
        return [found for kind in (*cls.CONTROLLERS, cls) for found in declared_by(kind)]

    @classmethod
    def parts(cls) -> Sequence[type[Widget]]:
        """Return the widgets that declare actions, for the help; by default none."""
        return ()

    def answer_with(self, controller: Controller) -> None:
        """Run a controller's actions, and pass it the messages that it handles."""
        for found in declared_by(type(controller)):
            self._owners[found.method] = found, controller
            setattr(self, PREFIX + found.method, getattr(controller, found.method))
        self._controllers.append(controller)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse actions that are not possible now."""
        found, owner = self._owners.get(action, (None, None))
        return found is None or found.when is None or found.when(owner)

    def extra_handlers(self, message: Message) -> Iterator[Callable[[Message], Any]]:
        """Yield the controllers' handlers of a message, which then goes no further."""
        for controller in self._controllers:
            for kind, selectors, name in controller.handlers:
                if isinstance(message, kind) and all(
                    match(selector, getattr(message, attribute))
                    for attribute, selector in selectors.items()
                ):
                    message.stop()
                    yield getattr(controller, name)

    # -- common behavior

    def on_mount(self) -> None:
        """Fill the title bar and the key bar, and subscribe to changes of the session."""
        self.bindings_updated_signal.subscribe(self, lambda _: self.show_keys())
        self._unsubscribe = (
            self.session.subscribe(TokenizerChanged, lambda _: self.follow_tokenizer()),
            self.session.subscribe(Asked, self._requested),
            self.session.subscribe(ProgressChanged, lambda _: self._follow_progress()),
            self.session.subscribe(TextChanged, lambda _: self._follow_text()),
        )
        self._tokenizer = self.session.tokenizer
        self.fit(self.app.size)
        self.show_title()
        self.show_keys()
        self.begin()

    def begin(self) -> None:
        """Load the first content; called once, when the screen is mounted."""
        self.call_after_refresh(self.started)
        self.call_after_refresh(self._show_ready)

    def _show_ready(self) -> None:
        # The widget that takes the focus may have been mounted late.
        if self.focused is None and self.AUTO_FOCUS:
            self.set_focus(self.query(self.AUTO_FOCUS).first())
        self.set_ready()

    def on_unmount(self) -> None:
        """Unsubscribe, and end work in the background."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        for controller in self._controllers:
            controller.end()

    async def on_click(self, event: events.Click) -> None:
        """Open the glossary for a clicked word, unless the click has another effect."""
        widget = widget_at(self, event.screen_offset)
        is_read = isinstance(widget, (Static, Bar, StatusLine))
        is_read &= widget not in (self.title_bar, self.keys)
        if not is_read or "@click" in event.style.meta:
            return
        from tokviz.guide.glossary import word_at

        before, row = (Region(0, event.screen_y, x, 1) for x in (event.screen_x, self.size.width))
        word = word_at(self.read(row), len(self.read(before)))
        if word:
            await self.app.run_action(f"app.define({word!r})")

    def read(self, region: Region) -> str:
        """Return the text displayed in a region."""
        strips = screen_strips(self)[region.y : region.bottom]
        return "\n".join(strip.crop(region.x, region.right).text for strip in strips)

    def show_title(self) -> None:
        """Show the tabs of all screens, and the items of this one at the right end."""
        tabs = tab_items(self.SCREEN_ID, self.session.progress)
        self.title_bar.show(tabs, self.title_items(), MORE_TABS)

    def mount_below_title(self, widget: Widget) -> bool:
        """Mount a line below the title; return False if the screen is being removed."""
        can_be = self.title_bar.is_attached
        if can_be:
            self.mount(widget, after=self.title_bar)
        return can_be

    def _follow_progress(self) -> None:
        if self.is_current and self.is_mounted:
            self.show_title()

    def title_items(self) -> Sequence[BarItem]:
        """Return the right end of the title bar: by default the current tokenizer."""
        return [tokenizer_item(self.session.tokenizer)]

    def show_keys(self) -> None:
        """Show the keys of the focused widget, of the screen and of the app."""
        if self.is_mounted:
            self.keys.show(*key_items(self))

    def say(self, text: str, severity: SeverityLevel = "information") -> None:
        """Show a notification as plain text; add a full stop if it lacks one."""
        stop = "" if text.endswith((".", "!", "?", "…")) else "."
        self.notify(text + stop, severity=severity, markup=False)

    def on_notice(self, message: Notice) -> None:
        """Show a notification of a widget or of work in the background."""
        self.say(message.text, message.severity)

    def copy(self, text: str, what: str) -> None:
        """Copy in the background, and report where the copy went; `what` names the text."""

        async def copy_it() -> None:
            try:
                result = await clipboard.copy(self.app, text)
            except TokvizError as error:
                self.say(failure_message("Not copied", error), "error")
                return
            dismiss_notice(self.app, "Copied ")
            self.say(clipboard.copied(result, what))

        self.run_worker(copy_it(), group="copy")

    def on_copy_requested(self, message: CopyRequested) -> None:
        """Copy a text that a widget shows."""
        self.copy(message.text, message.what)

    # -- the current tokenizer

    def follow_tokenizer(self) -> None:
        """Show the current tokenizer, now or when the screen is shown next."""
        tokenizer = self.session.tokenizer
        if self.is_current and self.is_mounted and tokenizer is not self._tokenizer:
            self._tokenizer = tokenizer
            self.show_title()
            self.tokenizer_changed(tokenizer)

    def tokenizer_changed(self, tokenizer: Tokenizer) -> None:
        """Show another tokenizer; by default do nothing."""

    # -- the current text

    def _follow_text(self) -> None:
        if self.is_current and self.is_ready:
            self.text_changed()

    def text_changed(self) -> None:
        """Show the changed text; by default do nothing."""

    # -- session files

    def saved(self) -> dict[str, Any]:
        """Return the screen's fields of `SavedSession`; by default none.

        Another thread may convert the values.
        """
        return {}

    # -- unsaved work

    def unsaved(self) -> list[Loss]:
        """List the unsaved work that would be lost if the app ended now."""
        return [loss for controller in self._controllers for loss in controller.unsaved()]

    def ask_to_end(self, go_on: Callable[[], object]) -> Screen[Any] | None:
        """Ask about running work that would end with the app; by default there is none.

        Args:
            go_on: Continues to quit, if the user agrees.

        Returns:
            The dialog, None if there is no question.
        """
        return None

    def keep(self) -> None:
        """Write unsaved work to the recovery journal."""
        for controller in self._controllers:
            controller.keep()

    # -- requests

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Show what changed while another screen was shown."""
        self.follow_tokenizer()
        self.show_title()
        self._follow_progress()
        self._take_requests()

    def started(self) -> None:
        """Answer requests from now on, because the screen shows its first content."""
        self._answers = True
        self._take_requests()

    def _requested(self, change: Asked) -> None:
        if change.screen == self.SCREEN_ID and self.is_current:
            self._take_requests()

    def _take_requests(self) -> None:
        if self._answers:
            for request in self.session.take_requests(self.SCREEN_ID):
                if isinstance(request, RunAction):
                    self.call_later(self._run_requested, request.call)
                else:
                    self.answer(request)

    async def _run_requested(self, call: str) -> None:
        if not await self.app.run_action(call, self):
            self.say("This is not possible now.")

    def answer(self, request: Request) -> None:
        """Answer a request of another screen or of the command line."""

    # -- size

    def on_resize(self, event: events.Resize) -> None:
        """Fit the content to the size.

        Every layout sends `Resize` again, and fitting causes a layout. To avoid an endless loop
        between an old and a new size, ignore sizes that are outdated or handled already.
        """
        if event.size != self.app.size or event.size == self._fitted_size:
            event.prevent_default()
            return
        self.fit(event.size)
        self._fitted_size = event.size
        self.call_after_refresh(self.fitted)

    def fit(self, size: Size) -> None:
        """Set the size classes that style sheets use."""
        set_classes(self, size_classes(size, self.LOW_LINES, self.BROAD_COLUMNS))

    def fitted(self) -> None:
        """Fit text to the widgets, once they know their sizes; by default do nothing."""


def ask(app: App[Any], dialog: Screen[T], answered: Callable[[T], object]) -> None:
    """Show a dialog, and call `answered` with its result unless it is None."""

    def take(answer: T | None) -> Any:
        return None if answer is None else answered(answer)

    app.push_screen(dialog, take)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
@dataclass(eq=False)
class Controller:
    """One behavior of a screen, with its own fields, timers and workers.

    Methods with `@action` are actions of the screen; methods with Textual's `@on` receive its
    messages. Subclasses are dataclasses: a controller gets everything that it needs through the
    parameters of its constructor, in the order of their declaration.
    """

    handlers: ClassVar[list[Handler]] = []
    """The messages that it handles: class, selectors by attribute, name of the method."""

    screen: TokvizScreen

    def __init_subclass__(cls) -> None:
        """Make the class a dataclass, and collect the handlers."""
        dataclass(eq=False)(cls)
        cls.handlers = [
            (kind, selectors, name)
            for owner in reversed(cls.__mro__)
            for name, method in owner.__dict__.items()
            for kind, selectors in getattr(method, "_textual_on", ())
        ]

    def __post_init__(self) -> None:
        """Add the controller to its screen."""
        self.session = self.screen.session
        self.say, self.copy = self.screen.say, self.screen.copy
        self.screen.answer_with(self)
        self.set_up()

    def set_up(self) -> None:
        """Create the fields that are not parameters; by default there are none."""

    @property
    def app(self) -> App[Any]:
        """The app."""
        return self.screen.app

    @property
    def settings(self) -> Settings:
        """The user's settings."""
        return self.session.settings

    def unsaved(self) -> list[Loss]:
        """List the unsaved work that would be lost if the app ended now; by default none."""
        return []

    def keep(self) -> None:
        """Write unsaved work to the recovery journal; by default do nothing."""

    def end(self) -> None:
        """End work in the background, because the screen is removed; by default do nothing."""

    def ask(self, dialog: Screen[T], answered: Callable[[T], object]) -> None:
        """Show a dialog; see `ask`."""
        ask(self.app, dialog, answered)

    def in_thread(
        self,
        group: str,
        work: Callable[[Task], T],
        done: Callable[[T], object] | None = None,
        **options: Any,
    ) -> None:
        """Run work in a thread, and pass on its result; see `tasks.in_thread`."""
        in_thread(self.screen, group, work, done, **options)

    def write(self, path: Path, work: Callable[[], object], done: str, what: str = "") -> None:
        """Write a file in a thread, and report success or failure, such as "Exported" `what`."""
        message = f"{done} {what} to" if what else f"{done} to"
        self.in_thread(
            "save",
            lambda task: work(),
            lambda _: self.say(f"{message} {home_label(path)}."),
            failed=lambda error: self.say(failure_message(f"Not {done.lower()}", error), "error"),
            exclusive=False,
        )
