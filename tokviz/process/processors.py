"""How many threads may run compiled loops at once."""

from __future__ import annotations

import os

_MOST = 4


def n_processors() -> int:
    """Count the processors that this process may keep busy, up to a few; 0 if there is only one.

    A process that has stepped back behind others, as in the background of the app, leaves one free.
    """
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if hasattr(os, "nice") and os.nice(0) > 0:
        n -= 1
    return min(n, _MOST) if n > 1 else 0
