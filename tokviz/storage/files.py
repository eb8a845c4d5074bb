"""Reading files with clear errors, and writing them atomically."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tokviz.errors import InputFileError, OutputFileError

StrPath = str | os.PathLike[str]
"""A path that callers may pass."""

MAX_FILE_BYTES = 200_000_000
"""Largest file that is read into memory as a whole."""


class FileState(NamedTuple):
    """State of a file that changes when a program writes or replaces it."""

    mtime_ns: int
    n_bytes: int
    inode: int


def file_state(path: StrPath) -> FileState | None:
    """Return the state of a file; None if it does not exist or is not accessible."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return FileState(status.st_mtime_ns, status.st_size, status.st_ino)


def file_identity(path: str) -> object:
    """Return the device and inode of a file, or its name if it does not exist."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return path
    return status.st_dev, status.st_ino


def absolute(path: StrPath = "") -> str:
    """Return the absolute path, with `~` expanded.

    If the working directory no longer exists, relative paths start at the home folder.
    """
    path = os.path.expanduser(path)
    try:
        return os.path.abspath(path)
    except OSError:
        return os.path.abspath(os.path.join("/", os.path.expanduser("~"), path))


def is_pipe(path: StrPath) -> bool:
    """Return whether a path is a pipe, so that reading may block forever."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def refuse_pipe(path: StrPath) -> None:
    """Reject a pipe before it is opened.

    Raises:
        InputFileError: If the path is a pipe.
    """
    if is_pipe(path):
        raise InputFileError(path, "is a pipe, which may never end: write it to a file first")


def read_file(path: StrPath, *, limit: int = MAX_FILE_BYTES) -> bytes:
    """Read a whole file.

    Raises:
        InputFileError: If it is missing, a folder, a pipe, unreadable or larger than `limit` bytes.
    """
    return b"".join(read_blocks(path, limit=limit, size=limit + 1))


GZIP = b"\x1f\x8b"
"""First bytes of a file compressed with gzip."""


def read_unpacked(path: StrPath, *, limit: int) -> bytes:
    """Read a whole file, and unpack it if it is compressed with gzip.

    Raises:
        InputFileError: See `read_file`; also if it is damaged, or unpacks to more than `limit`
            bytes.
    """
    data = read_file(path, limit=limit)
    if not data.startswith(GZIP):
        return data
    import zlib  # few files are compressed

    unpacking = zlib.decompressobj(wbits=31)
    try:
        data = unpacking.decompress(data, limit)
    except zlib.error as error:
        raise InputFileError(path, f"cannot be unpacked: {error}") from None
    if not unpacking.eof:
        too_long = f"more than {limit:,} bytes when unpacked"
        is_long = len(data) == limit
        raise InputFileError(path, too_long if is_long else "is cut off: it ends too early")
    return data


