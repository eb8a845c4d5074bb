"""Collect garbage in small steps, and completely while the user pauses.

An automatic full collection would delay a key by up to a second when a long text is open.
"""

from __future__ import annotations

import gc

from tokviz.process.memory import give_back

PAUSE_SECONDS = 1.0
"""Seconds without input after which the user pauses."""

LONG_PAUSE_SECONDS = 10.0
"""Seconds without input after which all objects are collected, which takes longer."""

YOUNG_COLLECTIONS = 3
"""Collections of the second generation that make the next one due: about 15 MB by then."""

COLLECTIONS_PER_FULL = 20
"""Collections after which any pause is used for a full one."""


class IdleCollector:
    """Garbage collections since the last full one."""

    def __init__(self) -> None:
        """Start without collections."""
        self._n_partial = 0

    def collect(self, idle_seconds: float) -> None:
        """Collect garbage if that is due.

        Objects that survive are frozen, so that later collections skip them until a full one.
        Memory goes back to the system in a pause only: that takes some milliseconds per 100 MB.

        Args:
            idle_seconds: Seconds since the last input.
        """
        is_pause, is_long = idle_seconds > PAUSE_SECONDS, idle_seconds > LONG_PAUSE_SECONDS
        is_due = gc.get_count()[2] >= YOUNG_COLLECTIONS
        if (is_due or (is_long and self._n_partial)) and gc.isenabled():
            is_full = is_long or (is_pause and self._n_partial >= COLLECTIONS_PER_FULL)
            if is_full:
                gc.unfreeze()
            gc.collect()
            self._n_partial = 0 if is_full else self._n_partial + 1
            gc.freeze()
            if is_pause:
                give_back()
