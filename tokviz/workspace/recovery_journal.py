"""Journals of unsaved text, for recovery after a crash.

Every running app writes its own journal of records: a line of JSON, followed by the number of bytes
that it states. The first record is the whole text; the others replace bytes of it, so that an edit
of a long text costs only a few bytes. Each journal has a lock file, which the process holds until
it ends; an unlocked journal can be recovered.
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
"""Maximum number of records before the whole text is written again."""

MAX_CHANGED_BYTES = 1_000_000
"""Maximum size of all changes, if the text is not larger, before it is written again."""

MAX_RECOVERABLE = 100
"""Maximum number of texts locked at a time, because each lock is an open file."""

_PREVIEW_BYTES = 200
_FORMAT = "tokviz autosave"
_VERSION = 2
_DATA, _LOCK = ".tokviz", ".lock"


class RecoverableText(NamedTuple):
    """Unsaved text of an app that has ended, locked for this process.

    Attributes:
        file: The journal.
        lock: The lock on the journal.
        when: The local time of the last change.
        n_bytes: Size of the text.
        source: The file that was open; None if the text was never saved.
        row: The row in that file, from 0, and the digest of the row; None for the whole file.
        damage: A message about damage of the journal; empty for none.
        is_readable: Whether any text can be read.
        beginning: The first bytes of the text, as a preview.
    """

    file: Path
    lock: FileLock
    when: datetime
    n_bytes: int = 0
    source: Path | None = None
    row: tuple[int, str] | None = None
    damage: str = ""
    is_readable: bool = True
    beginning: bytes = b""

    def text(self) -> str:
        """Read the byte text.

        Raises:
            TokvizError: If the journal cannot be read.
        """
        return from_bytes(bytes(_Journal(self.file).text))

    @property
    def state(self) -> FileState | None:
        """The state of the file that was open; None if it was written after the journal."""
        state = file_state(self.source) if self.source else None
        if state is not None and state.mtime_ns > self.when.timestamp() * 1e9:
            return None
        return state

    def discard(self) -> None:
        """Delete the journal, after the user has restored or discarded the text."""
        self.file.unlink(missing_ok=True)
        self.lock.release(remove=True)


class RecoveryJournal:
    """The journal of this process, and access to those of ended processes."""

    def __init__(self, folder: Path | None = None, *, below: str = "") -> None:
        """Set the folder of the journals.

        Args:
            folder: A folder, by default the user's state folder.
            below: A subfolder of it; empty for none.
        """
        self._folder, self._below = folder, below
        # With the time, because in a container every app may have the same process id.
        self._name = f"autosave-{os.getpid()}-{time.time_ns():x}"
        self._lock: FileLock | None = None
        self._busy = threading.Lock()
        self._pending: deque[tuple[Iterable[str | TextPart] | None, dict[str, Any]]]
        self._pending = deque(maxlen=1)
        self._source: dict[str, Any] = {}
        self._parts: Sequence[str | TextPart] = ()
        self._sizes: Sequence[int] = ()
        self._n_records = self._n_changed = 0
        """Records and changed bytes since the whole text was written; 0 records without it."""

    # -- the journal of this process

    def set_text(
        self,
        parts: Iterable[str | TextPart] | None,
        source: Path | None = None,
        row: tuple[int, str] | None = None,
    ) -> None:
        """Set the text for the next `flush`, which is cheap.

        Args:
            parts: The byte text in parts; unchanged parts should be the same objects. None to
                delete the journal. `flush` iterates over them once.
            source: The open file, if any.
            row: Its row and the digest of that row, if the text is only a row of the file.
        """
        file = None if source is None else str(source.absolute())
        # Not under the key `source`, which is a file to be replaced by the text.
        about = {"source": file} if row is None else {"source": None, "row": [file, *row]}
        self._pending.append((parts, about))

    def flush(self) -> str | None:
        """Update the journal; for one or several worker threads. Never raises.

        Returns:
            An error message for the user, or None.
        """
        with self._busy:
            if not self._pending:
                return None
            parts, source = self._pending.pop()
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
        """Release the lock, so that other processes can recover the text."""
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

    def _write(self, parts: Sequence[str | TextPart], source: dict[str, Any]) -> None:
        if self._lock is None:
            self._lock = FileLock(self._open_folder() / (self._name + _LOCK))
        self._lock.take()  # on file systems without locks, the journal is written anyway
        first, old_last, new_last = changed_range(self._parts, parts)
        changed = list(map(_data, parts[first:new_last]))
        sizes = self._sizes
        n_changed = self._n_changed + sum(map(len, changed))
        is_short = self._n_records < MAX_RECORDS and n_changed < max(MAX_CHANGED_BYTES, sum(sizes))
        if not (self._n_records and is_short and source == self._source):
            self._write_all(parts, source)
            return
        at, removed = sum(sizes[:first]), sum(sizes[first:old_last])
        data = b"".join(changed)
        if removed or data:
            try:
                # Not "ab", which would create a file without the whole text if it was deleted.
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

    def _write_all(self, parts: Sequence[str | TextPart], source: dict[str, Any]) -> None:
        # Convert the parts twice instead of copying a text that may be very long.
        sizes, check = [], 0
        for part in parts:
            data = _data(part)
            sizes.append(len(data))
            check = crc32(data, check)
        about = {"format": _FORMAT, "version": _VERSION, **source}
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

    # -- journals of ended processes

    def recoverable_texts(self) -> list[RecoverableText]:
        """Lock and return the texts of ended processes, the newest first."""
        try:
            folder = self._open_folder()
            files = [file for file in folder.glob("autosave-*") if file.suffix in (_DATA, _LOCK)]
            files.sort(key=lambda file: file_state(file) or (0,), reverse=True)
            names = dict.fromkeys(file.stem for file in files)
            texts = filter(None, (_lock_text(folder, name) for name in names))
            recoverable = list(islice(texts, MAX_RECOVERABLE))
        except (TokvizError, OSError):
            return []
        return sorted(recoverable, key=lambda text: text.when, reverse=True)


def _data(part: str | TextPart) -> bytes:
    return part.data if isinstance(part, TextPart) else to_bytes(part)


def _header(at: int, removed: int, n_bytes: int, check: int, **about: Any) -> bytes:
    """Return the header of a record that replaces `removed` bytes at the byte offset `at`."""
    when = datetime.now(UTC).isoformat()
    header = {**about, "when": when, "at": at, "removed": removed, "bytes": n_bytes, "crc32": check}
    return json.dumps(header).encode("ascii") + b"\n"


def _lock_text(folder: Path, name: str) -> RecoverableText | None:
    """Lock the text of an ended process; None if it still runs, or has no journal."""
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
        if not stat.S_ISREG(status.st_mode):  # reading a pipe may block forever
            raise InputFileError(file, "is not a regular file")
        journal = _Journal(file)
    except TokvizError as error:
        return RecoverableText(file, lock, written, damage=str(error), is_readable=False)
    about = journal.when, len(journal.text), journal.source, journal.row, journal.damage
    return RecoverableText(file, lock, *about, beginning=bytes(journal.text[:_PREVIEW_BYTES]))


class _Journal:
    """Content of a journal.

    Attributes:
        text: The text.
        when: The time of the last change.
        source: The file that was open.
        row: The row of that file, and its digest.
        damage: A message about damage. An incomplete last record is not damage, because its process
            was killed while writing.
    """

    def __init__(self, file: Path) -> None:
        """Read a journal.

        Raises:
            TokvizError: If it has no valid record.
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
                    source, *row = header.get("row") or [header["source"]]
                    self.source = Path(source) if source else None
                    self.row = (int(row[0]), str(row[1])) if row else None
                at, removed = header["at"], header["removed"]
                if not 0 <= at <= at + removed <= len(self.text):
                    raise ValueError("the record changes bytes outside the text")
                self.when = datetime.fromisoformat(header["when"]).astimezone()
                self.text[at : at + removed] = body
                n_read = data.index(b"\n", n_read) + 1 + len(body)
        except (TokvizError, ValueError, KeyError, TypeError):
            self.damage = f"{file}: the last {len(data) - n_read:,} bytes are damaged"
        if not n_read:
            raise InputFileError(file, "is damaged, or was written by another version of tokviz")


def _record(data: bytes, at: int, file: Path) -> tuple[dict[str, Any], bytes] | None:
    """Read the record at an offset.

    Returns:
        Its header and its bytes, or None if the record is incomplete.
    """
    end = data.find(b"\n", at)
    if end < 0:
        return None
    header = parse_json(data[at:end], file)
    body = data[end + 1 : end + 1 + header["bytes"]]
    if len(body) < header["bytes"]:
        return None
    if crc32(body) != header["crc32"]:
        raise ValueError("the checksum is wrong")
    return header, body
