"""What the app switches on in a terminal, and the bytes that switch all of it off again."""

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
"""Undoes every mode that Textual's driver sets, whatever it was doing when it died."""


ASK_FOR_FILE = "\x1b]7767;file\x07"
"""Asks the page of `tokviz web` for a file: it types the file's name into the open dialog."""


class SavedTerminal(NamedTuple):
    """A terminal as it was before the app touched it."""

    fd: int
    """File descriptor of the terminal."""
    attributes: list[Any] | None
    """What `termios.tcgetattr` said, None where there is no termios."""

    def restore(self) -> None:
        """Write `RESET` and put the attributes back. A terminal that has gone is no error."""
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
        """Tell whether the terminal is in the raw mode of a full-screen app.

        A shell's line editor keeps signals on (ISIG), so its mode is not mistaken for the app's.
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
    """Note how the terminal behind a file descriptor is set."""
    if sys.platform == "win32":
        return SavedTerminal(fd, None)
    import termios

    try:
        return SavedTerminal(fd, termios.tcgetattr(fd))
    except termios.error:
        return SavedTerminal(fd, None)


def terminal_fd() -> int | None:
    """Find the standard stream that is a terminal to write to: stdout, then stderr."""
    return next((fd for fd in (1, 2) if os.isatty(fd)), None)
