"""Read the user's price table, for every screen that shows costs."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.errors import TokvizError
from tokviz.text.sentences import failure_message
from tokviz.tui.screens.base import Controller
from tokviz.workspace.prices import ModelPrice, load_prices


def read_prices(controller: Controller, take: Callable[[tuple[ModelPrice, ...]], object]) -> None:
    """Read the price table in a thread; report an error, and use an empty table then."""

    def failed(error: TokvizError) -> None:
        controller.say(failure_message("Your price table is not used", error), "warning")
        take(())

    if controller.session.remember:
        controller.in_thread("prices", lambda task: load_prices(), take, failed=failed)
