"""Loops are compiled while nobody touches the app, once, and nothing is left of it at the end."""

from __future__ import annotations

from textual.app import App

from tests.tui.waiting import until
from tokviz.child.runner import JobClient
from tokviz.encoding import bulk
from tokviz.tui import compiling
from tokviz.tui.compiling import Compiling


async def test_it_compiles_once_when_the_app_rests_if_there_is_anything_to_compile(monkeypatch):
    monkeypatch.setattr(compiling, "REST_SECONDS", 0.02)
    runs, asked = [], []
    is_compiled = [True]

    def are_compiled(group) -> bool:
        asked.append(group)
        return is_compiled[0]

    monkeypatch.setattr(type(bulk.KERNELS), "are_compiled", are_compiled)
    monkeypatch.setattr(JobClient, "run", lambda *arguments: runs.append(arguments))
    app = App[None]()
    async with app.run_test() as pilot:
        Compiling(app).wait_for_rest()
        await until(pilot, lambda: asked)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert runs == []
        is_compiled[0] = False
        idle = Compiling(app)
        idle.wait_for_rest()
        await until(pilot, lambda: runs)
        idle.begin(app.notify)
        assert len(runs) == 1
        ended = Compiling(app)
        ended.end()
        ended.begin()
        assert len(runs) == 1


async def test_a_key_puts_it_off(monkeypatch):
    monkeypatch.setattr(compiling, "REST_SECONDS", 60.0)
    app = App[None]()
    async with app.run_test():
        idle = Compiling(app)
        idle.note_input()
        idle.wait_for_rest()
        idle.note_input()
        assert idle._rest is not None
        assert idle._rest._reset
