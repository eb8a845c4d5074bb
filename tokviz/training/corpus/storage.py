"""Access to files on this machine, or at a URL that fsspec can open (s3, gs, hdfs, http, hf)."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple, cast

from tokviz.errors import InputFileError, missing_package
from tokviz.storage.files import StrPath, input_error, reading

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_STAMPS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "md5Hash")
"""Keys under which storages report a change stamp."""
_FORBIDDEN = (401, 403)
"""HTTP status codes of missing permissions."""
_BLOCK_BYTES = 1 << 22
_MOST_NAMED = 8


class Stored(NamedTuple):
    """Information about a stored file.

    Attributes:
        n_bytes: Its size; None if unknown, as for a pipe.
        is_folder: True if it is a folder.
        stamp: A value that changes with the content; empty if the storage has none.
    """

    n_bytes: int | None
    is_folder: bool
    stamp: str


def is_url(name: StrPath) -> bool:
    """Return whether a name is a URL rather than a path."""
    return isinstance(name, str) and _URL.match(name) is not None


def file_info(name: str) -> Stored:
    """Return information about a file.

    Raises:
        InputFileError: If it does not exist, is a device, or its storage cannot be accessed.
    """
    if not is_url(name):
        with reading(name):
            found = os.stat(name)
        if stat.S_ISCHR(found.st_mode):
            raise InputFileError(name, "is a device, which may never end: write it to a file first")
        size = found.st_size if stat.S_ISREG(found.st_mode) else None
        return Stored(size, stat.S_ISDIR(found.st_mode), f"{found.st_mtime_ns}")
    with _storage_errors(name):
        system, path = _system(name)
        about = system.info(path)
    stamp = next((str(about[key]) for key in _STAMPS if about.get(key)), "")
    return Stored(about.get("size"), about["type"] == "directory", stamp)


def open_stored(name: str) -> BinaryIO:
    """Open a file for reading bytes.

    Raises:
        InputFileError: If a URL cannot be opened.
        OSError: If a path cannot be opened.
    """
    if not is_url(name):
        return cast(BinaryIO, open(name, "rb", buffering=0))
    with _storage_errors(name):
        system, path = _system(name)
        return cast(BinaryIO, system.open(path, "rb", block_size=_BLOCK_BYTES))


def urls_of(name: str) -> list[str]:
    """List the files of a URL: a file, all files in a folder, or the matches of a glob.

    Raises:
        InputFileError: If there are none, or the storage cannot be accessed.
    """
    with _storage_errors(name):
        system, path = _system(name)
        if any(sign in path for sign in "*[") and not system.exists(path):
            found = [match for match in system.glob(path) if not system.isdir(match)]
        elif system.isdir(path):
            found = system.find(path)
        else:
            return [name]
        urls = [system.unstrip_protocol(match) for match in sorted(found)]
    if not urls:
        raise InputFileError(name, "matches no file")
    return urls


def _system(name: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputFileError(name, missing_package("fsspec")) from None
    found: tuple[Any, str] = url_to_fs(name)
    return found


@contextmanager
def _storage_errors(name: str) -> Iterator[None]:
    """Convert a storage's own errors to `InputFileError`."""
    try:
        yield
    except InputFileError:
        raise
    except OSError as error:
        raise input_error(name, error) from None
    except ImportError as error:
        raise InputFileError(name, f"needs another package: {error}") from None
    except Exception as error:
        if getattr(error, "status", None) in _FORBIDDEN:
            raise input_error(name, PermissionError()) from None
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InputFileError(name, f"cannot be read: {reason}") from None


def choice_of(kind: str, names: Iterable[str]) -> str:
    """Return the first fields or columns of a file as a hint how to choose one."""
    some = ", ".join(map(repr, [*names][:_MOST_NAMED]))
    return f"its {kind}s are {some}: choose one with --field (in the app: Field, column)"
