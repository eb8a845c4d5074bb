"""What a folder holds and what a typed path means."""

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
    """Its name as the system gives it: it may hold anything, undecodable bytes as surrogates."""
    is_folder: bool
    size: int | None = None
    """Bytes, None for a folder and where it cannot be told."""
    modified: float | None = None
    """Seconds since the epoch, None where it cannot be told."""


UP = FolderEntry("..", True)
"""The entry that leads to the parent folder."""


def read_folder(folder: Path, stop: Callable[[], bool] = lambda: False) -> list[FolderEntry]:
    """Read a folder: folders first, each kind by name.

    Args:
        folder: The folder to read.
        stop: Asked now and then; once it says True, what is known so far is returned.

    Raises:
        InputFileError: If it is missing, no folder or unreadable.
    """
    entries: list[FolderEntry] = []
    try:
        with os.scandir(folder) as found:
            for number, item in enumerate(found):
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
    """Find the entries whose name begins with a text, then those that hold it, in any case.

    Hidden entries (a leading dot) count if `hidden` is set or the text itself begins with a dot.
    """
    hidden = hidden or text.startswith(".")
    shown = [entry for entry in entries if hidden or not entry.name.startswith(".")]
    if not text:
        return shown
    wanted = text.casefold()
    first: list[FolderEntry] = []
    then: list[FolderEntry] = []
    for entry in shown:
        at = entry.name.casefold().find(wanted)
        if at >= 0:
            (then if at else first).append(entry)
    return first + then


def cleaned_path(text: str) -> str:
    """Take away what comes with a dragged or copied path: quotes, a file URL, escaped spaces."""
    text = text.strip("\r\n")
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.startswith("file://"):
        return unquote(urlsplit(text).path)
    if "\\ " in text and not os.path.lexists(text):
        return text.replace("\\ ", " ")
    return text


def typed_path(text: str, folder: Path) -> Path:
    """Say which path is meant by a text typed while a folder is shown. It need not exist."""
    return Path(absolute(os.path.join(folder, os.path.expanduser(cleaned_path(text)))))


def split_typed(text: str, folder: Path) -> tuple[Path, str]:
    """Split a typed text into the folder to list and the beginning of a name in it.

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
    """Complete a typed text as far as it is certain, like a shell does.

    Args:
        text: What is typed.
        entries: What the folder holds in which the last part is looked for.
        folder: The folder that is shown, for texts that are no absolute path.

    Returns:
        The text, longer where something could be added. A folder gets its slash.
    """
    _, name = split_typed(text, folder)
    if not name and text and not text.endswith(os.sep):
        return text + os.sep
    fitting = [entry for entry in entries if entry.name.startswith(name)]
    if not fitting:
        wanted = name.casefold()
        fitting = [entry for entry in entries if entry.name.casefold().startswith(wanted)]
    if not fitting:
        return text
    common = common_beginning([entry.name for entry in fitting])
    if len(common) < len(name):
        return text
    slash = os.sep if len(fitting) == 1 and fitting[0].is_folder else ""
    return text[: len(text) - len(name)] + common + slash


def common_beginning(texts: Collection[str]) -> str:
    """Give what all of some texts begin with."""
    first, last = min(texts), max(texts)
    for index, char in enumerate(first):
        if char != last[index]:
            return first[:index]
    return first


def check_readable(path: Path) -> bool:
    """Look whether a file can be opened as a text.

    Returns:
        True if its beginning looks like a text, False if it looks binary.

    Raises:
        InputFileError: If it is missing, no ordinary file, unreadable or too large.
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
    """Spell a size in at most 8 characters.

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
    """Spell a time as `2024-05-01 12:30` in local time, empty where it is unknown or absurd."""
    if seconds is None:
        return ""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return ""


def home_label(path: Path) -> str:
    """Spell a path with ~ for the home folder."""
    text, home = str(path), os.path.expanduser("~")
    if home not in ("/", "~") and (text == home or text.startswith(home + os.sep)):
        return "~" + text[len(home) :]
    return text
