"""Locks between processes; the system releases them when their process ends."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

_RETRY_SECONDS = 0.01


def at_once(path: str, flags: int) -> int:
    """Open a file without blocking, even if it is a pipe: `open(..., opener=at_once)`."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def hold(file: IO[bytes], patience: float = 0.0) -> bool:
    """Lock an open file until it is closed.

    Args:
        file: The file.
        patience: Maximum number of seconds to wait for another holder.

    Returns:
        Whether it is locked now; False also if the file system has no locks.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            _lock(file)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_RETRY_SECONDS)
        except OSError:
            return False
        else:
            return True


def _lock(file: IO[bytes]) -> None:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError from error
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FileLock:
    """A lock on a separate file, because the protected file is replaced by renaming."""

    def __init__(self, path: Path) -> None:
        """Create a lock at a path; the file is created when the lock is taken."""
        self._path = path
        self._file: IO[bytes] | None = None

    def take(self, patience: float = 0.0) -> bool:
        """Try to take the lock; see `hold`.

        Raises:
            OSError: If the file cannot be created.
        """
        while self._file is None:
            file = open(self._path, "ab", opener=at_once)  # noqa: SIM115 (open as long as it is held)
            if not hold(file, patience):
                file.close()
                return False
            if self._is_at_path(file):
                self._file = file
            else:  # its last holder removed it meanwhile
                file.close()
        return True

    def _is_at_path(self, file: IO[bytes]) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.stat(self._path))
        except OSError:
            return False

    def release(self, *, remove: bool = False) -> None:
        """Release the lock, and delete its file if `remove` is true."""
        file, self._file = self._file, None
        if file is None:
            return
        if sys.platform == "win32":  # which cannot remove an open file
            file.close()
        if remove:
            with suppress(OSError):
                self._path.unlink()
        file.close()
