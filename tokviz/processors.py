"""How many threads may run compiled loops at once, and work for them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST = 4


def n_processors() -> int:
    """Count the processors that this process may keep busy, up to a few; 0 if there is only one.

    A process that has stepped back behind others, as in the background of the app, leaves one free.
    """
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if hasattr(os, "nice") and os.nice(0) > 0:
        n -= 1
    return min(n, _MOST) if n > 1 else 0


def one_ahead(
    work: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Iterator[Result]:
    """Work on items in threads, while the next one is made here; give the results in order."""
    from concurrent.futures import ThreadPoolExecutor

    items = iter(items)
    with ThreadPoolExecutor(n_threads) as threads:
        going = deque(threads.submit(work, item) for item in islice(items, n_threads))
        for item in items:
            going.append(threads.submit(work, item))
            yield going.popleft().result()
        yield from (one.result() for one in going)
