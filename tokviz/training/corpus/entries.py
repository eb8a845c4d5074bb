"""Sources of a corpus as the user entered them: files, folders and globs with their sizes."""

from __future__ import annotations

import codecs
import glob
import gzip
import os
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

from tokviz.errors import InputFileError, OutputFileError
from tokviz.storage.files import absolute, looks_binary, write_file
from tokviz.storage.folders import state_folder
from tokviz.storage.listing import cleaned_path
from tokviz.text.sentences import pluralize
from tokviz.training.corpus.corpus import files_of_text
from tokviz.training.corpus.readers import unpacked

if TYPE_CHECKING:
    from tokviz.training.corpus.parquet import Columns

EXCLUDE = "!"
"""Prefix of a source to exclude: a path, the end of one, or a glob."""

_MOST_CHECKED = 256_000_000
"""Bytes of a source to check before training."""
_MOST_UNPACKED = 4_000_000
"""Bytes of a compressed file to check, because decompression is slow."""
_STEP_BYTES = 1 << 14  # larger blocks of memory are returned to the system every time
_HEAD_BYTES = 8192
_TABLE = ".parquet"
_PACKED = (".gz", ".zst", _TABLE)
_MOST_TABLES = 100
"""Tables of a source to check before training."""
_MOST_NAMES = 3


class CorpusEntry(NamedTuple):
    """A file, a folder or a glob.

    Attributes:
        source: Its full path or pattern.
        n_files: Number of its files, None while they are being counted.
        n_bytes: Their total size.
        is_compressed: True if any of them is compressed, so that there is more text than bytes.
        error: The reason why it cannot be used, empty if it can.
        left_out: Files of a folder that are not read because they look binary.
        dangling: Links to files that do not exist, which are not read either.
        binary: Files that look binary but are read because the user named them.
        not_utf8: Files that are not UTF-8, as far as they were checked.
        tables: The `.parquet` files that were checked, with their columns.
        files: The device, inode and size of each file.
    """

    source: str
    n_files: int | None = None
    n_bytes: int = 0
    is_compressed: bool = False
    error: str = ""
    left_out: tuple[str, ...] = ()
    dangling: tuple[str, ...] = ()
    binary: tuple[str, ...] = ()
    not_utf8: tuple[str, ...] = ()
    tables: tuple[tuple[str, Columns], ...] = ()
    files: tuple[tuple[int, int, int], ...] = ()


def full_source(typed: str) -> str:
    """Convert a typed, dropped or chosen source to a full path or glob.

    A source that starts with `!` excludes files, and is not changed.
    """
    if typed.startswith(EXCLUDE):
        return typed.strip()
    return absolute(cleaned_path(typed.strip()))


def save_text(data: bytes | Iterable[bytes], name: str) -> str:
    """Save a text as a file to train on, and return its path.

    It replaces an earlier text with the same name.

    Raises:
        OutputFileError: If it cannot be written.
    """
    folder = state_folder() / "texts"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise OutputFileError(folder, error.strerror or str(error)) from None
    write_file(folder / name, data, private=True)
    return str(folder / name)


def inspect_sources(
    sources: Iterable[str],
    should_stop: Callable[[], bool] = lambda: False,
    room: int = _MOST_CHECKED,
) -> Iterator[CorpusEntry]:
    """Inspect sources like `inspect_source`, with `room` bytes to check in total."""
    for source in sources:
        entry = inspect_source(source, should_stop, room)
        room = max(0, room - entry.n_bytes)
        yield entry


def inspect_source(
    source: str, should_stop: Callable[[], bool] = lambda: False, room: int = _MOST_CHECKED
) -> CorpusEntry:
    """Count the files of a source and their bytes, and check their content.

    Args:
        source: A path or a glob.
        should_stop: Called between two files; True returns the result so far.
        room: Number of bytes to check; the start of each file is always checked.
    """
    if source.startswith(EXCLUDE):
        return CorpusEntry(source, 0)
    is_compressed = False
    dangling, left_out = skipped = list[str](), list[str]()
    binary, not_utf8, tables = list[str](), list[str](), list[str]()
    files = list[tuple[int, int, int]]()
    path = source
    try:
        for path in _files(source, lambda file: skipped[os.path.exists(file)].append(file)):
            if should_stop():
                break
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode):
                files.append((status.st_dev, status.st_ino, status.st_size))
                is_packed = path.lower().endswith(_PACKED)
                is_compressed = is_compressed or is_packed
                if path.lower().endswith(_TABLE):
                    tables.append(path)
                    continue
                problem = _content_problem(path, min(room, _MOST_UNPACKED) if is_packed else room)
                if problem is not None:
                    (binary if problem == "binary" else not_utf8).append(path)
                room = max(0, room - status.st_size)
            elif path == source:
                return CorpusEntry(source, 0, error="is a device or pipe, not a file")
    except FileNotFoundError:
        return CorpusEntry(source, 0, error="there is no such file or folder")
    except PermissionError:
        name = "it" if path == source else os.path.relpath(path, source)
        return CorpusEntry(source, 0, error=f"no permission to read {name}")
    except (OSError, ValueError) as error:
        return CorpusEntry(source, 0, error=getattr(error, "strerror", None) or str(error))
    if not files and not should_stop():
        nothing = "no file matches" if glob.has_magic(source) else "holds no text file"
        return CorpusEntry(source, 0, error=nothing)
    n_bytes, columns = sum(size for *_, size in files), tuple(_columns(tables, should_stop))
    odd = tuple(left_out), tuple(dangling), tuple(binary), tuple(not_utf8), columns, tuple(files)
    return CorpusEntry(source, len(files), n_bytes, is_compressed, "", *odd)


