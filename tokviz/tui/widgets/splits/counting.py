"""What a thread does for the rows of named patterns: count, and split very long stretches."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Sequence

from tokviz.jobs.split_result import SplitPart, SplitResult
from tokviz.live.pieces import PieceCounter
from tokviz.pretokenize.split import split

_SLICE_SECONDS = 0.01
_REST_SECONDS = 0.004
"""Between two slices the thread leaves the interpreter to the keys."""


class Counting:
    """Works on counters from threads, one thread at a time."""

    def __init__(self) -> None:
        """Make the lock that keeps threads apart."""
        self._one_at_a_time = threading.Lock()

    def count(
        self,
        counters: Sequence[PieceCounter],
        chunks: Sequence[str],
        unwanted: Callable[[], bool],
        on_progress: Callable[[], object],
    ) -> None:
        """Count the pieces of a text, in slices, until all are counted or nobody wants them."""
        with self._one_at_a_time:
            for counter in counters:
                if unwanted():
                    return
                counter.update(chunks)
                on_progress()
            for counter in counters:
                while not unwanted() and not counter.advance(_SLICE_SECONDS):
                    on_progress()
                    time.sleep(_REST_SECONDS)
            on_progress()

    def split_around(
        self, counter: PieceCounter, chunks: Sequence[str], offset: int
    ) -> SplitResult:
        """Split the group that a character is in."""
        with self._one_at_a_time:
            counter.update(chunks)
            start, text = counter.group_at(offset)
        result = SplitResult()
        ends = array("I", split(counter.pattern, text).ends)
        result.add(SplitPart(start, ends, (), 0))
        return result
