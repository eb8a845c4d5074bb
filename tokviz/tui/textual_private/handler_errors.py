"""Keep a widget alive after an error in one of its message handlers.

Upstream problem: an exception in a handler ends the message loop of its widget, and
`App._handle_exception` then ends the app. Textual has no hook that reports the exception and lets
the widget continue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import message_pump
from textual._callback import invoke
from textual._context import active_app


async def invoke_reporting_errors(callback: Callable[..., Any], *parameters: object) -> Any:
    """Call a handler as Textual does, but pass exceptions to the app instead of raising them."""
    try:
        return await invoke(callback, *parameters)
    except Exception as error:
        active_app.get()._handle_exception(error)


def survive_handler_errors() -> None:
    """Let every widget continue after an error in one of its handlers, from now on."""
    setattr(message_pump, "invoke", invoke_reporting_errors)  # noqa: B010  # Textual's own import