def _columns(
    tables: Sequence[str], should_stop: Callable[[], bool]
) -> Iterator[tuple[str, Columns]]:
    if tables:
        from tokviz.training.corpus.parquet import columns_of  # imports the job client

        paths = tables[:_MOST_TABLES]
        for table in zip(paths, columns_of(paths), strict=True):
            yield table
            if should_stop():
                return


def _content_problem(path: str, most: int) -> Literal["binary", "not UTF-8"] | None:
    """Check whether the first `most` bytes of a file look binary or are not UTF-8.

    Damage is not reported here, because reading the file reports it.
    """
    try:
        with unpacked(path) as file:
            head = file.read(_HEAD_BYTES)
            if looks_binary(head):
                return "binary"
            return None if _is_utf8(head, file, most) else "not UTF-8"
    except (EOFError, zlib.error, gzip.BadGzipFile, InputFileError):
        return None


def _is_utf8(head: bytes, file: BinaryIO, most: int) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    data, position = head, 0
    try:
        while position < most and data:
            # ASCII needs no decoding, unless it follows an incomplete character. 10 times as fast.
            if not data.isascii() or decoder.getstate()[0]:
                decoder.decode(data)
            position += len(data)
            data = file.read(_STEP_BYTES)
        decoder.decode(b"", final=not data)
    except UnicodeDecodeError:
        return False
    return True


def table_problems(entries: Iterable[CorpusEntry], column: str) -> list[str]:
    """List the tables that cannot be used for training, with the reasons."""
    reasons = dict[str, list[str]]()
    for entry in entries:
        for path, columns in entry.tables:
            if reason := columns.why_not(column):
                reasons.setdefault(reason, []).append(path)
    return [f"{_names(files)}: {reason}." for reason, files in reasons.items()]


def remarks(entries: Iterable[CorpusEntry], column: str) -> list[str]:
    """List the files that are left out, named twice, binary, or not UTF-8.

    Args:
        entries: The sources of the corpus.
        column: The column of tables that contains the text.
    """
    entries = list(entries)
    tables = [
        path for entry in entries for path, columns in entry.tables if column in columns.binary
    ]
    kinds = [
        (_left_out_remark, [file for entry in entries for file in entry.left_out]),
        (_dangling_remark, [file for entry in entries for file in entry.dangling]),
        (_binary_remark, [*(file for entry in entries for file in entry.binary), *tables]),
        (_not_utf8_remark, [file for entry in entries for file in entry.not_utf8]),
    ]
    sentences = [remark(files) for remark, files in kinds if files]
    if n := len(repeated_sizes(entries)):
        named = "files are" if n > 1 else "file is"
        sentences.append(f"{n:,} {named} named twice, but read only once.")
    return sentences


def repeated_sizes(entries: Iterable[CorpusEntry]) -> list[int]:
    """List the sizes of files that an earlier source, or another link, also names."""
    files = [file for entry in entries for file in entry.files]
    return [file[-1] for file in (Counter(files) - Counter({*files})).elements()]


def _left_out_remark(files: Sequence[str]) -> str:
    those = "file looks binary and is" if len(files) == 1 else "files look binary and are"
    return f"{len(files):,} {those} left out: {_names(files)}."


def _dangling_remark(files: Sequence[str]) -> str:
    return f"{pluralize(len(files), 'dangling link')} left out: {_names(files)}."


def _binary_remark(files: Sequence[str]) -> str:
    looks, its = ("looks", "its") if len(files) == 1 else ("look", "their")
    return f"{_names(files)} {looks} binary; {its} bytes are learned as they are."


def _not_utf8_remark(files: Sequence[str]) -> str:
    is_, its = ("is", "its") if len(files) == 1 else ("are", "their")
    return f"{_names(files)} {is_} not UTF-8; {its} bytes are learned as they are."


def _names(files: Sequence[str]) -> str:
    names = [os.path.basename(file) for file in files[:_MOST_NAMES]]
    more = len(files) - len(names)
    if more:
        return f"{', '.join(names)} and {more:,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _files(source: str, left_out: Callable[[str], object]) -> Iterator[str]:
    if os.path.isdir(source):
        yield from files_of_text(source, left_out)
    elif glob.has_magic(source) and not os.path.lexists(source):
        yield from glob.iglob(source, recursive=True)
    else:
        yield source
