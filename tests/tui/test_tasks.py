from __future__ import annotations

import threading

import pytest
from textual.app import App

from tests.tui.waiting import settle, until
from tokviz.tui import tasks
from tokviz.tui.tasks import in_thread


@pytest.mark.parametrize("is_ending", [False, True], ids=["runs", "ends"])
async def test_what_is_found_while_the_app_ends_is_handed_to_nobody(is_ending: bool) -> None:
    app: App[None] = App()
    go_on, taken = threading.Event(), list[str]()
    async with app.run_test() as pilot:

        def find(task: object) -> str:
            go_on.wait(20)
            return "found"

        worker = in_thread(app.screen, "late", find, taken.append)
        app._running = not is_ending
        go_on.set()
        await worker.wait()
        app._running = True
        await settle(pilot)
    assert taken == ([] if is_ending else ["found"])


async def test_no_sentence_stands_about_work_that_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "_PATIENCE", 0.01)
    app: App[None] = App()
    go_on = threading.Event()
    async with app.run_test(notifications=True) as pilot:
        worker = in_thread(app.screen, "slow", lambda task: go_on.wait(20), stoppable="Reading")
        await until(pilot, lambda: len(app._notifications))
        # What ends it comes right behind, as after a frame that took long.
        go_on.set()
        await worker.wait()
        await settle(pilot)
        assert not len(app._notifications)
