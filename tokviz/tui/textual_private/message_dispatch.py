"""Choose the handlers of a message.

Upstream problem: Textual looks up `on_*` methods and `@on` handlers in the class of a node only. No
public method lets a node pass messages on to another object, or ignore them once it is closing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from textual.message import Message
from textual.screen import Screen

ResultT = TypeVar("ResultT")


class HandlerScreen(Screen[ResultT], Generic[ResultT]):
    """A screen that chooses the handlers of its messages."""

    def accepts(self, message: Message) -> bool:
        """Return whether the screen's own handlers receive a message."""
        return True

    def extra_handlers(self, message: Message) -> Iterable[Callable[[Message], Any]]:
        """Yield handlers that receive a message after the screen's own."""
        return ()

    def _get_dispatch_methods(
        self, method_name: str, message: Message
    ) -> Iterator[tuple[type, Callable[[Message], Any]]]:
        if self.accepts(message):
            yield from super()._get_dispatch_methods(method_name, message)
        for handler in self.extra_handlers(message):
            yield type(self), handler
