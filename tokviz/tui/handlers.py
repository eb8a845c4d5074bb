"""Which handlers a message has, found once, and what happens when one raises: its widget lives on.

Textual looks through the classes of a widget for every message, thirty times a key. There, an error
in a handler ends the task of the widget, and then the app.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from textual import message_pump
from textual._callback import invoke
from textual._context import active_app
from textual.message import Message
from textual.message_pump import MessagePump

_Handler = tuple[type, Callable[..., Any]]
_look_up = MessagePump._get_dispatch_methods
_found: dict[tuple[type, type, str], tuple[_Handler, ...] | None] = {}
"""The handlers by the classes of the widget and of the message, and by its name; None where a
selector decides each time."""


async def _invoke(callback: Callable[..., Any], *parameters: object) -> Any:
    """Call a handler as Textual does; an error goes to the app instead of ending the task."""
    try:
        return await invoke(callback, *parameters)
    except Exception as error:
        active_app.get()._handle_exception(error)


def outlive_errors() -> None:
    """Let every widget go on after an error in one of its handlers, from now on."""
    setattr(message_pump, "invoke", _invoke)  # noqa: B010  # an import of Textual's, not its own


def find_handlers_once() -> None:
    """Have every widget remember the handlers of its class, from now on."""
    setattr(MessagePump, "_get_dispatch_methods", _handlers)  # noqa: B010  # quicker, else the same


def _handlers(pump: MessagePump, name: str, message: Message) -> Iterable[_Handler]:
    key = type(pump), type(message), name
    try:
        found = _found[key]
    except KeyError:
        found = _found[key] = _all_handlers(*key)
    return _look_up(pump, name, message) if found is None else _bound(pump, message, found)


def _bound(pump: MessagePump, message: Message, found: tuple[_Handler, ...]) -> Iterator[_Handler]:
    owner = None
    for kind, method in found:
        # What a class stops is what the classes above it would do.
        if kind is not owner and message._no_default_action:
            return
        owner = kind
        yield kind, method.__get__(pump, kind)


def _all_handlers(pump: type, message: type, name: str) -> tuple[_Handler, ...] | None:
    found: dict[_Handler, None] = {}
    kinds = [kind for kind in message.__mro__ if issubclass(kind, Message)]
    for owner in pump.__mro__:
        decorated = owner.__dict__.get("_decorated_handlers") or {}
        for method, selectors in (one for kind in kinds for one in decorated.get(kind, ())):
            if selectors:
                return None
            found.setdefault((owner, method))
        method = owner.__dict__.get(f"_{name}") or owner.__dict__.get(name)
        if method is not None and not getattr(method, "_textual_on", None):
            found.setdefault((owner, method))
    return tuple(found)
