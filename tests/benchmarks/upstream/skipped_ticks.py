"""Counts how often a timer of 60 times a second ticks in ten seconds, by the work of a tick.

The clock is made up: it goes on while a tick works and while the timer sleeps.
"""

from __future__ import annotations

import asyncio
from typing import Any

from textual import timer as timers
from textual._context import active_app
from textual.app import App

now = 0.0


async def sleep(seconds: float) -> None:
    """Let the clock go on."""
    global now
    now += seconds


async def ticks_in(seconds: float, work: float) -> int:
    """Count the ticks when each works so many seconds."""
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        global now
        ticks += 1
        now += work
        if now - start >= seconds:
            timer.pause()
            raise asyncio.CancelledError

    app: App[None] = App()
    active_app.set(app)
    timer = timers.Timer(app, 1 / 60, callback=tick)
    start = now
    await timer._run_timer()
    return ticks


async def main() -> None:
    """Show how many ticks there are, and how many there could be."""
    clock: Any = timers
    clock.sleep, clock._time.get_time = sleep, lambda: now
    for work in (0.010, 0.020, 0.040):
        periods = -(-work * 60 // 1)
        ticks = await ticks_in(10.0, work)
        print(f"{work * 1000:.0f} ms of work: {ticks} ticks of {600 / periods:.0f}")


if __name__ == "__main__":
    asyncio.run(main())
