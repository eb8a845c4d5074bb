"""The handlers that are remembered are the ones that Textual finds for every message anew."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from textual import on
from textual.app import App
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

import tokviz
from tests.tui.waiting import settle
from tokviz.session import Opened, Session
from tokviz.tui import handlers
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.find import FindDialog


def kinds_of(kind: type[Message] = Message) -> Iterator[type[Message]]:
    for one in kind.__subclasses__():
        yield one
        yield from kinds_of(one)


async def test_they_are_found_as_textual_finds_them() -> None:
    app = TokvizApp(Session(Opened("text"), tokviz.load("gpt2")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+f")
        await settle(pilot)
        assert isinstance(app.screen, FindDialog)
        pumps = [app, *(one for screen in app.screen_stack for one in screen.walk_children())]
        n_found = n_asked = 0
        for kind in {*kinds_of()}:
            message = kind.__new__(kind)
            message._no_default_action, message._sender = False, None
            for pump in (*pumps, *app.screen_stack):
                if kind is Input.Changed:
                    message._sender = message.input = pump
                name = kind.handler_name
                found = [*handlers._look_up(pump, name, message)]
                for _ in range(2):
                    assert [*handlers._handlers(pump, name, message)] == found
                n_found += len(found)
                n_asked += handlers._found[type(pump), kind, name] is None
    assert n_found > 500
    assert n_asked, "a selector decides for some"


class Below(Screen[None]):
    """Hears what the class that is made of it lets through."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def on_input_changed(self, event: Input.Changed) -> None:
        self.heard.append("below")


class Above(Below):
    """Hears it first, in two ways; the first of them stops what is empty."""

    @on(Input.Changed)
    def _first(self, event: Input.Changed) -> None:
        self.heard.append("first")
        if not event.value:
            event.prevent_default()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.heard.append("second")


class Choosing(Below):
    """Hears one widget alone."""

    @on(Input.Changed, "#only")
    def _only(self) -> None:
        self.heard.append("only")


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Above, "x", ["first", "second", "below"]),
        (Above, "", ["first", "second"]),
        (Choosing, "", ["only", "below", "below"]),
    ],
)
async def test_a_class_can_stop_the_handlers_above_it_and_a_selector_is_asked_each_time(
    kind: type[Below], value: str, expected: list[str]
) -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        screen = kind()
        await app.push_screen(screen)
        senders = [Input(id="only"), Input(id="other")][: 2 if kind is Choosing else 1]
        for sender in senders:
            with sender._context():
                screen.post_message(Input.Changed(sender, value))
        await pilot.pause()
        assert screen.heard == expected
