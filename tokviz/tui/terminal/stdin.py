"""Read text from a pipe, then keys from the terminal."""

from __future__ import annotations

import os
import sys

from tokviz.errors import InputFileError, TokvizError
from tokviz.storage.files import MAX_FILE_BYTES

_STDIN = "standard input"


def read_piped_stdin(*, limit: int = MAX_FILE_BYTES) -> bytes | None:
    """Read all of standard input if it is not a terminal.

    Returns:
        The bytes, or None if standard input is a terminal or closed.

    Raises:
        InputFileError: If it cannot be read, or has more than `limit` bytes.
    """
    if os.isatty(0):
        return None
    try:
        os.fstat(0)
    except OSError:
        return None
    try:
        with open(0, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise InputFileError(_STDIN, error.strerror or str(error)) from None
    if len(data) > limit:
        raise InputFileError(_STDIN, f"more than {limit:,} bytes, which is the limit")
    return data


def reopen_terminal() -> None:
    """Make the terminal standard input again, to read keys after a pipe.

    Raises:
        TokvizError: If there is no terminal to show the app on or to read keys from.
    """
    if not os.isatty(1):
        raise _no_terminal()
    if os.isatty(0) and sys.__stdin__ is not None:
        return
    fd = _open_terminal()
    if fd != 0:
        os.dup2(fd, 0)
        os.close(fd)
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", errors="replace", closefd=False)  # type: ignore[misc]  # noqa: SIM115


def _open_terminal() -> int:
    """Open the controlling terminal, otherwise the terminal of standard output."""
    if sys.platform == "win32":
        return os.open("CONIN$", os.O_RDWR)
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        pass
    try:
        return os.open(os.ttyname(1), os.O_RDWR | os.O_NOCTTY)
    except OSError:
        raise _no_terminal() from None


def _no_terminal() -> TokvizError:
    return TokvizError(
        "the app needs a terminal; for pipes use `tokviz encode`, `tokviz count` or `tokviz replay "
        "--print`"
    )
