"""The app's way out to the terminal."""

from __future__ import annotations

import os
import select
import sys

from tokviz.tui.terminal.modes import terminal_fd

_BLOCK_CHARACTERS = 1 << 16


class TerminalOutput:
    """A text file that writes to a terminal and outlives it.

    Textual's writer thread writes to this. When the terminal has gone, what is written is dropped:
    an error would end that thread, and everybody who waits for it.
    """

    def __init__(self, fd: int) -> None:
        """Take the file descriptor of the terminal."""
        self._fd = fd
        self._parts: list[str] = []
        self._n_waiting = 0
        self._gone = False

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._fd

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""
        return os.isatty(self._fd)

    def write(self, text: str) -> int:
        """Keep text for the next flush, or write it if there is much of it."""
        self._parts.append(text)
        self._n_waiting += len(text)
        if self._n_waiting >= _BLOCK_CHARACTERS:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Write what is waiting. A lone surrogate, which nobody can encode, becomes `?`."""
        data = memoryview("".join(self._parts).encode("utf-8", "replace"))
        self._parts.clear()
        self._n_waiting = 0
        while data and not self._gone:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:  # another program left the terminal in non-blocking mode
                select.select((), (self._fd,), ())
            except OSError:
                self._gone = True


def open_output() -> TerminalOutput:
    """Open the terminal for writing: stdout, else stderr (Textual's choice), else `/dev/tty`."""
    fd = terminal_fd()
    if fd is not None:
        return TerminalOutput(fd)
    try:
        return TerminalOutput(os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY))
    except OSError:
        return TerminalOutput(sys.__stderr__.fileno() if sys.__stderr__ is not None else 2)
