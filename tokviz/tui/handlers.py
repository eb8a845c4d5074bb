"""What happens when a handler of a message raises: the app is told, its widget lives on.

In Textual an error ends the task of the widget whose handler raised it, and then the app.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import message_pump
from textual._callback import invoke
from textual._context import active_app


async def _invoke(callback: Callable[..., Any], *parameters: object) -> Any:
    """Call a handler as Textual does; an error goes to the app instead of ending the task."""
    try:
        return await invoke(callback, *parameters)
    except Exception as error:
        active_app.get()._handle_exception(error)


def outlive_errors() -> None:
    """Let every widget go on after an error in one of its handlers, from now on."""
    setattr(message_pump, "invoke", _invoke)  # noqa: B010  # an import of Textual's, not its own