def read_blocks(path: StrPath, *, limit: int, size: int) -> Iterator[bytes]:
    """Read a file in blocks of up to `size` bytes.

    Raises:
        InputFileError: See `read_file`.
    """
    refuse_pipe(path)
    with reading(path), open(path, "rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size
        if n_bytes > limit:
            raise InputFileError(path, f"{n_bytes:,} bytes are too many; the limit is {limit:,}")
        n_read = 0
        while block := file.read(size):
            n_read += len(block)
            if n_read > limit:
                raise InputFileError(path, f"more than {limit:,} bytes")
            yield block


@contextlib.contextmanager
def reading(path: StrPath) -> Iterator[None]:
    """Convert an operating system error to an `InputFileError` with the path."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise input_error(path, error) from None


@contextlib.contextmanager
def writing(path: StrPath) -> Iterator[None]:
    """Convert an operating system error to an `OutputFileError` with the path."""
    try:
        yield
    except OSError as error:
        raise output_error(path, error) from None


def output_error(path: StrPath, error: OSError | ValueError) -> OutputFileError:
    """Return the error for a file that could not be written."""
    if isinstance(error, FileNotFoundError):
        return OutputFileError(path, "its folder does not exist")
    if isinstance(error, PermissionError):
        return OutputFileError(path, "no permission to write there")
    return OutputFileError(path, _reason(error))


def input_error(path: StrPath, error: OSError | ValueError) -> InputFileError:
    """Return the error for a file that could not be opened or read."""
    if isinstance(error, IsADirectoryError):
        return InputFileError(path, "is a folder, not a file")
    if isinstance(error, FileNotFoundError):
        return InputFileError(path, "there is no such file")
    if isinstance(error, PermissionError):
        return InputFileError(path, "no permission to read it")
    return InputFileError(path, _reason(error))


def decode_utf8(data: bytes, path: StrPath, more: str = "") -> str:
    """Decode a file's content without its byte order mark.

    Raises:
        InputFileError: If it is not UTF-8; it names line and column, followed by `more`.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputFileError(path, f"is UTF-16, not UTF-8: save it as UTF-8{more}") from None
        line = data.count(b"\n", 0, error.start) + 1
        before = data[data.rfind(b"\n", 0, error.start) + 1 : error.start]
        column = len(before.decode("utf-8", "replace")) + 1
        reason = f"line {line}, column {column}: the byte 0x{data[error.start]:02x} is not UTF-8"
        raise InputFileError(path, f"{reason}{more}: save the file as UTF-8") from None


def looks_binary(data: bytes) -> bool:
    """Guess whether data is binary: it contains an early NUL, or many bytes that are not UTF-8.

    Use this guess only for a warning, because binary data can be tokenized too.
    """
    head = data[:8192]
    if b"\0" in head:
        return True
    n_broken = len(head) - len(head.decode("utf-8", "ignore").encode())
    return n_broken > max(4, len(head) // 10)


def is_read_only(path: StrPath) -> bool:
    """Return whether a file exists that the user may not write.

    A file without any write permission is read-only for root too.
    """
    try:
        return not (os.stat(path).st_mode & 0o222 and os.access(path, os.W_OK))
    except (OSError, ValueError):
        return False


def write_file(
    path: StrPath,
    data: bytes | Iterable[bytes],
    *,
    private: bool = False,
    replace_read_only: bool = False,
) -> None:
    """Write a file so that a failure leaves its old content, or no file where there was none.

    The data goes to a temporary file in the same folder, which is synced and then renamed. A
    symbolic link is kept and its target replaced. An existing file keeps its owner, group,
    permissions and attributes. Where renaming would lose the owner or separate hard links, the
    complete data is copied into the existing file instead, and the old content is restored if
    that fails. Devices, pipes, sockets and open descriptors (`/dev/stdout`) are never replaced:
    the data is written to them.

    Args:
        path: The file to write.
        data: Its new content, whole or in parts.
        private: Give a new file the permissions 0600.
        replace_read_only: Replace a read-only file too; it stays read-only.

    Raises:
        OutputFileError: If anything fails, or the file is read-only.
    """
    import tempfile  # many commands write no file

    parts = [data] if isinstance(data, bytes) else data
    temporary: str | None = None
    try:
        target, existing = Path(os.path.realpath(path)), None
        with contextlib.suppress(FileNotFoundError):
            existing = os.stat(path)
        if target.is_dir():
            raise OutputFileError(path, "is a folder")
        descriptor = _descriptor_of(path)
        if descriptor is not None or (existing is not None and not stat.S_ISREG(existing.st_mode)):
            sys.audit("open", path, "wb", os.O_WRONLY)  # os.dup would escape the confinement
            opened = os.open(path, os.O_WRONLY) if descriptor is None else os.dup(descriptor)
            with open(opened, "wb") as stream:
                stream.writelines(parts)
            return
        if not replace_read_only and is_read_only(path):
            raise OutputFileError(path, "is read-only: choose another name, or make it writable")
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:50]}.")
        with open(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        if existing is None:
            os.chmod(temporary, 0o600 if private else 0o666 & ~umask())
        elif existing.st_nlink > 1 or not copy_access(target, temporary):
            _overwrite(target, Path(temporary).read_bytes())
            return
        os.replace(temporary, target)
        temporary = None
    except (OSError, ValueError) as error:
        raise output_error(path, error) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def copy_access(old: StrPath, new: StrPath) -> bool:
    """Give a new file or folder the owner, group, permissions and attributes of an old one.

    Returns:
        Whether the owner and group could be set; if not, nothing was changed.
    """
    import shutil  # rarely needed

    if sys.platform != "win32":
        status = os.stat(old)
        try:
            os.chown(new, status.st_uid, status.st_gid)
        except OSError:
            return False
    shutil.copystat(old, new)  # access control lists too
    os.utime(new)
    return True


def _overwrite(target: Path, data: bytes) -> None:
    """Replace a file's content in place; restore the old content if that fails."""

    def write(content: bytes) -> None:
        # Without truncating first: the blocks that the old content needs stay reserved.
        with open(target, "r+b") as file:
            file.write(content)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())

    old = target.read_bytes()
    try:
        write(data)
    except BaseException:
        write(old)
        raise


def _descriptor_of(path: StrPath) -> int | None:
    """Return the descriptor that `/dev/stdout`, `/dev/fd/3` or a link to one of them names.

    It is written through: opening a redirected file again would start at its beginning.
    """
    place = os.fspath(path)
    while True:
        folder, name = os.path.split(place)
        if os.path.realpath(folder) in ("/dev/fd", f"/proc/{os.getpid()}/fd") and name.isdigit():
            return int(name)
        if not os.path.islink(place):
            return None
        place = os.path.join(folder, os.readlink(place))


def umask() -> int:
    """Return the permissions that this process removes from new files and folders."""
    value = os.umask(0)
    os.umask(value)
    return value


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
