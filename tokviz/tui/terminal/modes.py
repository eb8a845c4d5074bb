"""Terminal modes that the app sets, and the bytes that reset them."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

RESET = b"".join(
    (
        b"\x1b\\",  # ends a control string that was cut off in the middle
        b"\x1b[?2026l",  # synchronized output
        b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l",  # mouse reports
        b"\x1b[?1004l",  # focus reports
        b"\x1b[?2004l",  # bracketed paste
        b"\x1b[?2048l",  # resize reports
        b"\x1b[<u",  # kitty keyboard: the main and the alternate screen have a stack each
        b"\x1b[0m",
        b"\x1b[?7h",  # line wrap
        b"\x1b[?1049l",  # alternate screen
        b"\x1b[?25h",  # cursor
    )
)
"""Resets every mode that Textual's driver sets, at any point where it may have ended."""


ASK_FOR_FILE = "\x1b]7767;file\x07"
"""Requests a file from the page of `tokviz web`, which types its name into the open dialog."""


class SavedTerminal(NamedTuple):
    """State of a terminal before the app starts."""

    fd: int
    """File descriptor of the terminal."""
    attributes: list[Any] | None
    """Result of `termios.tcgetattr`, None without termios."""

    def restore(self) -> None:
        """Write `RESET` and restore the attributes; ignore a closed terminal."""
        try:
            os.write(self.fd, RESET)
        except OSError:
            return
        if sys.platform == "win32" or self.attributes is None:
            return
        import termios

        try:
            termios.tcsetattr(self.fd, termios.TCSANOW, self.attributes)
        except termios.error:
            return

    def is_raw(self) -> bool:
        """Return whether the terminal is in the raw mode of a full-screen app.

        A shell's line editor keeps signals on (ISIG), so its mode differs from the app's.
        """
        if sys.platform == "win32":
            return False
        import termios

        try:
            lflag: int = termios.tcgetattr(self.fd)[3]
        except termios.error:
            return False
        return not lflag & (termios.ISIG | termios.ICANON | termios.ECHO)


def save_terminal(fd: int) -> SavedTerminal:
    """Save the state of a terminal."""
    if sys.platform == "win32":
        return SavedTerminal(fd, None)
    import termios

    try:
        return SavedTerminal(fd, termios.tcgetattr(fd))
    except termios.error:
        return SavedTerminal(fd, None)


def terminal_fd() -> int | None:
    """Return the standard stream that is a terminal, stdout or stderr; None if neither is."""
    return next((fd for fd in (1, 2) if os.isatty(fd)), None)
