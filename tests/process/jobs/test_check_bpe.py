"""Checks in a child process: progress, cancel, a partial report, and files that do harm."""

from __future__ import annotations

import os
import pickle
import random
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.oracles import wrong_bpe
from tests.process.jobs.conftest import WAIT
from tokviz.errors import JobError
from tokviz.process.jobs.check_client import CheckReport, CheckRequest, check_client, run_check
from tokviz.process.jobs.train_messages import TrainRequest
from tokviz.process.runner import JobDroppedError, stopped_by
from tokviz.training.run import TrainingRun

TEXT = "the cat and the hat and that theme abc abc the"


def request(folder: Path, mine: object, text: str = TEXT, **settings: object) -> CheckRequest:
    """Return a request for merges, saved as a pickle."""
    corpus, merges = folder / "corpus.txt", folder / "merges.pkl"
    corpus.write_text(text)
    merges.write_bytes(pickle.dumps(mine))
    wanted = TrainRequest((str(corpus),), "", 0, "gpt2", tie_break="lexicographic")
    return CheckRequest([str(merges)], wanted._replace(**settings))


def check(
    asked: CheckRequest, on_progress: Callable[[str], object] = lambda name: None
) -> CheckReport:
    with closing(check_client(asked)) as jobs:
        return run_check(jobs, asked, on_progress)


def test_report_has_lines_record_and_merges_and_the_reference_is_saved(tmp_path: Path) -> None:
    merges = wrong_bpe.train(TEXT.encode(), 12, "unweighted-counts")
    run = tmp_path / "run"
    report = check(request(tmp_path, merges, run_folder=str(run)))
    assert report.merges == merges
    assert report.record["mistakes"][0] == ["unweighted-counts"]
    number = report.record["first_difference"]
    assert report.lines[0].startswith(f"merge {number} differs")
    reference = TrainingRun.load(run).tokenizer.merges
    assert reference == wrong_bpe.train(TEXT.encode(), 12)
    assert reference[: number - 1] == merges[: number - 1]
    assert reference[number - 1] != merges[number - 1]


def test_settings_of_the_files_are_used_if_none_are_given(tmp_path: Path) -> None:
    merges = wrong_bpe.train(TEXT.encode(), 12)
    report = check(request(tmp_path, merges, split_pattern="", tie_break=""))
    assert report.lines == ["identical: 12 of 12 merges", "tie-breaking rule: lexicographic"]


@pytest.fixture
def long(tmp_path: Path) -> CheckRequest:
    """Return a check whose search takes until its time limit."""
    letters = random.Random(1)
    text = " ".join("".join(letters.choices("abcdefgh", k=8)) for _ in range(20_000))
    return request(tmp_path, [(b"h", b"h"), (b"g", b"g"), (b"f", b"f"), (b"e", b"e")], text)


def test_finish_ends_the_search_with_what_is_known(long: CheckRequest) -> None:
    names: list[str] = []
    with closing(check_client(long)) as jobs:

        def take(name: str) -> None:
            names.append(name)
            if name not in ("the files", "the reference"):
                jobs.finish()

        report = run_check(jobs, long, take)
    assert names[-2:] != names[:2]
    assert report.record["complete"] is False
    assert "the search was stopped" in "\n".join(report.lines)
    assert report.lines[0].startswith("merge 1 differs")


def test_cancel_ends_the_check_at_once(long: CheckRequest) -> None:
    stop = threading.Event()
    with stopped_by(stop.is_set), pytest.raises(JobDroppedError):
        check(long, lambda name: stop.set())
    assert stop.wait(WAIT)


class Harmful:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.file),)


def test_a_pickle_with_code_is_refused_and_not_executed(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"merges\.pkl: byte \d+: .* save JSON: json\.dump"):
        check(request(tmp_path, [Harmful(tmp_path / "made")]))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("content", ["[1]", "3", "{"])
def test_ids_that_are_not_an_object_are_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "ids.json").write_text(content)
    asked = request(tmp_path, [(b"t", b"h")])._replace(encode=str(tmp_path / "ids.json"))
    with pytest.raises(JobError, match=r"ids\.json"):
        check(asked)
