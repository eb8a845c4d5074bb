"""A timer that ends once ends, whenever its time is up."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from textual import timer as timers
from textual._context import active_app
from textual.app import App

from tokviz.tui.timers import let_timers_end

LOOKS = 10_000

let_timers_end()


class GoesRoundError(Exception):
    """It looks at the clock for ever."""


@pytest.mark.parametrize("delay", [0.01, 1e-7, 0.0, -4e-5, -5.0])
async def test_a_timer_ends_once_though_its_time_is_up_when_it_begins(
    delay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, slept, ended = 0, list[float](), list[bool]()

    def get_time() -> float:
        nonlocal now
        now += 1
        if now > LOOKS:
            raise GoesRoundError
        return now * 1e-6

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(timers, "_time", SimpleNamespace(get_time=get_time))
    monkeypatch.setattr(timers, "sleep", sleep)
    app: App[Any] = App()
    active_app.set(app)
    await timers.Timer(app, delay, repeat=0, callback=lambda: ended.append(True))._run_timer()
    assert ended == [True]
    assert len(slept) == 1 and 0 <= slept[0] <= max(delay, 0)


async def test_a_timer_that_goes_on_still_skips_what_it_missed() -> None:
    app: App[Any] = App()
    assert timers.Timer(app, 0.1)._skip
    assert not timers.Timer(app, 0.1, skip=False)._skip
