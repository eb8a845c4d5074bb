from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from textual.app import App
from textual.screen import Screen
from textual.widgets import Label
from textual.worker import Worker, WorkerCancelled

from tests.tui.waiting import settle, until
from tokviz.tui import tasks
from tokviz.tui.tasks import Task, in_thread


@pytest.mark.parametrize("goes", ["nothing", "app", "widget", "widget at once"])
async def test_what_is_found_while_its_place_goes_is_handed_to_nobody(goes: str) -> None:
    app: App[None] = App()
    began, go_on, ended = (threading.Event() for _ in range(3))
    taken = list[str]()
    async with app.run_test() as pilot:
        place = Label()
        await app.screen.mount(place)

        def find(task: Task) -> str:
            def tell() -> None:
                try:
                    task.tell(taken.append, "told by another thread")
                except Exception as error:
                    taken.append(repr(error))

            began.set()
            go_on.wait(20)
            other = threading.Thread(target=tell)
            other.start()
            other.join(20)
            ended.set()
            return "found"

        worker = in_thread(place, "late", find, taken.append)
        await until(pilot, began.is_set)
        # A widget that is taken apart has lost its parts by then, and its workers run on.
        app._running, place._pruning = goes != "app", goes == "widget"
        if goes == "widget at once":
            await place.remove()
        go_on.set()
        with suppress(WorkerCancelled):
            await worker.wait()
        app._running, place._pruning = True, False
        await until(pilot, ended.is_set)
        await settle(pilot)
    assert taken == (["told by another thread", "found"] if goes == "nothing" else [])


async def test_work_runs_although_its_widget_was_removed_before_its_thread_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app: App[None] = App()
    started, removed, worked = threading.Event(), threading.Event(), threading.Event()
    async with app.run_test() as pilot:
        place = Label()
        await app.screen.mount(place)
        run_worker = place.run_worker

        def start_late(work: Callable[[], None], **options: Any) -> Worker[None]:
            def wait_and_work() -> None:
                started.set()
                removed.wait(20)
                work()

            return run_worker(wait_and_work, **options)

        monkeypatch.setattr(place, "run_worker", start_late)
        in_thread(place, "late", lambda task: worked.set())
        await until(pilot, started.is_set)
        await place.remove()
        removed.set()
        await until(pilot, worked.is_set)


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


async def test_of_work_that_was_replaced_before_it_began_nothing_is_said_or_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "_PATIENCE", 0.05)
    monkeypatch.setattr(tasks, "_REPEATS", 0.05)
    app: App[None] = App()
    async with app.run_test(notifications=True) as pilot:

        def begin() -> Worker[None]:
            return in_thread(app.screen, "read", lambda task: "", stoppable="Reading a.txt")

        replaced, other = weakref.ref(begin()), begin()
        await other.wait()
        await pilot.pause(0.3)
        assert not list(app._notifications)
        gc.collect()
        assert replaced() is None and not list(tasks._STOPPABLE)
