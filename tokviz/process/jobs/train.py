"""The job `train`: train a tokenizer, with progress reports.

The request is the output of `TrainRequest.to_json`. The answers are `{"report": …}` every
`REPORT_SECONDS`, and `{"summary": …}` once the run is saved; see
`tokviz.training.progress.TrainProgress` and `tokviz.process.jobs.train_messages.TrainSummary`. If
text was held out, a second summary with the comparison follows; a parent that does not need it
kills the child. A training that is canceled before it is saved leaves no files. If the parent
requests to finish (`enough`), the merges so far are saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import Any

from tokviz.errors import TokvizError
from tokviz.process.jobs.train_messages import HeldOut, TrainRequest
from tokviz.process.jobs.training import Training
from tokviz.process.protocol import Body
from tokviz.process.registry import ENOUGH

REPORT_SECONDS = 0.1


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer the request of this job.

    Raises:
        TokvizError: If an input, an output or a setting is wrong.
    """
    canceled = Event()
    train_request = TrainRequest.from_json(request)
    training = Training(train_request, lambda _: None, lambda: ENOUGH in state or canceled.is_set())

    def reports_of(work: Callable[[], None]) -> Iterator[Body]:
        # In a thread, so that reports continue during long steps.
        running = pool.submit(work)
        while wait([running], REPORT_SECONDS).not_done:
            yield {"report": training.report().to_json()}
        running.result()
        yield {"report": training.report().to_json()}

    with ThreadPoolExecutor(1, "training") as pool:
        try:
            yield from reports_of(training.learn)
            if ENOUGH in state and not len(training.learned.history):
                raise TokvizError("stopped before the first merge: nothing was learned yet")
            yield from reports_of(training.save)
            summary = training.summary()
            if ENOUGH not in state and training.n_held_out:
                pending = summary._replace(held_out=HeldOut(training.n_held_out, {}))
                yield {"summary": pending.to_json()}
                yield from reports_of(training.compare)
                summary = training.summary()
            yield {"summary": summary.to_json()}
        finally:
            # A canceled run ends here, in the middle of the loop.
            canceled.set()
