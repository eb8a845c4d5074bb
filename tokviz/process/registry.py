"""The jobs by name. To add one, write its module and add one entry to `JOBS`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from importlib import import_module
from typing import Any

from tokviz.errors import JobError, missing_package
from tokviz.process.protocol import Body

Job = Callable[[Body, dict[str, Any]], Generator[Body, None, None]]
"""A job handles one request: `job(request, state)` yields the bodies of its answers.

`state` is a dict that the job keeps between requests, empty when the child starts. A long-running
job must yield often, because it can be canceled only between two answers, and silence counts as a
hang. It raises errors for the user as `TokvizError`.
"""

ENOUGH = "enough"
"""Key in `state` once the parent wants no more: a job may then end with its results so far."""

JOBS: dict[str, str] = {
    name: f"tokviz.process.jobs.{name}:answer"
    for name in (
        "chat_template",
        "check_bpe",
        "count_pre_tokens",
        "examine_tokenizer",
        "huggingface_tokenizer",
        "read_parquet",
        "read_tokenizer",
        "split",
        "train",
    )
}
"""Job name → "module:function"."""


def load_job(name: str) -> Job:
    """Import a job.

    Raises:
        JobError: If no job has this name.
    """
    place = JOBS.get(name)
    if place is None:
        raise JobError(f"no job is named {name!r}; the jobs are: {', '.join(sorted(JOBS))}")
    module, function = place.split(":")
    try:
        job: Job = getattr(import_module(module), function)
    except ModuleNotFoundError as error:
        missing = JobError(missing_package(str(error.name)))

        def job(request: Body, state: dict[str, Any]) -> Generator[Body, None, None]:
            raise missing

    return job
