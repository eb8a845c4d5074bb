"""What every screen of tokviz has, and the controllers that it is composed of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

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
"""What would be lost: its name, and what saves it and then calls something."""


class TokvizScreen(BaseScreen[None]):
    """A screen of the app: layout and routing. What it can do is done by its controllers.

    A subclass names its controllers' classes in `CONTROLLERS` and makes them in `compose`, once the
    widgets that they need are there. From then on their actions are actions of the screen, and
    their `@on` handlers receive its messages.
    """

    SCREEN_ID: ClassVar[str]
    """Its name: the app's mode, the class that `Request.screen` names."""
    CONTROLLERS: ClassVar[tuple[type[Controller], ...]] = ()
    GESTURES: ClassVar[tuple[Gesture, ...]] = ()
    """What the mouse does, for the help page."""
    LOW_LINES: ClassVar[int] = 30
    """A terminal of fewer lines is "-low"."""
    BROAD_COLUMNS: ClassVar[int] = 150
    """A terminal of so many columns is "-broad"."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Collect the key bindings."""
        cls.BINDINGS = [*bindings_of(cls.declared()), *cls.__dict__.get("BINDINGS", [])]
        super().__init_subclass__(**options)

    def __init__(self, session: Session) -> None:
        """Take what the app is about."""
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
        """List the actions of the screen and of its controllers, for keys, palette and help."""
        return [found for kind in (*cls.CONTROLLERS, cls) for found in declared_by(kind)]

    @classmethod
    def parts(cls) -> Sequence[type[Widget]]:
        """Name the widgets that declare actions of their own, for the help; by default none."""
        return ()

    def answer_with(self, controller: Controller) -> None:
        """Let a controller do its actions and receive its messages, which go no further."""
        for found in declared_by(type(controller)):
            self._owners[found.method] = found, controller
            setattr(self, PREFIX + found.method, getattr(controller, found.method))
        self._controllers.append(controller)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse what makes no sense now."""
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

    # -- what every screen does

    def on_mount(self) -> None:
        """Fill the lines above and below, and hear of what changes."""
        self.bindings_updated_signal.subscribe(self, lambda _: self.show_keys())
        self._unsubscribe = (
            self.session.subscribe(TokenizerChanged, lambda _: self.follow_tokenizer()),
            self.session.subscribe(Asked, self._asked),
            self.session.subscribe(ProgressChanged, lambda _: self._follow_progress()),
            self.session.subscribe(TextChanged, lambda _: self._follow_text()),
        )
        self._tokenizer = self.session.tokenizer
        self.fit(self.app.size)
        self.show_title()
        self.show_keys()
        self.begin()

    def begin(self) -> None:
        """Load what the screen starts with; called once, when it is mounted."""
        self.call_after_refresh(self.started)
        self.call_after_refresh(self._begun)

    def _begun(self) -> None:
        # What takes the keyboard may have come only now.
        if self.focused is None and self.AUTO_FOCUS:
            self.set_focus(self.query(self.AUTO_FOCUS).first())
        self.set_ready()

    def on_unmount(self) -> None:
        """Hear of nothing any more, and end what runs in the background."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        for controller in self._controllers:
            controller.end()

    async def on_click(self, event: events.Click) -> None:
        """Say what a word means, where a click on it does nothing else."""
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
        """Give the text in a part of the screen."""
        strips = screen_strips(self)[region.y : region.bottom]
        return "\n".join(strip.crop(region.x, region.right).text for strip in strips)

    def show_title(self) -> None:
        """Show the tabs of all screens, and what this one says at the right end."""
        tabs = tab_items(self.SCREEN_ID, self.session.progress)
        self.title_bar.show(tabs, self.title_items(), MORE_TABS)

    def mount_below_title(self, widget: Widget) -> bool:
        """Put a line below the title, and say whether that could be done: the screen may end."""
        can_be = self.title_bar.is_attached
        if can_be:
            self.mount(widget, after=self.title_bar)
        return can_be

    def _follow_progress(self) -> None:
        if self.is_current and self.is_mounted:
            self.show_title()

    def title_items(self) -> Sequence[BarItem]:
        """Give the right end of the title bar: by default the tokenizer at hand."""
        return [tokenizer_item(self.session.tokenizer)]

    def show_keys(self) -> None:
        """Show the keys of what has the keyboard, of the screen and of the app."""
        if self.is_mounted:
            self.keys.show(*key_items(self))

    def say(self, text: str, severity: SeverityLevel = "information") -> None:
        """Show the user a sentence, as plain text; an error need not end in a full stop."""
        stop = "" if text.endswith((".", "!", "?", "…")) else "."
        self.notify(text + stop, severity=severity, markup=False)

    def on_notice(self, message: Notice) -> None:
        """Show what a widget, or work in the background, has to say."""
        self.say(message.text, message.severity)

    def copy(self, text: str, what: str) -> None:
        """Copy in the background, and say where the copy went; `what` names the text."""

        async def copy_it() -> None:
            from tokviz.tui.clipboard import copied, copy

            try:
                result = await copy(self.app, text)
            except TokvizError as error:
                self.say(failure_message("Not copied", error), "error")
                return
            dismiss_notice(self.app, "Copied ")
            self.say(copied(result, what))

        self.run_worker(copy_it(), group="copy")

    def on_copy_requested(self, message: CopyRequested) -> None:
        """Copy what a widget shows."""
        self.copy(message.text, message.what)

    # -- the tokenizer at hand

    def follow_tokenizer(self) -> None:
        """Take up the tokenizer at hand, now or when the screen is next seen."""
        tokenizer = self.session.tokenizer
        if self.is_current and self.is_mounted and tokenizer is not self._tokenizer:
            self._tokenizer = tokenizer
            self.show_title()
            self.tokenizer_changed(tokenizer)

    def tokenizer_changed(self, tokenizer: Tokenizer) -> None:
        """Show another tokenizer; by default there is nothing to show."""

    # -- the text at hand

    def _follow_text(self) -> None:
        if self.is_current and self.is_ready:
            self.text_changed()

    def text_changed(self) -> None:
        """Show what has become of the text, as when the screen comes; by default it shows none."""

    # -- what a session file holds

    def saved(self) -> dict[str, Any]:
        """Give what the screen adds to a session file: fields of `SavedSession`; by default none.

        For any thread what it holds may be turned into.
        """
        return {}

    # -- what would be lost

    def unsaved(self) -> list[Loss]:
        """List what the end of the app would lose."""
        return [loss for controller in self._controllers for loss in controller.unsaved()]

    def ask_to_end(self, go_on: Callable[[], object]) -> Screen[Any] | None:
        """Ask about what goes on and would end with the app; by default nothing does.

        Args:
            go_on: Goes on to the end, after an answer that wishes so.

        Returns:
            The question, if there is one.
        """
        return None

    def keep(self) -> None:
        """Write down what the end of the app would lose."""
        for controller in self._controllers:
            controller.keep()

    # -- requests

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Take up what changed while another screen was shown."""
        self.follow_tokenizer()
        self.show_title()
        self._follow_progress()
        self._take_requests()

    def started(self) -> None:
        """Answer requests from now on: the screen shows what it begins with."""
        self._answers = True
        self._take_requests()

    def _asked(self, change: Asked) -> None:
        if change.screen == self.SCREEN_ID and self.is_current:
            self._take_requests()

    def _take_requests(self) -> None:
        if self._answers:
            for request in self.session.take_requests(self.SCREEN_ID):
                if isinstance(request, RunAction):
                    self.call_later(self._run_asked, request.call)
                else:
                    self.answer(request)

    async def _run_asked(self, call: str) -> None:
        if not await self.app.run_action(call, self):
            self.say("There is nothing to do this with now.")

    def answer(self, request: Request) -> None:
        """Show what another screen, or the command line, asks for."""

    # -- the room there is

    def on_resize(self, event: events.Resize) -> None:
        """Show what there is room for.

        Every layout tells the screen its size again, and other words ask for a layout. So an old
        and a new size could take turns for ever, and each would be laid out and drawn twice: a
        size that is no longer the terminal's, or that is laid out, asks for nothing.
        """
        if event.size != self.app.size or event.size == self._fitted_size:
            event.prevent_default()
            return
        self.fit(event.size)
        self._fitted_size = event.size
        self.call_after_refresh(self.fitted)

    def fit(self, size: Size) -> None:
        """Set the classes that style sheets ask for."""
        # All at once: each time all widgets are styled anew.
        set_classes(self, size_classes(size, self.LOW_LINES, self.BROAD_COLUMNS))

    def fitted(self) -> None:
        """Fit words to the room, once widgets know their sizes; by default there are none."""


def ask(app: App[Any], dialog: Screen[T], answered: Callable[[T], object]) -> None:
    """Show a dialog, and take the answer unless the user gave none; await it where need be."""

    def take(answer: T | None) -> Any:
        return None if answer is None else answered(answer)

    app.push_screen(dialog, take)


class Controller:
    """One idea of a screen, with its own fields, timers and workers.

    Methods with `@action` are actions of the screen; methods with Textual's `@on` receive its
    messages, from when it is made. What else it needs it takes in its constructor.
    """

    handlers: ClassVar[list[Handler]] = []
    """The messages that it receives: kind, selectors by attribute, name of the method."""

    def __init_subclass__(cls) -> None:
        """Collect the handlers."""
        cls.handlers = [
            (kind, selectors, name)
            for owner in reversed(cls.__mro__)
            for name, method in owner.__dict__.items()
            for kind, selectors in getattr(method, "_textual_on", ())
        ]

    def __init__(self, screen: TokvizScreen) -> None:
        """Take the screen, for what every screen offers."""
        self.screen = screen
        self.session = screen.session
        self.say, self.copy = screen.say, screen.copy
        screen.answer_with(self)

    @property
    def app(self) -> App[Any]:
        """The app."""
        return self.screen.app

    @property
    def settings(self) -> Settings:
        """The remembered choices."""
        return self.session.settings

    def unsaved(self) -> list[Loss]:
        """List what the end of the app would lose; by default there is nothing."""
        return []

    def keep(self) -> None:
        """Write that down; by default there is nothing."""

    def end(self) -> None:
        """End what runs in the background, since the screen goes; by default nothing does."""

    def ask(self, dialog: Screen[T], answered: Callable[[T], object]) -> None:
        """Show a dialog, and take the answer unless the user gave none."""
        ask(self.app, dialog, answered)

    def in_thread(
        self,
        group: str,
        work: Callable[[Task], T],
        done: Callable[[T], object] | None = None,
        **options: Any,
    ) -> None:
        """Do something in a thread, and hand over what came of it; see `tasks.in_thread`."""
        in_thread(self.screen, group, work, done, **options)

    def write(self, path: Path, work: Callable[[], object], done: str, what: str = "") -> None:
        """Write to a path in a thread, and say so, such as "Exported" with `what`, or why not."""
        told = f"{done} {what} to" if what else f"{done} to"
        self.in_thread(
            "save",
            lambda task: work(),
            lambda _: self.say(f"{told} {home_label(path)}."),
            failed=lambda error: self.say(failure_message(f"Not {done.lower()}", error), "error"),
            exclusive=False,
        )
