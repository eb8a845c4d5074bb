"""The parent's client of the job `train`."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.errors import TokvizError
from tokviz.process.jobs.train_messages import TrainRequest, TrainSummary
from tokviz.process.limits import Limits
from tokviz.process.protocol import Message
from tokviz.process.runner import JobClient, RunHandlers
from tokviz.training.progress import TrainProgress

LIMITS = Limits(memory_mb=None, cpu_seconds=None, niceness=10)
"""A training may use unlimited resources, at a lower priority than the app."""

_GRACE_SECONDS = 10.0  # the job answers at once, except while it writes the run folder


class TrainClient(JobClient):
    """Client that trains in a child process, which ends with the training.

    A canceled training is not saved, unless saving has already started. `finish` saves the merges
    so far, and a summary follows.
    """

    def __init__(
        self,
        on_report: Callable[[int, TrainProgress], object],
        on_done: Callable[[int, TrainSummary], object],
        on_error: Callable[[int, TokvizError], object],
    ) -> None:
        """Create a client with callbacks, which a thread calls with the run id first.

        `on_done` is called once the run is saved, and again with the comparison if text was held
        out (`TrainSummary.is_comparing`); `close` skips the comparison.
        """
        super().__init__("train", limits=LIMITS, grace=_GRACE_SECONDS, keeps_child=False)
        self._on_report = on_report
        self._on_done = on_done
        self._on_error = on_error

    def train(self, request: TrainRequest) -> int:
        """Start a training, which replaces any other, and return its run id."""
        body = request.to_json()
        handlers = RunHandlers(self._take_answer, on_error=self._on_error)
        return self.run(lambda memory: [body], handlers)

    def _take_answer(self, run: int, answer: Message) -> None:
        if "summary" in answer:
            self._on_done(run, TrainSummary.from_json(answer["summary"]))
        else:
            self._on_report(run, TrainProgress.from_json(answer["report"]))
