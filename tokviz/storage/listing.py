"""Folder listings, and completion of typed paths."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from tokviz.errors import InputFileError
from tokviz.storage.files import MAX_FILE_BYTES, absolute, looks_binary, reading


class FolderEntry(NamedTuple):
    """A file or folder in a folder."""

    name: str
    """Its name from the system, with any characters, and undecodable bytes as surrogates."""
    is_folder: bool
    size: int | None = None
    """Size in bytes, None for a folder or if unknown."""
    modified: float | None = None
    """Modification time in seconds since the epoch, None if unknown."""


UP = FolderEntry("..", True)
"""The entry that leads to the parent folder."""


def read_folder(folder: Path, stop: Callable[[], bool] = lambda: False) -> list[FolderEntry]:
    """Return the entries of a folder: folders first, each kind sorted by name.

    Args:
        folder: The folder to read.
        stop: Called regularly; once it returns True, the entries read so far are returned.

    Raises:
        InputFileError: If it is missing, not a folder or unreadable.
    """
    entries: list[FolderEntry] = []
    try:
        with os.scandir(folder) as items:
            for number, item in enumerate(items):
                if number % 256 == 0 and stop():
                    break
                entries.append(_entry(item))
    except FileNotFoundError:
        raise InputFileError(folder, "there is no such folder") from None
    except NotADirectoryError:
        raise InputFileError(folder, "is not a folder") from None
    except PermissionError:
        raise InputFileError(folder, "no permission to look into it") from None
    except (OSError, ValueError) as error:
        raise InputFileError(folder, getattr(error, "strerror", None) or str(error)) from None
    entries.sort(key=lambda entry: (not entry.is_folder, entry.name.casefold(), entry.name))
    return entries


def _entry(item: os.DirEntry[str]) -> FolderEntry:
    try:
        status = item.stat()
    except OSError:
        return FolderEntry(item.name, False)
    if stat.S_ISDIR(status.st_mode):
        return FolderEntry(item.name, True, None, status.st_mtime)
    return FolderEntry(item.name, False, status.st_size, status.st_mtime)


def filter_entries(entries: Sequence[FolderEntry], text: str, *, hidden: bool) -> list[FolderEntry]:
    """Return the entries whose name starts with a text, then those that contain it, in any case.

    Hidden entries (a leading dot) are included if `hidden` is set or the text starts with a dot.
    """
    hidden = hidden or text.startswith(".")
    shown = [entry for entry in entries if hidden or not entry.name.startswith(".")]
    if not text:
        return shown
    wanted = text.casefold()
    starting: list[FolderEntry] = []
    containing: list[FolderEntry] = []
    for entry in shown:
        at = entry.name.casefold().find(wanted)
        if at >= 0:
            (containing if at else starting).append(entry)
    return starting + containing


def cleaned_path(text: str) -> str:
    """Remove the quotes, file URL or escaped spaces of a dragged or copied path."""
    text = text.strip("\r\n")
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.startswith("file://"):
        return unquote(urlsplit(text).path)
    if "\\ " in text and not os.path.lexists(text):
        return text.replace("\\ ", " ")
    return text


def typed_path(text: str, folder: Path) -> Path:
    """Return the path for a text typed while a folder is shown; it need not exist."""
    return Path(absolute(os.path.join(folder, os.path.expanduser(cleaned_path(text)))))


def split_typed(text: str, folder: Path) -> tuple[Path, str]:
    """Split a typed text into the folder to list and the start of a name in it.

    >>> split_typed("note", Path("/home/ann"))
    (PosixPath('/home/ann'), 'note')
    >>> split_typed("texts/note", Path("/home/ann"))
    (PosixPath('/home/ann/texts'), 'note')
    """
    text = cleaned_path(text)
    head, name = os.path.split(text)
    if name in ("~", ".."):
        head, name = text, ""
    return (typed_path(head, folder) if head else folder), name


def completion(text: str, entries: Sequence[FolderEntry], folder: Path) -> str:
    """Complete a typed text as far as it is unambiguous, like a shell.

    Args:
        text: The typed text.
        entries: The entries of the folder that contains the last part.
        folder: The folder that is shown, for relative paths.

    Returns:
        The text, possibly extended. A folder gets a trailing slash.
    """
    _, name = split_typed(text, folder)
    if not name and text and not text.endswith(os.sep):
        return text + os.sep
    matching = [entry for entry in entries if entry.name.startswith(name)]
    if not matching:
        wanted = name.casefold()
        matching = [entry for entry in entries if entry.name.casefold().startswith(wanted)]
    if not matching:
        return text
    common = common_beginning([entry.name for entry in matching])
    if len(common) < len(name):
        return text
    slash = os.sep if len(matching) == 1 and matching[0].is_folder else ""
    return text[: len(text) - len(name)] + common + slash


def common_beginning(texts: Collection[str]) -> str:
    """Return the longest common prefix of some texts."""
    first, last = min(texts), max(texts)
    for index, char in enumerate(first):
        if char != last[index]:
            return first[:index]
    return first


def check_readable(path: Path) -> bool:
    """Check that a file can be opened.

    Returns:
        True if its start looks like text, False if it looks binary.

    Raises:
        InputFileError: If it is missing, not a regular file, unreadable or too large.
    """
    with reading(path.name):
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputFileError(path.name, "is a folder, not a file")
        if not stat.S_ISREG(status.st_mode):
            raise InputFileError(path.name, "is a device or pipe, not a file")
        if status.st_size > MAX_FILE_BYTES:
            too_large = f"{status.st_size:,} bytes are too many; the limit is {MAX_FILE_BYTES:,}"
            raise InputFileError(path.name, too_large)
        with path.open("rb") as file:
            return not looks_binary(file.read(8192))


def size_label(n_bytes: int | None) -> str:
    """Return a size in at most 8 characters.

    >>> size_label(999), size_label(1_000), size_label(12_345_678)
    ('999 B', '1.0 kB', '12 MB')
    """
    if n_bytes is None:
        return ""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    value = float(n_bytes)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.5 or unit == "TB":
            break
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"


def time_label(seconds: float | None) -> str:
    """Return a time as `2024-05-01 12:30` in local time, empty if unknown or out of range."""
    if seconds is None:
        return ""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return ""


def home_label(path: Path) -> str:
    """Return a path with ~ for the home folder."""
    text, home = str(path), os.path.expanduser("~")
    if home not in ("/", "~") and (text == home or text.startswith(home + os.sep)):
        return "~" + text[len(home) :]
    return text
