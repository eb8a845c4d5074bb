"""Unsaved text outlives a crash.

Every running app writes a journal of its own: records, each a line of JSON and then as many bytes
as that says. The first record is the whole text, those behind it replace bytes of it, so that a key
in a long text costs a few bytes. A lock beside the journal ends with its process: what lies there
unlocked was left behind.
"""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from tokviz.errors import InputFileError, TokvizError
from tokviz.storage.files import FileState, file_state, reading, write_file
from tokviz.storage.folders import state_folder
from tokviz.storage.json_file import parse_json
from tokviz.storage.locks import FileLock
from tokviz.text.bytetext import from_bytes, to_bytes
from tokviz.text.sentences import failure_message
from tokviz.text.snapshots import TextPart, changed_range

MAX_RECORDS = 1_000
"""So many changes are replayed quickly; with more of them the whole text is written anew."""

MAX_CHANGED_BYTES = 1_000_000
"""Changes may take so many bytes, or as many as the text, until it is written anew."""

MOST_LEFTOVERS = 100
"""Taken at once: each has an open file. The others come when these are answered."""

_BEGINNING = 200
"""Bytes, more than there are rows for."""
_FORMAT = "tokviz autosave"
_VERSION = 2
_DATA, _LOCK = ".tokviz", ".lock"


class Leftover(NamedTuple):
    """Text that an app left behind when it ended. Nobody else is offered it meanwhile.

    Attributes:
        file: The journal.
        lock: Keeps it from other apps.
        when: When it was written last, in local time.
        n_bytes: How long the text is.
        source: The file that was open, None if the text was never saved.
        damage: What is wrong with the journal, "" for nothing.
        is_readable: Whether there is any text in it.
        beginning: The first bytes of the text, which tell it from others.
    """

    file: Path
    lock: FileLock
    when: datetime
    n_bytes: int = 0
    source: Path | None = None
    damage: str = ""
    is_readable: bool = True
    beginning: bytes = b""

    def text(self) -> str:
        """Read the byte text.

        Raises:
            TokvizError: If nothing of it can be read any more.
        """
        return from_bytes(bytes(_Journal(self.file).text))

    @property
    def state(self) -> FileState | None:
        """How the file that was open is, unless it has been written since the text was kept."""
        state = file_state(self.source) if self.source else None
        if state is not None and state.mtime_ns > self.when.timestamp() * 1e9:
            return None
        return state

    def discard(self) -> None:
        """Delete it: the user has it back, or does not want it."""
        self.file.unlink(missing_ok=True)
        self.lock.release(remove=True)


class _Wish(NamedTuple):
    """What is to be kept: the parts of a text, None for nothing, and the file that is open."""

    parts: Iterable[str | TextPart] | None
    source: Path | None


class Autosave:
    """The journal of this process in a folder, and what others left behind there."""

    def __init__(self, folder: Path | None = None, *, below: str = "") -> None:
        """Take the folder.

        Args:
            folder: The folder, the user's state folder if not given.
            below: The name of a folder in it, "" for the folder itself.
        """
        self._folder, self._below = folder, below
        # The time, because in a container the app that crashed had the same process id.
        self._name = f"autosave-{os.getpid()}-{time.time_ns():x}"
        self._lock: FileLock | None = None
        self._busy = threading.Lock()
        self._wishes: deque[_Wish] = deque(maxlen=1)
        self._source: Path | None = None
        self._parts: Sequence[str | TextPart] = ()
        self._sizes: Sequence[int] = ()
        self._n_records = self._n_changed = 0
        """What has been written since the whole text; no records where that is not there."""

    # -- what this process keeps

    def want(self, parts: Iterable[str | TextPart] | None, source: Path | None = None) -> None:
        """Say what `flush` is to keep from now on; it costs next to nothing.

        Args:
            parts: The byte text in parts, of which those that did not change are best the same
                objects; None for nothing. `flush` goes through them, once.
            source: The file that is open, if any.
        """
        self._wishes.append(_Wish(parts, source))

    def flush(self) -> str | None:
        """Bring the journal up to date; for a worker thread, or several.

        Returns:
            None, or the sentence that says why the text is not kept. Never raises.
        """
        with self._busy:
            if not self._wishes:
                return None
            parts, source = self._wishes.pop()
            try:
                if parts is None:
                    self._remove()
                else:
                    self._write(list(parts), source)
            except (TokvizError, OSError, ValueError) as error:
                self._n_records = 0
                return failure_message("Unsaved changes are not backed up", error)
        return None

    def end(self) -> None:
        """Let what is kept by now be offered by other processes."""
        with self._busy:
            if self._lock is not None:
                self._lock.release(remove=True)

    def _remove(self) -> None:
        self._n_records = 0
        if self._lock is not None:
            self._path.unlink(missing_ok=True)

    @property
    def _path(self) -> Path:
        return self._open_folder() / (self._name + _DATA)

    def _write(self, parts: Sequence[str | TextPart], source: Path | None) -> None:
        if self._lock is None:
            self._lock = FileLock(self._open_folder() / (self._name + _LOCK))
        self._lock.take()  # where there are no locks it is kept all the same
        first, old_last, new_last = changed_range(self._parts, parts)
        changed = list(map(_data, parts[first:new_last]))
        sizes = self._sizes
        n_changed = self._n_changed + sum(map(len, changed))
        is_worth_it = self._n_records < MAX_RECORDS and n_changed < max(
            MAX_CHANGED_BYTES, sum(sizes)
        )
        if not (self._n_records and is_worth_it and source == self._source):
            self._write_all(parts, source)
            return
        at, removed = sum(sizes[:first]), sum(sizes[first:old_last])
        data = b"".join(changed)
        if removed or data:
            try:
                # Not "ab", which would begin a new file where somebody has removed it.
                with open(self._path, "r+b") as file:
                    file.seek(0, os.SEEK_END)
                    file.write(_header(at, removed, len(data), crc32(data)) + data)
                    file.flush()
                    os.fsync(file.fileno())
            except FileNotFoundError:
                self._write_all(parts, source)
                return
        self._parts = parts
        self._sizes = [*sizes[:first], *map(len, changed), *sizes[old_last:]]
        self._n_records, self._n_changed = self._n_records + 1, n_changed

    def _write_all(self, parts: Sequence[str | TextPart], source: Path | None) -> None:
        # Part by part, twice: the text may be so long that nobody wants a copy of it.
        sizes, check = [], 0
        for part in parts:
            data = _data(part)
            sizes.append(len(data))
            check = crc32(data, check)
        about = {
            "format": _FORMAT,
            "version": _VERSION,
            "source": None if source is None else str(source.absolute()),
        }
        header = _header(0, 0, sum(sizes), check, **about)

        def content() -> Iterator[bytes]:
            yield header
            yield from map(_data, parts)

        write_file(self._path, content(), private=True)
        self._source, self._parts, self._sizes = source, parts, sizes
        self._n_records, self._n_changed = 1, 0

    def _open_folder(self) -> Path:
        if self._folder is None:
            self._folder = state_folder()
        folder = self._folder / self._below
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    # -- what others left behind

    def leftovers(self) -> list[Leftover]:
        """Take the newest of what processes left behind that no longer run, the newest first."""
        try:
            folder = self._open_folder()
            files = [it for it in folder.glob("autosave-*") if it.suffix in (_DATA, _LOCK)]
            files.sort(key=lambda it: file_state(it) or (0,), reverse=True)
            names = dict.fromkeys(it.stem for it in files)
            found = list(islice(filter(None, (_take(folder, it) for it in names)), MOST_LEFTOVERS))
        except (TokvizError, OSError):
            return []
        return sorted(found, key=lambda leftover: leftover.when, reverse=True)


