"""Waiting in tests of a running app: for a condition or for what is under way, never for a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

WAIT = 60.0
"""Seconds after which a test gives up; never how long it takes."""


async def settle(pilot: Pilot[None]) -> None:
    """Wait until all is handled and drawn, and workers are done, also those that they started."""
    workers = pilot.app.workers
    await pause(pilot)
    while not pilot.app._exit and (
        any(not worker.is_finished for worker in workers) or not is_still(pilot.app)
    ):
        # What is cancelled, since something newer took its place, is done too.
        with suppress(WorkerCancelled):
            await workers.wait_for_complete()
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            # It is the waiting that was given up. Textual tells this as the worker's end.
            raise asyncio.CancelledError
        await pause(pilot)


async def pause(pilot: Pilot[None]) -> None:
    """Let all that there is be handled, unless the app ends: what is closed handles no more."""
    handled = asyncio.ensure_future(pilot.pause())
    while not handled.done() and not pilot.app._exit:
        await asyncio.wait((handled,), timeout=0.1)
    if handled.done():
        handled.result()
    else:
        handled.cancel()
        await asyncio.sleep(0)


def is_still(app: App[Any]) -> bool:
    """Tell whether every message is handled, and everything drawn that is to be.

    `Pilot.pause` tells by the processor time that the process takes, which is none, too, while
    others have the processor.
    """
    screen = app.screen
    if screen._dirty_widgets or screen._callbacks or app._message_queue.qsize():
        return False
    return not any(
        node._layout_required or node._repaint_required or node._message_queue.qsize()
        for node in screen.walk_children(with_self=True)
    )


async def until(pilot: Pilot[None], holds: Callable[[], object]) -> None:
    """Let the app run until a condition holds.

    Raises:
        TimeoutError: If it does not within `WAIT` seconds; it tells what is on the screen.
    """

    async def wait() -> None:
        seconds = 0.0
        while not holds():
            await pause(pilot)
            # To ask every widget takes work, which others may need for what is waited for.
            await asyncio.sleep(seconds)
            seconds = min(0.05, seconds + 0.005)

    try:
        await asyncio.wait_for(wait(), WAIT)
    except TimeoutError:
        raise TimeoutError(f"waited in vain {WAIT:g} s. {on_screen(pilot.app)}") from None


def on_screen(app: App[Any]) -> str:
    """Tell what a user would see, and what is still under way."""
    stack = " > ".join(type(screen).__name__ for screen in app.screen_stack)
    working = [f"{worker.name} ({worker.state.name})" for worker in app.workers]
    said = [notice.message for notice in app._notifications]
    lines = [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]
    about = f"{stack}; focus: {app.focused!r}; workers: {working}; said: {said}"
    return "\n".join([about, *filter(None, lines)])
