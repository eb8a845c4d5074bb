"""A screen chooses the handlers of its messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen

from tokviz.tui.textual_private.message_dispatch import HandlerScreen


class Ping(Message):
    """Counted by each handler."""


class PlainScreen(Screen[None]):
    n_own = n_extra = 0
    is_deaf = False

    def on_ping(self) -> None:
        self.n_own += 1

    def accepts(self, message: Message) -> bool:
        return not (self.is_deaf and isinstance(message, Ping))

    def extra_handlers(self, message: Message) -> Iterator[Callable[[Message], Any]]:
        if isinstance(message, Ping):
            yield self.count_extra

    def count_extra(self, message: Message) -> None:
        self.n_extra += 1


class ChoosingScreen(PlainScreen, HandlerScreen[None]):
    pass


async def pings_handled(screen: PlainScreen) -> tuple[int, int]:
    app = App[None]()
    async with app.run_test() as pilot:
        await app.push_screen(screen)
        screen.post_message(Ping())
        await pilot.pause()
        screen.is_deaf = True
        screen.post_message(Ping())
        await pilot.pause()
    return screen.n_own, screen.n_extra


async def test_handlers_are_chosen() -> None:
    assert await pings_handled(ChoosingScreen()) == (1, 2)


async def test_textual_still_needs_the_workaround() -> None:
    assert await pings_handled(PlainScreen()) == (2, 0)
    public = {name for name in dir(MessagePump) if "dispatch" in name and name[0] != "_"}
    assert not public, "use the public method"
