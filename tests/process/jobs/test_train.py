"""Training in a child: the same tokenizer as in this process, with reports and cleanup."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue

import pytest

import tokviz
from tests.process.jobs.conftest import WAIT
from tests.process.test_runner import _gone
from tokviz.errors import JobError, TokvizError
from tokviz.process.jobs import train as train_job
from tokviz.process.jobs.train_client import TrainClient
from tokviz.process.jobs.train_messages import TrainRequest, TrainSummary
from tokviz.process.jobs.training import Training
from tokviz.process.registry import ENOUGH
from tokviz.training import train as train_module
from tokviz.training.attribution import attribute_merges
from tokviz.training.progress import TrainProgress
from tokviz.training.run_library import remove_run

TEXT = "the theory of the thing: this that and these, then there\n" * 40


class Trainer:
    """A `TrainClient` for tests."""

    def __init__(self) -> None:
        self.events: Queue[tuple[int, TrainProgress | TrainSummary | TokvizError]] = Queue()

        def put(run: int, event: TrainProgress | TrainSummary | TokvizError) -> None:
            self.events.put((run, event))

        self.client = TrainClient(put, put, put)

    def result_of(self, run: int) -> tuple[list[TrainProgress], TrainSummary]:
        """Wait for the end of a run."""
        reports: list[TrainProgress] = []
        while True:
            event_run, event = self.events.get(timeout=WAIT)
            assert event_run == run
            if isinstance(event, TokvizError):
                raise event
            if isinstance(event, TrainProgress):
                reports.append(event)
            elif not event.is_comparing:
                return reports, event

    def wait_for(self, holds: Callable[[TrainProgress], object]) -> TrainProgress:
        while True:
            _, event = self.events.get(timeout=WAIT)
            assert isinstance(event, TrainProgress)
            if holds(event):
                return event

    def wait_for_a_merge(self) -> TrainProgress:
        return self.wait_for(lambda report: report.n_merges)


@pytest.fixture
def trainer() -> Iterator[Trainer]:
    made = Trainer()
    yield made
    made.client.close()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def long_request(tmp_path: Path) -> TrainRequest:
    """Many different words and a very large number of merges."""
    letters = random.Random(1)
    words = ("".join(letters.choices("abcdefgh", k=8)) for _ in range(200_000))
    path = tmp_path / "long.txt"
    path.write_text(" ".join(words))
    return TrainRequest((str(path),), str(tmp_path / "out" / "run"), 1_000_000)


def test_a_training_of_which_one_has_enough_is_kept_with_the_merges_so_far(trainer, long_request):
    run = trainer.client.train(long_request)
    before = trainer.wait_for_a_merge()
    trainer.client.finish()
    _, summary = trainer.result_of(run)
    kept = tokviz.load(long_request.run_folder)
    assert before.n_merges <= summary.n_merges == len(kept.merges) < summary.n_merges_wanted
    assert "stopped at" in (summary.stopped_early or "")
    assert summary.held_out is None


def test_a_training_without_a_merge_leaves_nothing_to_keep(long_request):
    two_files = long_request._replace(sources=(*long_request.sources, __file__))
    with pytest.raises(
        TokvizError, match="stopped before the first merge: nothing was learned yet"
    ):
        list(train_job.answer(two_files.to_json(), {ENOUGH: True}))
    assert not Path(long_request.run_folder).exists()


@pytest.mark.parametrize("phase", ["reading", "merging", "attribution", "saving", "comparing"])
@pytest.mark.parametrize("wish", ["keep", "cancel"])
def test_a_training_is_kept_or_cancelled_in_every_phase(corpus, tmp_path, monkeypatch, phase, wish):
    corpus.write_text("".join(f"line number {n} of this text\n" for n in range(5000)))
    (tmp_path / "other.txt").write_text(TEXT)
    state: dict[str, object] = {}
    reached = threading.Event()

    class Paused(Training):
        """Stays in a phase until it is stopped."""

        def __init__(self, request, on_report, should_stop):
            def pause(report):
                if report.phase == phase and (phase != "merging" or report.n_merges):
                    pause_here()

            def pause_here():
                reached.set()
                while not should_stop():
                    time.sleep(0.001)

            def attribute(*arguments):
                if phase == "attribution":
                    pause_here()
                return attribute_merges(*arguments)

            monkeypatch.setattr(train_module, "attribute_merges", attribute)
            super().__init__(request, pause, should_stop)

    monkeypatch.setattr(train_job, "Training", Paused)
    monkeypatch.setattr(train_job, "REPORT_SECONDS", 0.001)
    monkeypatch.setattr(train_module, "SECONDS_BETWEEN_REPORTS", 0.0)
    sources = str(corpus), str(tmp_path / "other.txt")
    request = TrainRequest(sources, str(tmp_path / "run"), 300, compare=True)
    answers, said = train_job.answer(request.to_json(), state), list[dict]()
    while not reached.is_set():
        said.append(next(answers))
    if wish == "cancel":
        answers.close()
        assert Path(request.run_folder).exists() == (phase in ("saving", "comparing"))
        return
    state[ENOUGH] = True
    if phase == "reading":
        with pytest.raises(TokvizError, match="nothing was learned yet"):
            list(answers)
        assert not Path(request.run_folder).exists()
        return
    said += answers
    summaries = [TrainSummary.from_json(it["summary"]) for it in said if "summary" in it]
    assert [it.is_comparing for it in summaries] == [True, False][phase != "comparing" :]
    assert tokviz.load(request.run_folder).n_vocab == summaries[-1].n_vocab
    assert (summaries[-1].n_merges < 44) == (phase == "merging")
    assert (summaries[-1].held_out is not None) == (phase == "comparing")


def test_the_phase_and_the_clock_are_reported_while_a_run_is_saved_and_compared(
    corpus, tmp_path, monkeypatch
):
    corpus.write_text("".join(f"line number {n} of this text\n" for n in range(5000)))
    seen: dict[str, list[float]] = {"saving": [], "comparing": []}
    several = {phase: threading.Event() for phase in seen}

    class Slow(Training):
        """Saves and compares until some reports were seen."""

        def __init__(self, request, on_report, should_stop):
            def wait(report):
                if report.phase in several:
                    assert several[report.phase].wait(WAIT)

            super().__init__(request, wait, should_stop)

    monkeypatch.setattr(train_job, "Training", Slow)
    monkeypatch.setattr(train_job, "REPORT_SECONDS", 0.001)
    request = TrainRequest((str(corpus),), str(tmp_path / "run"), 300, compare=True)
    for answer in train_job.answer(request.to_json(), {}):
        if "report" in answer and (phase := answer["report"]["phase"]) in seen:
            seen[phase].append(answer["report"]["seconds"])
            if len(seen[phase]) > 2:
                several[phase].set()
    for seconds in seen.values():
        assert len(seconds) > 2 and seconds == sorted({*seconds})


def test_the_child_learns_what_this_process_learns(trainer, corpus, tmp_path):
    folder = tmp_path / "run"
    request = TrainRequest(
        (str(corpus),), str(folder), 270, "gpt2", ("<|end|>",), "first", "lexicographic"
    )
    reports, summary = trainer.result_of(trainer.client.train(request))
    here = tokviz.train(
        corpus,
        270,
        split_pattern="gpt2",
        special_tokens=["<|end|>"],
        special_ids="first",
        tie_break="lexicographic",
    )
    there = tokviz.load(folder)
    assert (there.vocab, there.merges) == (here.tokenizer.vocab, here.tokenizer.merges)
    assert summary.n_merges == len(here.history) == 13
    assert summary.n_bytes == len(TEXT)
    assert summary.n_tokens == here.history.n_tokens[-1]
    assert summary.longest_token in here.tokenizer.vocab.values()
    assert summary.held_out is None
    last = reports[-1]
    assert last.phase == "saving"
    assert (last.n_merges, last.n_merges_wanted, last.tokens_now) == (13, 13, summary.n_tokens)
    newest = last.newest[-1]
    assert here.tokenizer.merges[-1] == (newest.left, newest.right)
    assert here.history.count[-1] == newest.count


def test_a_training_can_be_compared_on_text_it_has_not_seen(trainer, corpus, tmp_path):
    corpus.write_text("".join(f"line number {n} of this text\n" for n in range(5000)))
    request = TrainRequest((str(corpus),), str(tmp_path / "run"), 300, compare=True)
    _, summary = trainer.result_of(trainer.client.train(request))
    assert summary.held_out is not None
    assert set(summary.held_out.bytes_per_token) == {"new", "gpt2", "cl100k_base"}
    assert summary.n_bytes + summary.held_out.n_bytes == corpus.stat().st_size


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_cancel_ends_the_child_and_leaves_nothing(trainer, long_request):
    trainer.client.train(long_request)
    trainer.wait_for_a_merge()
    pid = trainer.client.pid
    trainer.client.cancel()
    assert _gone(pid)
    out = Path(long_request.run_folder).parent
    assert not out.exists() or not any(out.iterdir())


def test_a_training_with_workers_that_is_cancelled_leaves_no_folder_of_theirs(
    trainer, long_request, tmp_path, monkeypatch
):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    trainer.client.train(long_request._replace(workers=1))
    trainer.wait_for(lambda report: report.cluster)
    assert list(folder.glob("tokviz-*"))
    trainer.client.cancel()
    remove_run(Path(long_request.run_folder), lambda: trainer.client.pid is not None)
    assert not list(folder.glob("tokviz-*"))


def test_after_a_cancelled_training_comes_another(trainer, long_request, corpus, tmp_path):
    trainer.client.train(long_request)
    trainer.wait_for_a_merge()
    trainer.client.cancel()
    while not trainer.events.empty():
        trainer.events.get()
    request = TrainRequest((str(corpus),), str(tmp_path / "run"), 270)
    _, summary = trainer.result_of(trainer.client.train(request))
    assert summary.n_vocab == 270


def test_a_killed_child_is_a_message(trainer, long_request):
    run = trainer.client.train(long_request)
    trainer.wait_for_a_merge()
    os.kill(trainer.client.pid, signal.SIGKILL)
    with pytest.raises(JobError, match="SIGKILL"):
        trainer.result_of(run)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sources": ("nowhere.txt",)}, "nowhere.txt: there is no such file"),
        ({"vocab_size": 100}, "a vocabulary of 100 tokens is too small"),
        ({"split_pattern": "(a"}, "missing \\)"),
        ({"run_folder": "."}, "is a folder with other content"),
        ({"run_folder": "corpus.txt/above/run"}, "corpus.txt: is a file, not a folder"),
        ({"sources": ("a", "b"), "skip_unreadable": True}, "a: there is no such file"),
    ],
)
def test_a_mistake_is_a_readable_error(trainer, corpus, tmp_path, monkeypatch, changes, message):
    monkeypatch.chdir(tmp_path)
    request = {"sources": (str(corpus),), "run_folder": "run", "vocab_size": 300} | changes
    run = trainer.client.train(TrainRequest(**request))
    with pytest.raises(TokvizError, match=message):
        trainer.result_of(run)


def test_reports_flow_while_the_trainer_is_silent(corpus, tmp_path, monkeypatch):
    silent = threading.Event()
    monkeypatch.setattr(train_job, "REPORT_SECONDS", 0.001)
    monkeypatch.setattr(train_job.Training, "learn", lambda self: silent.wait(WAIT))
    request = TrainRequest((str(corpus),), str(tmp_path / "run"), 270)
    answers = train_job.answer(request.to_json(), {})
    reports = [TrainProgress.from_json(next(answers)["report"]) for _ in range(3)]
    assert [report.phase for report in reports] == ["starting"] * 3
    assert reports[0].seconds < reports[2].seconds
    silent.set()
    answers.close()
