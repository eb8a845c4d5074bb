"""One-shot timers fire once, whatever their delay."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from textual import timer as timers
from textual._context import active_app
from textual.app import App

from tokviz.tui.textual_private import one_shot_timers

MAX_CLOCK_READS = 10_000


class LoopsForeverError(Exception):
    """The timer keeps reading the clock without yielding."""


async def run_one_shot(delay: float, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[float]]:
    """Run a one-shot timer; return how often it fired and how long it slept."""
    n_reads, slept, fired = 0, list[float](), list[bool]()

    def get_time() -> float:
        nonlocal n_reads
        n_reads += 1
        if n_reads > MAX_CLOCK_READS:
            raise LoopsForeverError
        return n_reads * 1e-6

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(timers, "_time", SimpleNamespace(get_time=get_time))
    monkeypatch.setattr(timers, "sleep", sleep)
    app: App[Any] = App()
    active_app.set(app)
    await timers.Timer(app, delay, repeat=0, callback=lambda: fired.append(True))._run_timer()
    return len(fired), slept


@pytest.mark.parametrize("delay", [0.01, 1e-7, 0.0, -4e-5, -5.0])
async def test_one_shot_timer_fires_once(delay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers.Timer, "__init__", one_shot_timers._init_timer)
    n_fired, slept = await run_one_shot(delay, monkeypatch)
    assert n_fired == 1
    assert len(slept) == 1 and 0 <= slept[0] <= max(delay, 0)


async def test_textual_still_needs_the_workaround(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers.Timer, "__init__", one_shot_timers._init)
    with pytest.raises(ZeroDivisionError):
        await run_one_shot(0.0, monkeypatch)
    with pytest.raises(LoopsForeverError):
        await run_one_shot(-4e-5, monkeypatch)
    assert (await run_one_shot(1e-7, monkeypatch))[0] == 0


async def test_repeating_timer_still_skips_missed_periods() -> None:
    app: App[Any] = App()
    one_shot_timers.fix_one_shot_timers()
    assert timers.Timer(app, 0.1)._skip
    assert not timers.Timer(app, 0.1, skip=False)._skip
