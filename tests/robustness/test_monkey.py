"""A few actions of the monkey; the long run is `python tests/robustness/monkey.py 50000`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tokviz
from tests.robustness import monkey
from tests.tui.waiting import settle, until
from tokviz.tui.app import TokvizApp
from tokviz.workspace.session import Opened, Session
from tokviz.workspace.settings import Settings


def test_the_monkey_does_not_crash_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monkey, "RUN_ACTIONS", 20)
    with monkey.apart():
        figures = monkey.search(seed=3, n_actions=40)
    assert figures.actions == 40
    assert figures.crashes == []


def test_a_day_comes_home_and_notes_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monkey, "RUN_ACTIONS", 1)
    with monkey.apart():
        figures = monkey.search(seed=4, n_actions=1, day=True)
    assert figures.crashes == [] and len(figures.memory) == 1
    assert figures.drift is None
    grown = [100.0] * 10 + [200.0] * 10 + [210.0] * 20
    assert figures._replace(memory=grown).drift is None
    monkeypatch.setattr(monkey, "DAY_ACTIONS", 40)
    assert figures._replace(memory=grown).drift == pytest.approx(0.05)


def test_what_python_keeps_free_is_known() -> None:
    many: list[list[int]] = [[] for _ in range(300_000)]
    few = many[::50]  # which stand on every page
    before = monkey._free_bytes()
    del many
    assert monkey._free_bytes() - before > 5_000_000
    assert len(few) == 6_000


def test_a_crash_is_found_and_told_with_what_was_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(app: TokvizApp, screen_id: str) -> None:
        raise ValueError("no screen")

    monkeypatch.setattr(TokvizApp, "action_show_screen", fail)
    with monkey.apart():
        figures = monkey.search(seed=1, n_actions=5)
    assert [crash.run for crash in figures.crashes]
    told = capsys.readouterr().out
    assert "CRASH  seed 1, run 0" in told
    assert "ValueError: no screen" in told
    assert figures.crashes[0].last[-1] in told


async def test_a_screen_that_stands_still_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(monkey, "REDRAW_SECONDS", 0.05)
    app = TokvizApp(Session(Opened("x"), tokviz.load("gpt2"), Settings()))
    async with app.run_test() as pilot:
        hand = monkey.Monkey(app, random.Random(1), tmp_path / "corpus", monkey.Slowest())
        await settle(pilot)
        await until(pilot, lambda: not hand.left_undrawn())
        # As if the code had forgotten to request a redraw.
        status = app.screen.query_one("#status")
        status._repaint_required = True
        assert hand.left_undrawn() == {status}
        status.check_idle()
        await hand.drawn()
        monkeypatch.setattr(hand, "left_undrawn", lambda: {app.screen})
        with pytest.raises(TimeoutError, match="stands still"):
            await hand.drawn()
