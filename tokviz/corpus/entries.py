"""What the corpus is made of, as the user named it: files, folders and globs with their sizes."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tokviz.corpus.corpus import files_of_text
from tokviz.listing import cleaned_path


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """A file, a folder or a glob.

    Attributes:
        source: Its full path or pattern.
        n_files: The files it stands for, None while they are being counted.
        n_bytes: Their size together.
        is_compressed: Whether any of them is compressed, so that there is more text than bytes.
        error: What is wrong with it, empty if nothing is.
    """

    source: str
    n_files: int | None = None
    n_bytes: int = 0
    is_compressed: bool = False
    error: str = ""


def full_source(typed: str) -> str:
    """Turn what was typed, dropped or chosen into a full path or pattern."""
    return os.path.abspath(os.path.expanduser(cleaned_path(typed.strip())))


def look_at(source: str, should_stop: Callable[[], bool] = lambda: False) -> CorpusEntry:
    """Count the files of a source and their bytes.

    Args:
        source: A path or a glob.
        should_stop: Asked between two files; once it says True, what is known is returned.
    """
    n_files = n_bytes = 0
    is_compressed = False
    try:
        for path in _files(source):
            if should_stop():
                break
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode):
                n_files += 1
                n_bytes += status.st_size
                is_compressed |= path.endswith((".gz", ".zst", ".parquet"))
            elif path == source:
                return CorpusEntry(source, 0, error="is a device or pipe, not a file")
    except FileNotFoundError:
        return CorpusEntry(source, 0, error="there is no such file or folder")
    except PermissionError:
        return CorpusEntry(source, 0, error="no permission to read it")
    except (OSError, ValueError) as error:
        return CorpusEntry(source, 0, error=getattr(error, "strerror", None) or str(error))
    if not n_files and not should_stop():
        nothing = "no file fits" if glob.has_magic(source) else "holds no file"
        return CorpusEntry(source, 0, error=nothing)
    return CorpusEntry(source, n_files, n_bytes, is_compressed)


def _files(source: str) -> Iterator[str]:
    if os.path.isdir(source):
        yield from files_of_text(source)
    elif glob.has_magic(source) and not os.path.lexists(source):
        yield from glob.iglob(source, recursive=True)
    else:
        yield source
