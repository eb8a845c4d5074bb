"""Worker threads that share one queue of items, such as blocks of text to count."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Full, Queue
from typing import Generic, TypeVar

_SECONDS_OF_WAITING = 0.02


Item = TypeVar("Item")
Work = Callable[[int, Item, Callable[[], bool]], object]
"""The work of a thread on an item: `work(number, item, should_stop)`.

It may return early once `should_stop()` is true.
"""


class Threads(Generic[Item]):
    """Threads, each with its own work function."""

    def __init__(self, work: Sequence[Work[Item]]) -> None:
        """Start one thread per work function."""
        self._items: Queue[tuple[int, Item] | None] = Queue(maxsize=2 * len(work))
        self._stopping = threading.Event()
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=[function], name="counting", daemon=True)
            for function in work
        ]
        for thread in self._threads:
            thread.start()

    def put(self, number: int, item: Item, should_stop: Callable[[], bool]) -> None:
        """Add an item to the queue, and raise an error that occurred in a thread."""
        self._put((number, item), should_stop)
        self._raise_errors()

    def finish(self, should_stop: Callable[[], bool]) -> None:
        """Wait until all items are done, and raise an error that occurred in a thread."""
        self._join(should_stop)
        self._raise_errors()

    @property
    def failed(self) -> bool:
        """True if an error occurred in a thread."""
        return bool(self._errors)

    def close(self) -> None:
        """Stop all threads."""
        self._stopping.set()
        self._join(lambda: True)

    def _join(self, should_stop: Callable[[], bool]) -> None:
        for _ in self._threads:
            self._put(None, should_stop)
        for thread in self._threads:
            while thread.is_alive():
                thread.join(_SECONDS_OF_WAITING)
                if should_stop():
                    self._stopping.set()
        self._threads.clear()

    def _put(self, item: tuple[int, Item] | None, should_stop: Callable[[], bool]) -> None:
        while True:
            try:
                return self._items.put(item, timeout=_SECONDS_OF_WAITING)
            except Full:
                if should_stop():
                    self._stopping.set()

    def _raise_errors(self) -> None:
        if self._errors:
            raise self._errors.pop()

    def _run(self, work: Work[Item]) -> None:
        while (item := self._items.get()) is not None:
            if self._errors:
                continue
            try:
                work(*item, self._stopping.is_set)
            except BaseException as error:
                self._errors.append(error)
                # Other threads may be waiting for the result of this one.
                self._stopping.set()
