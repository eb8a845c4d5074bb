"""Waiting in tests of a running app: for a condition or for what is under way, never for a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.pilot import Pilot

WAIT = 60.0
"""Seconds after which a test gives up; never how long it takes."""

_ROUNDS = 3
"""A worker's end may start another one, and that one's a third."""


async def settle(pilot: Pilot[None]) -> None:
    """Wait until messages are handled and workers are done, also those that they started."""
    for _ in range(_ROUNDS):
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def until(pilot: Pilot[None], holds: Callable[[], object]) -> None:
    """Let the app run until a condition holds.

    Raises:
        TimeoutError: If it does not within `WAIT` seconds.
    """

    async def wait() -> None:
        while not holds():
            await pilot.pause()

    await asyncio.wait_for(wait(), WAIT)
