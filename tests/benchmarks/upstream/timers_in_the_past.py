"""Gives timers that are to end once very short delays: they go round for ever, or never end.

The clock is made up: it goes on by a microsecond whenever it is looked at.
"""

from __future__ import annotations

import asyncio
from typing import Any

from textual import timer as timers
from textual._context import active_app
from textual.app import App

MANY = 100_000
now = 0.0


class GoesRound(Exception):
    """The timer has looked at the clock many times and let nobody else have a turn."""


def look() -> float:
    """Give the time, until it was asked for too often."""
    global now
    now += 1e-6
    if now > MANY * 1e-6:
        raise GoesRound
    return now


async def run(delay: float) -> str:
    """Run a timer that is to end once after a delay, and tell what became of it."""
    global now
    now = 0.0
    ended: list[bool] = []
    app: App[None] = App()
    active_app.set(app)
    timer = timers.Timer(app, delay, repeat=0, callback=lambda: ended.append(True))
    try:
        await timer._run_timer()
    except GoesRound:
        return "goes round"
    except ZeroDivisionError:
        return "divides by zero"
    return "ends" if ended else "is forgotten"


async def main() -> None:
    """Show what becomes of each delay."""
    clock: Any = timers
    clock._time.get_time = look
    for delay in (0.01, 1e-7, 0.0, -4e-5):
        print(f"{delay:g} s: {await run(delay)}")


if __name__ == "__main__":
    asyncio.run(main())
