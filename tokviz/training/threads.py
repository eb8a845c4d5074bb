"""Threads that take what is to be done from one queue, such as blocks of text to be counted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Full, Queue
from typing import Generic, TypeVar

_SECONDS_OF_WAITING = 0.02


Item = TypeVar("Item")
Work = Callable[[int, Item, Callable[[], bool]], object]
"""What a thread does with an item and its number; it may give up once somebody asks to stop."""


class Threads(Generic[Item]):
    """One thread for each share of the work."""

    def __init__(self, shares: Sequence[Work[Item]]) -> None:
        """Start the threads."""
        self._items: Queue[tuple[int, Item] | None] = Queue(maxsize=2 * len(shares))
        self._stopping = threading.Event()
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=[share], name="counting", daemon=True)
            for share in shares
        ]
        for thread in self._threads:
            thread.start()

    def put(self, number: int, item: Item, should_stop: Callable[[], bool]) -> None:
        """Hand an item on. What went wrong in a thread is raised here."""
        self._put((number, item), should_stop)
        self._raise_errors()

    def finish(self, should_stop: Callable[[], bool]) -> None:
        """Wait until all is done. What went wrong in a thread is raised here."""
        self._join(should_stop)
        self._raise_errors()

    @property
    def failed(self) -> bool:
        """Whether something went wrong in a thread."""
        return bool(self._errors)

    def close(self) -> None:
        """End all threads soon."""
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

    def _run(self, share: Work[Item]) -> None:
        while (item := self._items.get()) is not None:
            if self._errors:
                continue
            try:
                share(*item, self._stopping.is_set)
            except BaseException as error:
                self._errors.append(error)
                # Others may be waiting for what this one was to find.
                self._stopping.set()
