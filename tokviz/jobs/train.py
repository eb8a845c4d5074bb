"""The job `train`: learn a tokenizer, with reports all the while.

Request: what `TrainRequest.to_json` makes. Answers: `{"report": …}` about every `REPORT_SECONDS`,
and at last `{"summary": …}`, once the run is saved; see `TrainReport` and `TrainSummary` in
`tokviz.jobs.train_messages`. A training that is cancelled before it is saved leaves
nothing behind; one of which the parent has enough is saved with the merges so far.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from tokviz.child.protocol import Body
from tokviz.child.registry import ENOUGH
from tokviz.errors import TokvizError
from tokviz.jobs.train_messages import TrainRequest
from tokviz.jobs.training import Training

REPORT_SECONDS = 0.1


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Train as asked.

    Raises:
        TokvizError: If an input, an output or a setting is wrong.
    """
    learner = _Learner(TrainRequest.from_json(request))
    training = learner.training
    if ENOUGH in state:
        learner.end_soon()
    learner.start()
    try:
        while not learner.over.wait(REPORT_SECONDS):
            yield {"report": training.report().to_json()}
            if ENOUGH in state:
                learner.end_soon()
    finally:
        # A cancelled run ends here: in the middle of the loop.
        learner.stop()
    is_whole = ENOUGH not in state
    if not is_whole and not len(training.learned.history):
        raise TokvizError("it was stopped before the first merge, so there is nothing to keep")
    yield {"report": training.report()._replace(phase="saving", fraction=0.0).to_json()}
    # Nothing is answered before it is saved, so that nobody ends the child meanwhile.
    training.save()
    yield {"report": training.report().to_json()}
    if is_whole:
        training.compare()
    yield {"summary": training.summary().to_json()}


class _Learner:
    """Learns in a thread of its own, so that reports flow whatever it does for how long.

    Attributes:
        over: Set when the thread has ended.
    """

    def __init__(self, request: TrainRequest) -> None:
        self.over = threading.Event()
        self._unwanted = threading.Event()
        self.training = Training(request, lambda report: None, self._unwanted.is_set)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._learn, name="training", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def end_soon(self) -> None:
        """Learn no more."""
        self._unwanted.set()

    def stop(self) -> None:
        """Give up what is not over, wait until it is, and raise what it has raised."""
        self.end_soon()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _learn(self) -> None:
        try:
            self.training.learn()
        except BaseException as error:
            self._error = error
        finally:
            self.over.set()
