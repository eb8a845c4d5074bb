"""Counts how often Textual looks through the classes of a widget for the handlers of a message."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.message import Message
from textual.message_pump import MessagePump
from textual.widgets import TextArea

KEYS = 50

look_up = MessagePump._get_dispatch_methods
asked: Counter[tuple[type, type, str]] = Counter()
n_classes = n_handlers = 0


def looked_up(
    self: MessagePump, name: str, message: Message
) -> Iterable[tuple[type, Callable[[Message], Any]]]:
    """Find handlers as Textual does, and count."""
    global n_classes, n_handlers
    asked[type(self), type(message), name] += 1
    n_classes += len(type(self).__mro__)
    for found in look_up(self, name, message):
        n_handlers += 1
        yield found


class Editor(App[None]):
    """A text area alone."""

    def compose(self) -> ComposeResult:
        """Show it."""
        yield TextArea()


async def main() -> None:
    """Type letters."""
    global n_classes, n_handlers
    setattr(MessagePump, "_get_dispatch_methods", looked_up)  # noqa: B010
    app = Editor()
    async with app.run_test() as pilot:
        await pilot.pause(0.3)
        asked.clear()
        n_classes = n_handlers = 0
        for _ in range(KEYS):
            app.post_message(events.Key("x", "x").set_sender(app))
            await asyncio.sleep(0.05)
        print(f"a key: {sum(asked.values()) / KEYS:.0f} messages looked up in", end=" ")
        print(f"{n_classes / KEYS:.0f} classes, {n_handlers / KEYS:.0f} handlers found")
        print(f"all keys: {len(asked)} different pairs of a widget's class and a message")


if __name__ == "__main__":
    asyncio.run(main())
