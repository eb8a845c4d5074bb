"""Messages survive a round trip through JSON."""

from __future__ import annotations

import json

import pytest

from tokviz.process.jobs.train_messages import HeldOut, TrainRequest, TrainSummary
from tokviz.training.attribution import FileShare
from tokviz.training.progress import NewMerge, TrainProgress

REQUEST = TrainRequest(
    ("a", "b\udcff"),
    "run",
    300,
    special_tokens=("<|end|>", "é"),
    special_ids="first",
    max_chars=7,
    compare=True,
    exclude=("*.min.js",),
)
REPORT = TrainProgress(
    "merging", 0.5, 1.5, None, 10, 4, 1, 2, 8, (NewMerge(b"\xff", b" a", 3),), 1000, 2000
)
SUMMARY = TrainSummary(
    "run", 258, 2, 3, "no pair is left", {"reading": 0.5, "merging": 1.0}, 12, 11, 1, 1, 4, 6,
    b"\xff\x00", 2000, HeldOut(5, {"new": 1.5}), (FileShare("a.txt", 3, 0.5),),
)  # fmt: skip


@pytest.mark.parametrize(
    "value", [REQUEST, REPORT, SUMMARY], ids=lambda value: type(value).__name__
)
def test_what_is_written_as_json_is_read_again(value):
    assert type(value).from_json(json.loads(json.dumps(value.to_json()))) == value


def test_compression_is_unknown_before_anything_is_read():
    assert REPORT.bytes_per_token == 10 / 8
    assert TrainProgress("starting", 0, 0, None, 0, 0, 0, 0, 0).bytes_per_token is None


def test_a_summary_adds_up_its_phases():
    assert (SUMMARY.seconds, SUMMARY.bytes_per_token) == (1.5, 2.0)
