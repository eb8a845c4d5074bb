"""What went wrong unexpectedly: where, and the file that remembers it."""

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
"""A longer file begins anew."""
MAX_CHARS = 200
"""Characters of an error's own words that are shown."""

_PACKAGE = Path(__file__).resolve().parent.parent


class Unexpected(NamedTuple):
    """An error that nobody expected.

    Attributes:
        place: The line that it came from, such as `tokviz/workspace/session.py:12`.
        summary: Its kind, its own words and the place, in a line.
        trace: The whole traceback, without values of variables.
        file: The file that remembers it, None if it could not be written.
        times: How many came from this place so far, this one included.
    """

    place: str
    summary: str
    trace: str
    file: Path | None
    times: int


class ErrorLog:
    """Counts errors by place, and writes them down in the user's state folder."""

    def __init__(self) -> None:
        """Begin with no error."""
        self._counts: Counter[str] = Counter()

    def note(self, error: BaseException) -> Unexpected:
        """Count and write down an error. Never raises."""
        place = place_of(error)
        self._counts[place] += 1
        try:
            trace = "".join(traceback.format_exception(error))
        except MemoryError:
            trace = repr(error)
        words = safe(" ".join(str(error).split()))
        words = f": {words[:MAX_CHARS]}" if words else ""
        summary = f"{type(error).__name__}{words} ({place})"
        return Unexpected(place, summary, trace, _write(trace), self._counts[place])


def place_of(error: BaseException) -> str:
    """Give the line that an error came from, behind the innermost one of ours if it is not ours."""
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
        # What a link leads to is not written into, and nobody waits for the reader of a pipe.
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        fd = os.open(file, flags, 0o600)
        with open(fd, "a", encoding="utf-8", errors="backslashreplace") as log:
            if os.fstat(fd).st_size > MAX_BYTES:
                log.truncate(0)
            log.write(f"{datetime.now().astimezone().isoformat()}\n{trace}\n")
    except (OSError, MemoryError, TokvizError):
        return None
    return file
