"""The parent's side of the job `check_bpe`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tokviz.errors import TokvizError
from tokviz.formats.budget import bytes_of
from tokviz.formats.learned import Learned
from tokviz.formats.subprocess_loader import ask
from tokviz.process.jobs.train_client import LIMITS
from tokviz.process.jobs.train_messages import TrainRequest
from tokviz.process.runner import JobClient


class CheckRequest(NamedTuple):
    """A requested check.

    Attributes:
        files: What the learner's trainer wrote: one file, or a vocabulary and merges.
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
        learned: The learner's merges.
        lines: The report in words.
        record: The report as JSON.
        tables: The most frequent pairs before the first merge that differs: left and right token
            as Latin-1 text, count. In the reference and with the mistake.
    """

    learned: Learned
    lines: list[str]
    record: dict[str, Any]
    tables: list[list[tuple[str, str, int]]]


def check_client() -> JobClient:
    """Return a client for `run_check`. `finish` ends the check with what is known so far."""
    return JobClient("check_bpe", limits=LIMITS, keeps_child=False)


def run_check(
    jobs: JobClient, request: CheckRequest, on_progress: Callable[[str], object]
) -> CheckReport:
    """Read the files in a child process with limits, and check them in another one.

    Args:
        jobs: A client from `check_client`.
        request: The request.
        on_progress: Called with the name of each mistake that is tried, in another thread.

    Raises:
        InputFileError: If a file cannot be read.
        TokvizError: If the corpus or a setting is wrong.
    """
    if not 1 <= len(request.files) <= 2:
        raise TokvizError("name at most two files: a vocabulary and its merges")
    files = [os.path.abspath(file) for file in request.files]
    body = {"files": files, "encode": request.encode}
    n_bytes = sum(map(bytes_of, [*files, *filter(None, [request.encode])]))
    (read,) = ask("check_bpe", body, os.path.basename(files[0]), files[0], n_bytes)
    learned = Learned.from_json(read["learned"])
    train = request.train
    train = train._replace(
        split_pattern=train.split_pattern or learned.split_pattern or "gpt2",
        special_tokens=train.special_tokens or learned.special_tokens,
        delimiter="",
        compare=False,
    )
    check = {**read, "train": train.to_json(), "timing": request.timing}
    *_, report = jobs.call(
        lambda _: [check],
        lambda message: on_progress(message["trying"]) if "trying" in message else None,
    )
    return CheckReport(learned, **report)
