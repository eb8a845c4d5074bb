"""Having loops compiled in another process, so that this one stays quick meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from tokviz.child.runner import JobClient, RunHandlers
from tokviz.errors import TokvizError
from tokviz.jobs.train_client import LIMITS
from tokviz.replay.corpus import waits_for_compiler

_LOOK_SECONDS = 0.1


def compile_first(
    folder: str, should_stop: Callable[[], bool], on_wait: Callable[[], object]
) -> None:
    """Wait until opening a run compiles nothing any more. For a worker.

    Where the child fails, the caller compiles for itself, which takes as long but is no error.

    Args:
        folder: The run folder.
        should_stop: Asked now and then; once it says True, the child is ended.
        on_wait: Called if there is something to wait for.

    Raises:
        TokvizError: If the folder is no run, or damaged.
    """
    if not waits_for_compiler(folder):
        return
    on_wait()
    over = Event()

    def end(*_: int | TokvizError) -> None:
        over.set()

    client = JobClient("compile_kernels", limits=LIMITS, keeps_child=False)
    client.run(lambda memory: [{}], RunHandlers(lambda run, answer: None, end, end))
    while not over.wait(_LOOK_SECONDS) and not should_stop():
        pass
    client.close()
