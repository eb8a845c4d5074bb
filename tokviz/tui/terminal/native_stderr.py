"""Keeps what native code prints off the screen.

Python's own prints are caught by Textual. A library in C or Rust writes to file descriptor 2: a
panic that somebody catches would still be written across the app's screen.
"""

from __future__ import annotations

import os
import tempfile

_LAST_BYTES = 8_000


class NativeStderr:
    """File descriptor 2 leads into a temporary file while it is held."""

    def __init__(self) -> None:
        """Change nothing yet."""
        self._real: int | None = None
        self.last_words = ""
        """The end of what was written while it was held. Not safe for a terminal."""

    def hold(self) -> None:
        """Lead it away from the terminal. Where it is none, or nothing can be opened, leave it."""
        if self._real is not None or not os.isatty(2):
            return
        try:
            with tempfile.TemporaryFile() as file:
                real = os.dup(2)
                os.dup2(file.fileno(), 2)
        except OSError:
            return
        self._real = real

    def release(self) -> None:
        """Lead it to the terminal again."""
        if self._real is None:
            return
        size = os.lseek(2, 0, os.SEEK_END)
        os.lseek(2, max(0, size - _LAST_BYTES), os.SEEK_SET)
        words = os.read(2, _LAST_BYTES).decode("utf-8", "replace")
        self.last_words = words or self.last_words
        os.dup2(self._real, 2)
        os.close(self._real)
        self._real = None
