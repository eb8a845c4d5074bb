"""Check my merges: the Train screen checks a file, and Replay shows the merge that differs."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from textual.pilot import Pilot

from tests.oracles import wrong_bpe
from tests.process.jobs.conftest import WAIT
from tests.tui.screens.test_train import make_app, own_folders, show_train
from tests.tui.waiting import settle, until
from tokviz.process.jobs.check_client import CheckReport, CheckRequest
from tokviz.process.runner import JobClient, raise_if_stopped
from tokviz.tui.dialogs.file_dialog import OpenFileDialog
from tokviz.tui.screens.replay import ReplayScreen
from tokviz.tui.screens.train import checking
from tokviz.tui.screens.train.form import CorpusList

__all__ = ["own_folders"]
TEXT = "the cat and the hat and that theme abc abc the"


async def choose(pilot: Pilot[None], folder: Path, mine: wrong_bpe.Merges) -> None:
    """Check merges on a corpus."""
    (folder / "corpus.txt").write_text(TEXT)
    (folder / "mine.pkl").write_bytes(pickle.dumps(mine))
    train = await show_train(pilot)
    train.form.add_sources([str(folder / "corpus.txt")])
    await until(pilot, lambda: train.form.query_one(CorpusList).rows[0].n_files == 1)
    await pilot.press("shift+f12")
    assert isinstance(pilot.app.screen, OpenFileDialog)
    pilot.app.screen.dismiss(folder / "mine.pkl")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_merge_that_differs_is_replayed_with_both_tables(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await choose(pilot, tmp_path, wrong_bpe.train(TEXT.encode(), 12, "unweighted-counts"))
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen))
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        await until(pilot, lambda: screen.state.comparison is not None)
        comparison = screen.state.comparison
        assert comparison is not None
        assert screen.state.number == comparison.diff.first_number
        rows = ["".join(span.text for span in row) for row in screen.diff.rows]
        assert rows[0].startswith(f"merge {screen.state.number} differs")
        assert any(row.startswith("mistake: unweighted-counts: ") for row in rows)
        table = rows.index(next(row for row in rows if row.startswith("pairs before merge")))
        assert any(row.count(" + ") == 2 for row in rows[table:])


async def test_correct_merges_are_reported_as_identical(tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await choose(pilot, tmp_path, wrong_bpe.train(TEXT.encode(), 12, "ties-first"))
        told = "identical: 12 of 12 merges\ntie-breaking rule: first."
        await until(pilot, lambda: told in [notice.message for notice in app._notifications])


async def test_esc_stops_a_check_which_shows_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Event()

    def run_check(
        jobs: JobClient, request: CheckRequest, on_progress: Callable[[str], object]
    ) -> CheckReport:
        on_progress("lowercase")
        try:
            while not ended.wait(0.01):
                raise_if_stopped()
        finally:
            ended.set()
        raise AssertionError

    monkeypatch.setattr(checking, "run_check", run_check)
    app = make_app()
    async with app.run_test() as pilot:
        await choose(pilot, tmp_path, [])
        await until(pilot, lambda: app.session.progress.get("train") == "lowercase")
        await pilot.press("escape")
        assert ended.wait(WAIT)
        await settle(pilot)
        assert not app.session.progress.get("train")
