"""Loading an untrusted tokenizer: a child process with limits reads its files.

The app and the command line load tokenizers this way. The child parses, checks and packs; this
process receives the tables, which are usually smaller than the file. A Python program that calls
`tokviz.load` reads in its own process: its author has chosen the file, and a child takes a quarter
of a second to start.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tokviz.errors import InputFileError, JobError
from tokviz.formats.budget import Budget, budget, bytes_of, notify_if_large, within_budget
from tokviz.formats.loader import load_by
from tokviz.storage.files import StrPath
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokviz.formats.hf_native import NeedsLibrary
    from tokviz.formats.recognize import RecognizedFile
    from tokviz.process.protocol import Body


def load(name: StrPath, *, split_pattern: str | SplitPattern | None = None) -> Tokenizer:
    """Load a tokenizer as `tokviz.load` does, but read files in a child process with limits.

    Raises:
        UnknownTokenizerError: See `tokviz.load`.
        InputFileError: See `tokviz.load`; or if reading it takes more than `budget` allows.
        PatternError: See `tokviz.load`.
    """
    return load_by(read, name, split_pattern)


def read(
    found: RecognizedFile, split_pattern: str | SplitPattern | None, name: str
) -> Tokenizer | NeedsLibrary:
    """Read a file as `tokviz.formats.files.read` does, in a child process with limits.

    Raises:
        InputFileError: If it cannot be read, holds no usable tokenizer, or takes more than `budget`
            allows.
        PatternError: If the split pattern is not a valid regex.
    """
    n_bytes = _size_of(found)
    if found.kind != "gguf":
        notify_if_large(found.path.name, n_bytes)
    kind, path, other = found
    body: Body = {
        "kind": kind,
        "path": os.fspath(path),
        "other": None if other is None else os.fspath(other),
        "name": name,
        "split_pattern": split_pattern,
    }
    try:
        first, *tables = within_budget(
            path.name, budget(n_bytes), lambda limits: _ask(body, limits)
        )
    except JobError as error:
        words = str(error) if error.over else f"cannot be read: {error}"
        raise InputFileError(name, words) from None
    if "refused" in first:
        raise InputFileError(*first["refused"])
    if "library" in first:
        from tokviz.formats.hf_native import NeedsLibrary  # not needed for a built-in tokenizer

        return NeedsLibrary(*first["library"])
    from tokviz.formats.tokenizer_ipc import from_parts, received

    return from_parts(first["head"], received(first["head"]["sizes"], tables))


def _size_of(found: RecognizedFile) -> int:
    """Return the bytes of the files that are read for a tokenizer."""
    paths = [found.path, found.other]
    if found.kind == "run":
        paths = [found.path / "tokenizer.json", found.path / "run.json"]
    return sum(bytes_of(path) for path in paths if path is not None)


def _ask(body: Body, allowed: Budget) -> list[Any]:
    from tokviz.process.runner import JobClient

    with closing(
        JobClient("read_tokenizer", limits=allowed.limits, patience=allowed.patience)
    ) as jobs:
        return jobs.ask([body])
