"""Unsaved text outlives a crash.

Every running app has a file of its own, so that two of them never write to the same. The file is
one line of JSON and then the text's exact bytes. It is deleted when the text is saved or the app
quits. What is found of a process that no longer runs is text to recover.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from tokviz.bytetext import from_bytes, to_bytes
from tokviz.errors import TokvizError
from tokviz.files import FileState, file_state, read_file, write_file
from tokviz.folders import state_folder
from tokviz.json_file import parse_json

MAX_BYTES = 20_000_000
"""Longest text that is kept."""

_FORMAT = "tokviz autosave"
_VERSION = 1
_PATTERN = "autosave-*.tokviz"
_MAX_HEADER_BYTES = 1_000_000

_OTHER_MACHINE_AGE = timedelta(days=1)
"""Processes of another machine (a shared home folder) count as dead after this."""


class Recovered(NamedTuple):
    """Text that an app left behind when it crashed."""

    text: str
    """The byte text."""
    when: datetime
    """When it was kept, in local time."""
    source: Path | None
    """The file that was open, None if the text was never saved."""
    file: Path
    """Where it was found."""

    @property
    def state(self) -> FileState | None:
        """How the file that was open is, unless it has been written since the text was kept."""
        state = file_state(self.source) if self.source else None
        if state is not None and state.mtime_ns > self.when.timestamp() * 1e9:
            return None
        return state


class Autosave:
    """Keeps the unsaved text of this process in a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        """Take the folder, the user's state folder if not given."""
        self._folder = folder
        # The time, because in a container the app that crashed had the same process id.
        self._name = f"autosave-{os.getpid()}-{time.time_ns():x}.tokviz"
        self._lock = threading.Lock()
        self._written: Path | None = None
        self._n_clears = 0

    def write(self, text: str, source: Path | None = None) -> str | None:
        """Keep the text instead of what was kept before. Called from a worker thread.

        Args:
            text: The byte text.
            source: The file that is open, if any.

        Returns:
            None, or the sentence that says why the text is not kept. Never raises.
        """
        n_clears = self._n_clears
        try:
            data = to_bytes(text)
            if len(data) > MAX_BYTES:
                return (
                    f"Unsaved changes are not backed up: {len(data):,} bytes are more than"
                    f" {MAX_BYTES:,}."
                )
            file = self._open_folder() / self._name
            write_file(file, _header(len(data), source) + data, private=True)
        except (TokvizError, OSError, ValueError) as error:
            return f"Unsaved changes are not backed up. {error}"
        with self._lock:
            self._written = file
            if n_clears != self._n_clears:  # saved while this was being written
                _remove(file)
        return None

    def clear(self) -> None:
        """Forget the text of this process: it was saved, or the user gave it up."""
        with self._lock:
            self._n_clears += 1
            if self._written is not None:
                _remove(self._written)

    def pending(self) -> Recovered | None:
        """Return the newest text of a process that no longer runs."""
        try:
            files = sorted(self._open_folder().glob(_PATTERN))
        except (TokvizError, OSError):
            return None
        return max(filter(None, map(_read, files)), key=lambda found: found.when, default=None)

    def discard(self, recovered: Recovered) -> None:
        """Delete what `pending` returned, when the user has it back or does not want it."""
        _remove(recovered.file)

    def _open_folder(self) -> Path:
        if self._folder is None:
            self._folder = state_folder()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder


def _header(n_bytes: int, source: Path | None) -> bytes:
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "bytes": n_bytes,
        "when": datetime.now(UTC).isoformat(),
        "pid": os.getpid(),
        "started": _start_time(os.getpid()),
        "host": socket.gethostname(),
        "source": None if source is None else str(source.absolute()),
    }
    return json.dumps(header).encode() + b"\n"


def _read(file: Path) -> Recovered | None:
    """Read what a dead process left; None for anything else, damaged files too."""
    try:
        line, newline, data = read_file(file, limit=MAX_BYTES + _MAX_HEADER_BYTES).partition(b"\n")
        header = parse_json(line, file)
        if header["format"] != _FORMAT or header["version"] != _VERSION or not newline:
            return None
        when = datetime.fromisoformat(header["when"]).astimezone()
        if header["bytes"] != len(data) or _is_running(header, when):
            return None
        source = None if header["source"] is None else Path(header["source"])
    except (TokvizError, ValueError, KeyError, TypeError):
        return None
    return Recovered(from_bytes(data), when, source, file)


def _is_running(header: Mapping[str, Any], when: datetime) -> bool:
    if header["host"] != socket.gethostname():
        return datetime.now(UTC) - when < _OTHER_MACHINE_AGE
    pid = int(header["pid"])
    return _exists(pid) and _start_time(pid) == header["started"]


def _exists(pid: int) -> bool:
    if sys.platform == "win32":
        return _exists_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _exists_on_windows(pid: int) -> bool:
    """Ask Windows, where `os.kill` would end the process."""
    import ctypes

    query_limited_information, still_active = 0x1000, 259
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 (exists on Windows only)
    handle = kernel.OpenProcess(query_limited_information, False, pid)
    if not handle:
        return False
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return code.value == still_active


def _start_time(pid: int) -> str | None:
    """Return what tells two processes with the same id apart, where the system says it (Linux)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    return f"{boot}:{stat.rpartition(')')[2].split()[19]}"


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink(missing_ok=True)
