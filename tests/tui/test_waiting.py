from __future__ import annotations

import asyncio
import threading

import pytest
from textual.app import App
from textual.widgets import Input, Label

from tests.tui import waiting
from tests.tui.waiting import settle, until


class ChainApp(App[None]):
    """A worker that starts another one when it is done, and that one a third."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[int] = []
        self.go = threading.Event()

    def begin(self, number: int) -> None:
        self.run_worker(lambda: self.work(number), thread=True)

    def work(self, number: int) -> None:
        self.go.wait(waiting.WAIT)
        self.call_later(self.end, number)

    def end(self, number: int) -> None:
        self.done.append(number)
        if number < 3:
            self.begin(number + 1)


async def test_settle_waits_for_workers_and_those_that_they_start() -> None:
    app = ChainApp()
    async with app.run_test() as pilot:
        app.begin(1)
        threading.Timer(0.05, app.go.set).start()
        await settle(pilot)
        assert app.done == [1, 2, 3]


async def test_until_goes_on_once_a_condition_holds() -> None:
    app = ChainApp()
    async with app.run_test() as pilot:
        app.begin(1)
        threading.Timer(0.05, app.go.set).start()
        await until(pilot, lambda: 2 in app.done)
        assert app.done[:2] == [1, 2]


async def test_until_gives_up_and_tells_what_was_on_the_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "WAIT", 0.05)
    app = ChainApp()
    async with app.run_test() as pilot:
        await app.mount(Label("so far so good"), Input("typed"))
        app.query_one(Input).focus()
        app.notify("no such file")
        app.begin(1)
        with pytest.raises(TimeoutError) as raised:
            await until(pilot, lambda: False)
        app.go.set()
    told = str(raised.value)
    assert told.startswith("waited in vain 0.05 s. Screen; focus: Input(")
    assert all(part in told for part in ("so far so good", "typed", "no such file", "RUNNING)"))


async def test_settle_is_given_up_by_who_waits_for_it_and_the_work_goes_on() -> None:
    app = ChainApp()
    async with app.run_test() as pilot:
        app.begin(1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(settle(pilot), 0.1)
        app.go.set()