def _data(part: str | TextPart) -> bytes:
    return part.data if isinstance(part, TextPart) else to_bytes(part)


def _header(at: int, removed: int, n_bytes: int, check: int, **about: Any) -> bytes:
    """Write the line before the bytes that replace `removed` bytes at the byte offset `at`."""
    when = datetime.now(UTC).isoformat()
    header = {**about, "when": when, "at": at, "removed": removed, "bytes": n_bytes, "crc32": check}
    return json.dumps(header).encode("ascii") + b"\n"


def _take(folder: Path, name: str) -> Leftover | None:
    """Take what a process left behind; None if it still runs, or left nothing."""
    file, lock = folder / (name + _DATA), FileLock(folder / (name + _LOCK))
    if not lock.take():
        return None
    try:
        status = file.lstat()
        written = datetime.fromtimestamp(status.st_mtime).astimezone()
    except OSError:
        lock.release(remove=True)
        return None
    try:
        if not stat.S_ISREG(status.st_mode):  # it may never end
            raise InputFileError(file, "is not a file of its own")
        journal = _Journal(file)
    except TokvizError as error:
        return Leftover(file, lock, written, damage=str(error), is_readable=False)
    about = journal.when, len(journal.text), journal.source, journal.damage
    return Leftover(file, lock, *about, beginning=bytes(journal.text[:_BEGINNING]))


class _Journal:
    """What a journal holds.

    Attributes:
        text: The text.
        when: When it was changed last.
        source: The file that was open.
        damage: What is wrong with it. That the last record is not whole is nothing: its process
            was killed while it wrote that.
    """

    def __init__(self, file: Path) -> None:
        """Read a file.

        Raises:
            TokvizError: If nothing of it can be read.
        """
        with reading(file):
            data = file.read_bytes()
        self.text, self.damage, n_read = bytearray(), "", 0
        try:
            while record := _record(data, n_read, file):
                header, body = record
                if not n_read:
                    if (header["format"], header["version"]) != (_FORMAT, _VERSION):
                        break
                    self.source = Path(header["source"]) if header["source"] else None
                at, removed = header["at"], header["removed"]
                if not 0 <= at <= at + removed <= len(self.text):
                    raise ValueError("changes what is not there")
                self.when = datetime.fromisoformat(header["when"]).astimezone()
                self.text[at : at + removed] = body
                n_read = data.index(b"\n", n_read) + 1 + len(body)
        except (TokvizError, ValueError, KeyError, TypeError):
            self.damage = f"{file}: the last {len(data) - n_read:,} bytes are damaged"
        if not n_read:
            raise InputFileError(file, "it is damaged, or another version of tokviz wrote it")


def _record(data: bytes, at: int, file: Path) -> tuple[dict[str, Any], bytes] | None:
    """Read the record at an offset: its line, and the bytes behind that.

    Returns:
        Both, or None if the file ends before the record does.
    """
    end = data.find(b"\n", at)
    if end < 0:
        return None
    header = parse_json(data[at:end], file)
    body = data[end + 1 : end + 1 + header["bytes"]]
    if len(body) < header["bytes"]:
        return None
    if crc32(body) != header["crc32"]:
        raise ValueError("the bytes are others")
    return header, body
