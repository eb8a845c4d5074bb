"""Where files are: on this machine, or at a URL that fsspec can open (s3, gs, hdfs, http, hf)."""

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
"""What kinds of storage call that which changes with the content."""
_FORBIDDEN = (401, 403)
"""What HTTP answers to those who may not read something."""
_BLOCK_BYTES = 1 << 22
_MOST_NAMED = 8


class Stored(NamedTuple):
    """What a storage tells of a file.

    Attributes:
        n_bytes: Its size; None if it is not known, as for a pipe.
        is_folder: Whether it is a folder.
        stamp: Changes when the file does, as far as the storage tells.
    """

    n_bytes: int | None
    is_folder: bool
    stamp: str


def is_url(name: StrPath) -> bool:
    """Tell whether a name is a URL and not a path."""
    return isinstance(name, str) and _URL.match(name) is not None


def look_up(name: str) -> Stored:
    """Ask what a file is.

    Raises:
        InputFileError: If there is none, it is a device, or the storage cannot be asked.
    """
    if not is_url(name):
        with reading(name):
            found = os.stat(name)
        if stat.S_ISCHR(found.st_mode):
            raise InputFileError(name, "is a device, which may never end: write it to a file first")
        size = found.st_size if stat.S_ISREG(found.st_mode) else None
        return Stored(size, stat.S_ISDIR(found.st_mode), f"{found.st_mtime_ns}")
    with _asking(name):
        system, path = _system(name)
        about = system.info(path)
    stamp = next((str(about[key]) for key in _STAMPS if about.get(key)), "")
    return Stored(about.get("size"), about["type"] == "directory", stamp)


def open_stored(name: str) -> BinaryIO:
    """Open a file to read its bytes.

    Raises:
        InputFileError: If a URL cannot be opened.
        OSError: If a path cannot be.
    """
    if not is_url(name):
        return cast(BinaryIO, open(name, "rb", buffering=0))
    with _asking(name):
        system, path = _system(name)
        return cast(BinaryIO, system.open(path, "rb", block_size=_BLOCK_BYTES))


def urls_of(name: str) -> list[str]:
    """List the files that a URL stands for: a file, all below a folder, or those of a pattern.

    Raises:
        InputFileError: If there is none, or the storage cannot be asked.
    """
    with _asking(name):
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
def _asking(name: str) -> Iterator[None]:
    """Say in words what went wrong; every storage has errors of its own."""
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
    """List the first fields or columns of a file, and say how to choose one."""
    some = ", ".join(map(repr, [*names][:_MOST_NAMED]))
    return f"its {kind}s are {some}: choose one with --field (in the app: Field, column)"
