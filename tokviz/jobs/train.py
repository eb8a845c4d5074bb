"""The job `train`: learn a tokenizer, with reports all the while.

Request: what `TrainRequest.to_json` makes. Answers: `{"report": …}` about every `REPORT_SECONDS`,
and at last `{"summary": …}`, once the run is saved; see `TrainReport` and `TrainSummary` in
`tokviz.jobs.train_messages`. A training that is cancelled before it is saved leaves
nothing behind; one of which the parent has enough is saved with the merges so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
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
    unwanted = Event()
    training = Training(TrainRequest.from_json(request), lambda report: None, unwanted.is_set)
    if ENOUGH in state:
        unwanted.set()
    with ThreadPoolExecutor(1, "training") as pool:
        # In a thread of its own, so that reports flow whatever it does for how long.
        learning = pool.submit(training.learn)
        try:
            while wait([learning], REPORT_SECONDS).not_done:
                yield {"report": training.report().to_json()}
                if ENOUGH in state:
                    unwanted.set()
        finally:
            # A cancelled run ends here: in the middle of the loop.
            unwanted.set()
        learning.result()
    is_whole = ENOUGH not in state
    if not is_whole and not len(training.learned.history):
        raise TokvizError("it was stopped before the first merge: nothing was learned yet")
    yield {"report": training.report()._replace(phase="saving", fraction=0.0).to_json()}
    # Nothing is answered before it is saved, so that nobody ends the child meanwhile.
    training.save()
    yield {"report": training.report().to_json()}
    if is_whole:
        training.compare()
    yield {"summary": training.summary().to_json()}
