"""`--workers` and `--scheduler`: work of a command on a Dask cluster, with the same results."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, TypeVar

from tokviz.cli.inputs import BLOCK_BYTES, STDIN, InputSource
from tokviz.cli.options import add_number
from tokviz.errors import InputFileError
from tokviz.formats.registry import is_builtin
from tokviz.formats.subprocess_loader import load
from tokviz.storage.files import is_pipe, reading
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.cluster.parts import Rules, cuts, open_range
from tokviz.training.corpus.readers import encode
from tokviz.training.corpus.storage import file_info, open_stored

Result = TypeVar("Result")
FilePart = tuple[str, int, int]
"""A file, and the approximate start and end of a part of it in bytes."""
Submit = Callable[[Callable[[Any], Result], Sequence[Any]], list[Callable[[], Result]]]
"""Takes a function and items; returns for each item a function that waits for its result."""

MAX_PART_BYTES = 1 << 25
"""Approximate maximum size of a part of a file."""


def add_arguments(
    parser: argparse.ArgumentParser,
    action: str,
    requirement: str = "its workers must see the files",
) -> None:
    """Add the options; `action` names the work, `requirement` what a cluster needs."""
    group = parser.add_mutually_exclusive_group()
    add_number(
        group,
        "--workers",
        f"{action} with N processes of a local Dask cluster; the result is the same",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=f"{action} on a running Dask cluster, such as tcp://host:8786; {requirement} at the "
        "same paths",
    )


def uses_cluster(arguments: argparse.Namespace) -> bool:
    """Return whether workers are to do the work."""
    return arguments.workers is not None or arguments.scheduler is not None


@contextmanager
def submitter(arguments: argparse.Namespace) -> Iterator[Submit[Any]]:
    """Connect to the requested cluster. Without one, the work is done here for each result."""
    if not uses_cluster(arguments):
        yield lambda work, items: [partial(work, item) for item in items]
        return
    # Dask is slow to import, and most commands run without workers.
    from tokviz.training.dask_cluster import open_cluster, submit_tasks, task_result

    with open_cluster(arguments.workers, arguments.scheduler) as client:
        yield lambda work, items: [
            partial(task_result, future) for future in submit_tasks(client, work, items)
        ]


@contextmanager
def results_by_source(
    arguments: argparse.Namespace,
    work: Callable[[FilePart], Result],
    sources: Iterable[InputSource],
    tokenizers: Sequence[Tokenizer],
    *,
    is_cut: bool = True,
) -> Iterator[defaultdict[InputSource, list[Callable[[], Result]]]]:
    """Submit every part of the files; yield by source the functions that wait for the results.

    Files are cut only where all tokenizers have the end of a pre-token, or not at all.
    """
    parts = [*file_parts(sources, tokenizers if is_cut else ())] if uses_cluster(arguments) else []
    results: defaultdict[InputSource, list[Callable[[], Result]]] = defaultdict(list)
    with submitter(arguments) as submit:
        for (source, _, _), result in zip(parts, submit(work, parts), strict=True):
            results[source].append(result)
        yield results


@lru_cache
def cached_tokenizer(name: str, split_pattern: str | None = None) -> Tokenizer:
    """Load a tokenizer once per process, without reporting anything."""
    tokenizer = load(name, split_pattern=split_pattern)
    if not is_builtin(name):
        tokenizer.name = name
    return tokenizer


def file_parts(
    sources: Iterable[InputSource], tokenizers: Sequence[Tokenizer]
) -> Iterator[FilePart]:
    """Yield parts of files that can be tokenized separately, or whole files if none are known.

    Inputs that only this process can read, and files that cannot be read, have no parts.
    """
    is_cut = bool(tokenizers) and all(
        tokenizer.safe_cut and cuts(_rules([tokenizer])) for tokenizer in tokenizers
    )
    for source in dict.fromkeys(sources):
        if not isinstance(source, str) or source == STDIN or is_pipe(source):
            continue
        with suppress(InputFileError):  # reported when the file is read
            n_bytes = file_info(source).n_bytes or 0
            n_parts = max(1, -(-n_bytes // MAX_PART_BYTES)) if is_cut else 1
            for start, end in pairwise(n_bytes * i // n_parts for i in range(n_parts + 1)):
                yield source, start, end


def read_part(part: FilePart, tokenizers: Sequence[Tokenizer]) -> Iterator[bytes]:
    """Read a part of a file, moved to borders of pre-tokens in all tokenizers.

    Raises:
        InputFileError: If the file cannot be read.
    """
    path, start, end = part
    with reading(path), open_stored(path) as file:
        stretch = open_range(file, start, end, _rules(tokenizers))
        while block := stretch.read(BLOCK_BYTES):
            yield block


def _rules(tokenizers: Sequence[Tokenizer]) -> Rules:
    """Return rules for safe cuts, which are the same for all split patterns that allow any."""
    specials = tuple(encode(text) for one in tokenizers for text in one.special_tokens)
    return Rules(tokenizers[0].split_pattern, specials, b"", "")
