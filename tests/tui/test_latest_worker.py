"""Only the latest request of a worker counts."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest
from textual.app import App

from tests.tui.waiting import WAIT, until
from tokviz.errors import TokvizError
from tokviz.tui.tasks import LatestWorker, Task


class Requests:
    """Requests whose work waits until the test lets it end."""

    def __init__(self, worker: LatestWorker[str]) -> None:
        self.worker = worker
        self.gates: dict[str, Event] = {}
        self.started: list[str] = []
        self.outcomes: list[str] = []

    def start(self, name: str, *, delay: float = 0.0, fails: bool = False) -> None:
        gate = self.gates[name] = Event()

        def work(task: Task) -> str:
            self.started.append(name)
            gate.wait(WAIT)
            if fails:
                raise TokvizError(f"{name} failed")
            return name

        take: Callable[[object], None] = lambda outcome: self.outcomes.append(str(outcome))  # noqa: E731
        self.worker.start(name, work, take, take, delay=delay)


async def test_a_request_supersedes_running_work() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        requests = Requests(LatestWorker(app.screen, "test"))
        requests.start("first")
        await until(pilot, lambda: requests.started == ["first"])
        requests.start("second", fails=True)
        assert requests.worker.pending == "second"
        requests.gates["second"].set()
        await until(pilot, lambda: requests.worker.pending is None)
        requests.gates["first"].set()
        await pilot.pause(0.1)
        assert requests.outcomes == ["second failed"]


async def test_one_at_a_time_skips_requests_made_meanwhile() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        requests = Requests(LatestWorker(app.screen, "test", one_at_a_time=True))
        for name in ("first", "second", "third"):
            requests.start(name)
        await until(pilot, lambda: requests.started == ["first"])
        assert requests.worker.pending == "third"
        requests.gates["third"].set()
        requests.gates["first"].set()
        await until(pilot, lambda: requests.outcomes == ["first", "third"])
        assert requests.started == ["first", "third"]
        assert requests.worker.pending is None


@pytest.mark.parametrize("one_at_a_time", [False, True])
async def test_canceled_work_has_no_outcome(one_at_a_time: bool) -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        requests = Requests(LatestWorker(app.screen, "test", one_at_a_time=one_at_a_time))
        requests.start("delayed", delay=60)
        requests.worker.cancel()
        assert requests.worker.pending is None
        requests.start("running")
        await until(pilot, lambda: requests.started == ["running"])
        requests.worker.cancel()
        requests.gates["running"].set()
        await pilot.pause(0.1)
        assert requests.outcomes == []
