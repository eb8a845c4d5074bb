"""Log of unexpected errors."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from tokviz.errors import TokvizError
from tokviz.storage.folders import state_folder
from tokviz.text.glyphs import safe

FILE_NAME = "errors.log"
MAX_BYTES = 1_000_000
"""Size at which the file is cleared."""
MAX_CHARS = 200
"""Maximum length of the displayed error message."""

_PACKAGE = Path(__file__).resolve().parent.parent


class ErrorReport(NamedTuple):
    """An unexpected error.

    Attributes:
        place: The line that raised it, such as `tokviz/workspace/session.py:12`.
        summary: Its type, message and place in one line.
        trace: The traceback, without values of variables.
        file: The log file; None if it could not be written.
        times: Number of errors from this place so far, including this one.
    """

    place: str
    summary: str
    trace: str
    file: Path | None
    times: int


class ErrorLog:
    """Counts errors by place, and logs them in the user's state folder."""

    def __init__(self) -> None:
        """Start without errors."""
        self._counts: Counter[str] = Counter()

    def note(self, error: BaseException) -> ErrorReport:
        """Count and log an error. Never raises."""
        place = error_place(error)
        self._counts[place] += 1
        try:
            trace = "".join(traceback.format_exception(error))
        except MemoryError:
            trace = repr(error)
        words = safe(" ".join(str(error).split()))
        words = f": {words[:MAX_CHARS]}" if words else ""
        summary = f"{type(error).__name__}{words} ({place})"
        return ErrorReport(place, summary, trace, _write(trace), self._counts[place])


def error_place(error: BaseException) -> str:
    """Return the line that raised an error, after the innermost line of tokviz if it is another."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return "unknown place"
    ours = [frame for frame in frames if _PACKAGE in Path(frame.filename).parents]
    shown = [f"{_short(frame.filename)}:{frame.lineno}" for frame in (*ours[-1:], frames[-1])]
    return " → ".join(dict.fromkeys(shown))


def _short(filename: str) -> str:
    path = Path(filename)
    if _PACKAGE in path.parents:
        return path.relative_to(_PACKAGE.parent).as_posix()
    return "/".join(path.parts[-2:])


def _write(trace: str) -> Path | None:
    try:
        file = state_folder() / FILE_NAME
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        # Do not follow links, and do not wait for the reader of a pipe.
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        fd = os.open(file, flags, 0o600)
        with open(fd, "a", encoding="utf-8", errors="backslashreplace") as log:
            if os.fstat(fd).st_size > MAX_BYTES:
                log.truncate(0)
            log.write(f"{datetime.now().astimezone().isoformat()}\n{trace}\n")
    except (OSError, MemoryError, TokvizError):
        return None
    return file
