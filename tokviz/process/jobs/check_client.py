"""The parent's side of the job `check_bpe`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tokviz.formats.budget import budget, bytes_of
from tokviz.process.jobs.train_messages import TrainRequest
from tokviz.process.runner import JobClient
from tokviz.tokenizer.encoding.merging import Merge


class CheckRequest(NamedTuple):
    """A requested check.

    Attributes:
        files: The file of the learner's trainer, or its vocabulary and its merges.
        train: The settings of the reference. Empty ones are those of the files: no split pattern,
            no special tokens; no tie-breaking rule for the one that fits best; a vocabulary size
            of 0 is not checked. The reference is saved in the run folder, unless that is empty.
        encode: A JSON file of ids by text; None for none.
        timing: Seconds that the learner's trainer took, 0 if unknown; None for no timing.
    """

    files: Sequence[str]
    train: TrainRequest
    encode: str | None = None
    timing: float | None = None


class CheckReport(NamedTuple):
    """The report of a check.

    Attributes:
        lines: The report in words.
        record: The report as JSON.
        merges: The learner's merges.
    """

    lines: list[str]
    record: dict[str, Any]
    merges: Sequence[Merge]


def check_client(request: CheckRequest) -> JobClient:
    """Return a client whose child reads the files within the limits for files of their size."""
    files = [*request.files, *filter(None, [request.encode])]
    limits = budget(sum(map(bytes_of, files))).limits
    return JobClient("check_bpe", limits=limits, keeps_child=False)


def run_check(
    jobs: JobClient, request: CheckRequest, on_progress: Callable[[str], object]
) -> CheckReport:
    """Check in a child process.

    Args:
        jobs: A client from `check_client`. `finish` ends the check with the results so far.
        request: The request.
        on_progress: Called with the name of each mistake that is tried, in another thread.

    Raises:
        TokvizError: If a file, the corpus or a setting is wrong.
    """
    body = request._asdict() | {
        "files": [os.path.abspath(file) for file in request.files],
        "train": request.train.to_json(),
    }
    *_, report = jobs.call(
        lambda _: [body], lambda answer: on_progress(answer.get("trying", "the report"))
    )
    merges = [(a.encode("latin-1"), b.encode("latin-1")) for a, b in report["merges"]]
    return CheckReport(report["lines"], report["record"], merges)
