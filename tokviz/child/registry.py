"""The jobs by name. To add one, write its module and add one entry to `JOBS`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from importlib import import_module
from typing import Any

from tokviz.child.protocol import Body
from tokviz.errors import JobError, missing_package

Job = Callable[[Body, dict[str, Any]], Generator[Body, None, None]]
"""A job answers one request: `job(request, state)` yields the bodies of its answers.

`state` is the job's own memory between requests, empty when the child starts. A job that works
for long yields often: between two answers it can be cancelled, and silence is taken for a hang.
Errors for the user are raised as `TokvizError`.
"""

ENOUGH = "enough"
"""In `state` once the parent has enough: a job that can ends with what it has."""

JOBS: dict[str, str] = {
    "chat_template": "tokviz.jobs.chat_template:answer",
    "count_pieces": "tokviz.jobs.count_pieces:answer",
    "examine_tokenizer": "tokviz.jobs.examine_tokenizer:answer",
    "huggingface_tokenizer": "tokviz.jobs.huggingface_tokenizer:answer",
    "read_parquet": "tokviz.jobs.read_parquet:answer",
    "read_tokenizer": "tokviz.jobs.read_tokenizer:answer",
    "split": "tokviz.jobs.split:answer",
    "train": "tokviz.jobs.train:answer",
}
"""Where each job is: "module:function"."""


def load_job(name: str) -> Job:
    """Import a job.

    Raises:
        JobError: If there is no such job.
    """
    place = JOBS.get(name)
    if place is None:
        raise JobError(f"no job is called {name!r}; there are: {', '.join(sorted(JOBS))}")
    module, function = place.split(":")
    try:
        job: Job = getattr(import_module(module), function)
    except ModuleNotFoundError as error:
        missing = JobError(missing_package(str(error.name)))

        def job(request: Body, state: dict[str, Any]) -> Generator[Body, None, None]:
            raise missing

    return job
