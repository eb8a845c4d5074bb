"""Deliver input in order: hold it back until the screen that it is meant for can take it.

A key may open a dialog or change the screen. Input typed right after it is meant for the new dialog
or screen, so the next event waits until every node that handles the key has done so and the current
screen is ready. Input for a screen that has closed is dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget

from tokviz.tui.messages import ScreenReady
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.stale_clicks import StaleClicks, widget_at
from tokviz.tui.tasks import dismiss_notice, stop_work
from tokviz.tui.widgets.editor.editor import TokenEditor
from tokviz.workspace.session import Session

ESCAPE_SECONDS = 0.5
"""An Esc within this time after one that closed a dialog was meant for the dialog, too."""

ANSWER_SECONDS = 1.0
"""How long the next input waits for the handlers of a key, except while a long text is inserted."""

_INSERTING = "Inserting a long text"

_CLOSING_KEYS = ("enter", "escape")
"""Keys that close a dialog, and are dropped if pressed again right after closing one."""


class InputQueue:
    """Input events that wait for the app, a screen or the handlers of an earlier event."""

    def __init__(
        self,
        app: App[Any],
        session: Session,
        can_take_input: Callable[[], bool],
        deliver: Callable[[events.Event], Awaitable[None]],
    ) -> None:
        """Create an empty queue.

        Args:
            app: The app.
            session: The session, whose text may still be loading.
            can_take_input: Returns whether the current screen can take input.
            deliver: Passes an event to Textual.
        """
        self._app, self._session, self._can_take_input = app, session, can_take_input
        self._is_closed = False
        self._deliver = deliver
        self.pending: deque[events.Event] = deque()
        """Events that wait."""
        self._busy: list[MessagePump] | None = None
        """Nodes that still have to handle the last key or click, None if there are none."""
        self._is_inserting = False
        """Whether a notification tells the user that input waits for a long text."""
        self._last_key: tuple[str, Screen[Any] | None] = "", None
        self._typed_into: Widget | None = None
        """The widget that received the last letter or paste, if nothing else handles it."""
        self._pressed: tuple[Screen[Any], Widget | None] | None = None
        """The screen of the last mouse press, and its focused widget before the press."""
        self._escaped_at = float("-inf")
        self._stale_clicks = StaleClicks()
        self.last_input = 0.0
        """Monotonic time of the last key or mouse event."""

    @property
    def is_idle(self) -> bool:
        """Whether no input waits and no key is being handled."""
        return not self.pending and self._busy is None

    async def take(self, event: events.Event) -> None:
        """Deliver an event, hold it back, or drop it if the screen that it was meant for closed."""
        app = self._app
        if isinstance(event, events.InputEvent | events.Paste):
            if self._is_closed or not app.screen_stack:
                return
            # An event that no widget handled comes back, forwarded, from the screen it was for.
            if event.__dict__.get("target_screen", app.screen) is not app.screen:
                return
            if not event.is_forwarded:
                if not self.is_idle or not self._can_take_input():
                    if self._is_inserting and getattr(event, "key", "") == "escape":
                        self.pending.clear()
                    elif self._quits_while_reading(event):
                        await app.action_quit()
                    else:
                        self.pending.append(event)
                    return
                event.__dict__["target_screen"] = app.screen
        await self._handle(event)

    async def deliver_next(self) -> None:
        """Deliver the first waiting event; the next one may have to wait for its effect."""
        app = self._app
        if self.pending and self._busy is None and self._can_take_input() and not self._is_closed:
            event = self.pending.popleft()
            event.__dict__["target_screen"] = app.screen
            try:
                await self._handle(event)
            finally:
                app.post_message(ScreenReady())

    def close(self) -> None:
        """Drop all input from now on, because the app is exiting."""
        self._is_closed = True

    def restore_focus(self) -> None:
        """Undo the focus change of a click that opened a dialog."""
        if self._pressed is not None and self._pressed[0] in self._app.screen_stack[:-1]:
            screen, focused = self._pressed
            screen.set_focus(focused, scroll_visible=False)

    def _quits_while_reading(self, event: events.Event) -> bool:
        """Return whether an event is Quit, pressed first of all while a long text is read."""
        app = self._app
        if self.pending or not self._session.live.has_rest or not isinstance(event, events.Key):
            return False
        active = app.active_bindings.get(event.key)
        return active is not None and active.binding.action == "quit"

    async def _handle(self, event: events.Event) -> None:
        if self._waits_for_typing(event):
            return
        app = self._app
        is_new = not event.is_forwarded
        if isinstance(event, events.Key) and event.key == "escape":
            is_alone = len(app.screen_stack) == 1
            if self._is_repeated_escape(event) or (is_alone and stop_work(app)):
                return
        if (
            isinstance(event, events.MouseDown | events.MouseUp)
            and is_new
            and self._stale_clicks.take(event, app.screen)
        ):
            return
        if isinstance(event, events.InputEvent):
            if isinstance(app.screen, TokvizScreen):
                # A busy screen receives ScreenResume late.
                app.screen.follow_tokenizer()
            self.last_input = monotonic()
        if isinstance(event, events.MouseDown) and is_new:
            self._pressed = app.screen, app.focused
        is_for_text = isinstance(event, events.InputEvent | events.Paste) and is_new
        if is_for_text and isinstance(app.focused, TokenEditor) and app.focused.coalesces(event):
            return
        handlers: list[MessagePump] = []
        if isinstance(event, events.Key | events.MouseUp) and is_new:
            handlers = self._handlers_of(event)
            self._last_key = getattr(event, "key", ""), app.screen
        if isinstance(event, events.Key | events.Paste) and is_new:
            self._typed_into = None if handlers else app.focused
        await self._deliver(event)
        if handlers:
            self._wait_for(handlers)

    def _waits_for_typing(self, event: events.Event) -> bool:
        """Put a command back in the queue until the letters before it are in the text."""
        widget = self._typed_into
        if widget is None or event.is_forwarded or not self._is_command(event):
            return False
        self._typed_into = None
        self.pending.appendleft(event)
        self._wait_for([widget])
        return True

    def _is_command(self, event: events.Event) -> bool:
        """Return whether another node receives an event before the focused widget."""
        if not isinstance(event, events.Key):
            return isinstance(event, events.MouseUp)
        active = self._app.active_bindings.get(event.key)
        return active is not None and active.binding.priority

    def _is_repeated_escape(self, escape: events.Key) -> bool:
        """Return whether an Esc follows one that closed a dialog so soon that it was meant too."""
        is_soon = escape.time - self._escaped_at < ESCAPE_SECONDS
        is_in_dialog = len(self._app.screen_stack) > 1
        if is_soon or is_in_dialog:
            self._escaped_at = escape.time
        return is_soon and not is_in_dialog

    def _handlers_of(self, event: events.Key | events.MouseUp) -> list[MessagePump]:
        """List the nodes that may handle a key or click, in the order in which they receive it.

        The list is empty for a letter typed into a text, because it changes nothing else.
        """
        app = self._app
        target = app.focused or app.screen
        if isinstance(event, events.MouseUp):
            target = widget_at(app.screen, event.screen_offset) or target
        elif target.check_consume_key(event.key, event.character):
            return []
        screens = app.screen_stack[-2::-1]
        return [*(node for node in target.ancestors_with_self if node is not app), *screens, app]

    def _wait_for(self, handlers: list[MessagePump]) -> None:
        """Hold input back until all these nodes have handled their messages."""
        self._busy = handlers
        self._limit_wait(handlers, handlers[0])
        self._continue_waiting(handlers)

    def _limit_wait(self, handlers: list[MessagePump], first: MessagePump) -> None:
        """Stop waiting after a while, except while a paste is inserted into the first node.

        A node that is busy for another reason must not block the keys of the other nodes. During a
        paste, a key might otherwise save the text without it.
        """

        def time_out() -> None:
            if handlers is not self._busy or not getattr(first, "is_preparing", False):
                self._continue_waiting(handlers, is_late=True)
                return
            if not self._is_inserting:
                self._is_inserting = True
                self._app.notify(f"{_INSERTING}… Esc drops the keys pressed since.", markup=False)
            self._limit_wait(handlers, first)

        asyncio.get_running_loop().call_later(ANSWER_SECONDS, time_out)

    def _continue_waiting(self, handlers: list[MessagePump], is_late: bool = False) -> None:
        """Queue this method behind the messages of each node in turn, then end the wait.

        Each node has its own message queue, and a key passes through them from the focused widget
        upwards. Nodes that have closed are skipped.
        """
        if handlers is not self._busy:
            return
        while handlers and not is_late:
            if handlers.pop(0).call_later(self._continue_waiting, handlers):
                return
        self._busy = None
        if self._is_inserting:
            self._is_inserting = False
            dismiss_notice(self._app, f"{_INSERTING}…")
        (key, screen), self._last_key, self._pressed = self._last_key, ("", None), None
        if key in _CLOSING_KEYS and screen not in self._app.screen_stack:
            # The key was repeated: the dialog that it was meant for has closed.
            while self.pending and getattr(self.pending[0], "key", "") == key:
                self.pending.popleft()
        self._app.post_message(ScreenReady())
