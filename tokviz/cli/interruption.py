"""Ctrl+C as a wish to stop soon, instead of an exception anywhere."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any


class Interruption:
    """While it is open, the first Ctrl+C sets `wanted`; the second is a `KeyboardInterrupt`."""

    def __init__(self) -> None:
        """Nothing has been asked yet."""
        self.wanted = False
        self._previous: Any = None

    def __enter__(self) -> Interruption:
        """Take over Ctrl+C."""
        self._previous = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        signal.signal(signal.SIGINT, self._previous)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True
