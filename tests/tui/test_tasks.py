from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from textual.app import App
from textual.screen import Screen

from tests.tui.waiting import settle, until
from tokviz.tui.tasks import in_thread


@pytest.mark.parametrize("goes", ["nothing", "app", "widget"])
async def test_what_is_found_while_its_place_goes_is_handed_to_nobody(goes: str) -> None:
    app: App[None] = App()
    go_on, taken = threading.Event(), list[str]()
    async with app.run_test() as pilot:

        def find(task: object) -> str:
            go_on.wait(20)
            return "found"

        worker = in_thread(app.screen, "late", find, taken.append)
        # A widget that is taken apart has lost its parts by then, and its workers run on.
        app._running, app.screen._pruning = goes != "app", goes == "widget"
        go_on.set()
        await worker.wait()
        app._running, app.screen._pruning = True, False
        await settle(pilot)
    assert taken == (["found"] if goes == "nothing" else [])


async def test_what_is_said_of_work_as_it_ends_is_taken_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app: App[None] = App()
    ends, goes_on, timers = threading.Event(), asyncio.Event(), list[Callable[[], object]]()
    async with app.run_test() as pilot:
        monkeypatch.setattr(Screen, "set_timer", lambda screen, seconds, tell: timers.append(tell))
        work = in_thread(app.screen, "late", lambda task: ends.wait(20), stoppable="Reading a.txt")
        timers[0]()
        await until(pilot, lambda: len(app._notifications))
        # The app is busy: what is said now stands when the work has ended.
        app.call_later(goes_on.wait)
        timers[0]()
        ends.set()
        await work.wait()
        goes_on.set()
        await settle(pilot)
        assert not len(app._notifications)
