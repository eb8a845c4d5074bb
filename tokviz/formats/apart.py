"""Loading a tokenizer that nobody vouches for: its file is read by a child, which has a budget.

The app and the command line load so. The child parses, checks and packs; this process takes the
tables as they come, which are smaller than the file as a rule. A Python program that calls
`tokviz.load` reads in its own process: it has chosen the file, and a child takes a quarter of a
second to start.
"""

from __future__ import annotations

import os
from contextlib import closing
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokviz.errors import InputFileError, JobError
from tokviz.files import StrPath
from tokviz.formats.budget import Budget, budget, bytes_of, tell_if_large, within_budget
from tokviz.formats.collecting import no_collecting
from tokviz.formats.registry import HUB_PREFIX, is_path_of_file
from tokviz.formats.registry import load as load_at_once
from tokviz.pretokenize.patterns import SplitPattern
from tokviz.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokviz.child.protocol import Body
    from tokviz.formats.recognise import Found
    from tokviz.formats.shipping import Json


def load(name: StrPath, *, split_pattern: str | SplitPattern | None = None) -> Tokenizer:
    """Do what `tokviz.load` does, but read files in a child process with limits.

    Raises:
        UnknownTokenizerError: See `tokviz.load`.
        InputFileError: See `tokviz.load`; or if reading it takes more than `budget` allows.
        PatternError: See `tokviz.load`.
    """
    if isinstance(name, str) and name.startswith(HUB_PREFIX):
        from tokviz.formats.hub import load_from_hub

        return load_from_hub(name, split_pattern, load_apart)
    if is_path_of_file(name):
        return load_apart(name, split_pattern)
    return load_at_once(name, split_pattern=split_pattern)


def size_of(found: Found) -> int:
    """Give the bytes of the files that are read for a tokenizer."""
    paths = [found.path, found.other]
    if found.kind == "run":
        paths = [found.path / "tokenizer.json", found.path / "run.json"]
    return sum(bytes_of(path) for path in paths if path is not None)


def load_apart(path: StrPath, split_pattern: str | SplitPattern | None = None) -> Tokenizer:
    """Load the tokenizer of a file or folder, read by a child process.

    Raises:
        InputFileError: If it cannot be read, holds no tokenizer that can be used, or takes more
            than `budget` allows.
        PatternError: If the split pattern is not a valid regex.
    """
    # An app that begins with a tokenizer that ships does not wait for what reads files.
    from tokviz.formats.recognise import find

    found = find(os.path.expanduser(path))
    tell_if_large(found.path.name, size_of(found))
    first, *tables = _ask(path, split_pattern, "tokenizer", budget(size_of(found)))
    if "library" in first:
        from tokviz.formats.foreign import ForeignTokenizer

        name, reason = fspath(path), first["library"]
        return ForeignTokenizer.checked(found.path, first["content"], reason, name=name)
    return _put_together(first["head"], tables)


def load_merges_apart(path: StrPath, split_pattern: str | SplitPattern) -> Tokenizer:
    """Load a file that holds merges alone, read by a child process; see `load_merges`.

    Raises:
        InputFileError: If it cannot be read, its merges do not hold together, or it takes more than
            `budget` allows.
    """
    n_bytes = bytes_of(path)
    tell_if_large(Path(path).name, n_bytes)
    first, *tables = _ask(path, split_pattern, "merges", budget(n_bytes))
    return _put_together(first["head"], tables)


def _put_together(head: Json, tables: list[Any]) -> Tokenizer:
    from tokviz.formats.shipping import from_parts, received

    # A look for garbage among so many objects would keep the keys waiting.
    with no_collecting():
        return from_parts(head, received(head["sizes"], tables))


def _ask(
    path: StrPath, split_pattern: str | SplitPattern | None, what: str, allowed: Budget
) -> list[Any]:
    from tokviz.child.runner import JobClient

    body: Body = {"do": what, "path": fspath(path), "split_pattern": split_pattern}

    def read(given: Budget) -> list[Any]:
        jobs = JobClient("read_tokenizer", limits=given.limits, patience=given.patience)
        with closing(jobs):
            return jobs.ask([body])

    try:
        answers = within_budget(os.path.basename(path), allowed, read)
    except JobError as error:
        words = str(error) if error.over else f"cannot be read: {error}"
        raise InputFileError(path, words) from None
    if "refused" in answers[0]:
        raise InputFileError(*answers[0]["refused"])
    return answers
