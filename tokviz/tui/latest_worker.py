"""A worker of which only the latest request counts."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import Any, Generic, TypeVar

from textual.dom import DOMNode
from textual.worker import Worker

from tokviz.errors import TokvizError
from tokviz.process.runner import raise_if_stopped, stopped_by
from tokviz.tui.tasks import Task, in_thread

RequestT = TypeVar("RequestT")
T = TypeVar("T")

_POLL_SECONDS = 0.01


class LatestWorker(Generic[RequestT]):
    """Work in a thread for the latest request only.

    By default a request cancels the running work, whose result is dropped. With `one_at_a_time`
    the running work finishes first and its result is still used: for work that must not run twice
    at once, and whose results are worth showing while requests keep coming. Of the requests made
    meanwhile only the latest is worked on.

    Attributes:
        pending: The latest request while its result is still to come, otherwise None.
    """

    def __init__(self, node: DOMNode, group: str, *, one_at_a_time: bool = False) -> None:
        """Create a worker of a screen or widget; see `tasks.in_thread` for its group."""
        self._node, self._group, self._one_at_a_time = node, group, one_at_a_time
        self.pending: RequestT | None = None
        self._worker: Worker[None] | None = None
        self._next: Callable[[], None] | None = None

    def start(
        self,
        request: RequestT,
        work: Callable[[Task], T],
        done: Callable[[T], object],
        failed: Callable[[TokvizError], object],
        *,
        delay: float = 0.0,
        **options: Any,
    ) -> None:
        """Work on a request instead of the previous one.

        Args:
            request: Identifies the work in `pending`.
            work: Does it, in the thread. Jobs of child processes that it runs are canceled with it.
            done: Takes the result on the screen's thread.
            failed: Takes an error there.
            delay: Seconds to wait for a newer request before the work starts.
            options: More options of `tasks.in_thread`.
        """

        def run(task: Task) -> T:
            with stopped_by(lambda: task.cancelled):
                start = monotonic() + delay
                while monotonic() < start:
                    raise_if_stopped()
                    sleep(_POLL_SECONDS)
                return work(task)

        def finish(take: Callable[[Any], object], outcome: object) -> None:
            if self.pending is request:
                self.pending = None
            elif not self._one_at_a_time:
                return
            self._worker = None
            take(outcome)
            following, self._next = self._next, None
            if following is not None:
                following()

        def begin() -> None:
            self._worker = in_thread(
                self._node,
                self._group,
                run,
                lambda result: finish(done, result),
                failed=lambda error: finish(failed, error),
                **options,
            )

        worker = self._worker
        is_running = worker is not None and not (worker.is_finished or worker.is_cancelled)
        if self._one_at_a_time and is_running:
            self.pending, self._next = request, begin
            return
        self.cancel()
        self.pending = request
        begin()

    def cancel(self) -> None:
        """Drop the latest request, and cancel its work, which may run for a moment longer."""
        self.pending = self._next = None
        self._node.workers.cancel_group(self._node, self._group)
