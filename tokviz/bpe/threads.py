"""Threads that take blocks of text from one queue, each for a counter of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Full, Queue
from typing import Protocol

from tokviz.corpus.text_blocks import TextBlock

_SECONDS_OF_WAITING = 0.02


class Share(Protocol):
    """Counts the blocks that one thread takes."""

    def count(self, number: int, block: TextBlock, should_stop: Callable[[], bool]) -> object:
        """Count a block, or give up once somebody asks to stop."""


class Threads:
    """One thread for each share of the work."""

    def __init__(self, shares: Sequence[Share]) -> None:
        """Start the threads."""
        self._blocks: Queue[tuple[int, TextBlock] | None] = Queue(maxsize=2 * len(shares))
        self._stopping = threading.Event()
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=[share], name="counting", daemon=True)
            for share in shares
        ]
        for thread in self._threads:
            thread.start()

    def put(self, number: int, block: TextBlock, should_stop: Callable[[], bool]) -> None:
        """Hand a block on. What went wrong in a thread is raised here."""
        self._put((number, block), should_stop)
        self._raise_errors()

    def finish(self, should_stop: Callable[[], bool]) -> None:
        """Wait until all blocks are counted. What went wrong in a thread is raised here."""
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

    def _put(self, item: tuple[int, TextBlock] | None, should_stop: Callable[[], bool]) -> None:
        while True:
            try:
                return self._blocks.put(item, timeout=_SECONDS_OF_WAITING)
            except Full:
                if should_stop():
                    self._stopping.set()

    def _raise_errors(self) -> None:
        if self._errors:
            raise self._errors.pop()

    def _run(self, share: Share) -> None:
        while (item := self._blocks.get()) is not None:
            if self._errors:
                continue
            try:
                share.count(*item, self._stopping.is_set)
            except BaseException as error:
                self._errors.append(error)
                # Others may be waiting for what this one was to find.
                self._stopping.set()
