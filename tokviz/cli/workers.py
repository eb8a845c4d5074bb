"""`--workers` and `--scheduler`: the work of a command, done by a Dask cluster with one result."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from tokviz.cli.inputs import BLOCK_BYTES, STDIN, Source
from tokviz.cli.options import add_number
from tokviz.errors import InputFileError
from tokviz.storage.files import is_pipe, reading

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer
    from tokviz.training.cluster.parts import Rules

Result = TypeVar("Result")
Stretch = tuple[str, int, int]
"""A file, and about where a part of it begins and ends, in bytes."""
Answers = Callable[[Callable[[Any], Result], Sequence[Any]], list[Callable[[], Result]]]
"""Work and items → what gives each item's result, or raises what went wrong with it."""

MOST_BYTES = 1 << 25
"""About how much of a file is one part."""


def add_arguments(
    parser: argparse.ArgumentParser,
    what: str,
    more: str = "its workers must see the files",
) -> None:
    """Add the arguments; `what` the workers do, and what else is to be said of a cluster."""
    group = parser.add_mutually_exclusive_group()
    add_number(
        group,
        "--workers",
        f"{what} with so many processes of a Dask cluster that is started for it; the result "
        "is the same",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=f"{what} on the Dask cluster there, like tcp://host:8786; {more} by the same names",
    )


def is_asked(arguments: argparse.Namespace) -> bool:
    """Tell whether workers are to do it."""
    return arguments.workers is not None or arguments.scheduler is not None


@contextmanager
def answers(arguments: argparse.Namespace) -> Iterator[Answers[Any]]:
    """Reach the cluster that was asked for; without one the work is done here, when it is asked."""
    if not is_asked(arguments):
        yield lambda work, items: [partial(work, item) for item in items]
        return
    from tokviz.training.dask_cluster import open_cluster, submit_tasks, task_result

    with open_cluster(arguments.workers, arguments.scheduler) as client:
        yield lambda work, items: [
            partial(task_result, future) for future in submit_tasks(client, work, items)
        ]


@contextmanager
def by_source(
    arguments: argparse.Namespace,
    work: Callable[[Stretch], Result],
    sources: Iterable[Source],
    tokenizers: Sequence[Tokenizer],
    *,
    is_cut: bool = True,
) -> Iterator[defaultdict[Source, list[Callable[[], Result]]]]:
    """Have workers do the work for every part of files; by source, what gives the results.

    Files are only cut where all tokenizers have a pre-token end, or not at all.
    """
    parts = [*stretches(sources, tokenizers if is_cut else ())] if is_asked(arguments) else []
    found: defaultdict[Source, list[Callable[[], Result]]] = defaultdict(list)
    with answers(arguments) as answer:
        for (source, _, _), result in zip(parts, answer(work, parts), strict=True):
            found[source].append(result)
        yield found


@lru_cache
def tokenizer_of(name: str, split_pattern: str | None = None) -> Tokenizer:
    """Load a tokenizer in a worker, once, without a word."""
    from tokviz.formats.registry import is_builtin
    from tokviz.formats.subprocess_loader import load

    tokenizer = load(name, split_pattern=split_pattern)
    if not is_builtin(name):
        tokenizer.name = name
    return tokenizer


def stretches(sources: Iterable[Source], tokenizers: Sequence[Tokenizer]) -> Iterator[Stretch]:
    """Cut files into parts that can be tokenized alone, where places are known that suit all.

    There are none of what only this process can read, or nobody.
    """
    from tokviz.training.cluster.parts import cuts
    from tokviz.training.corpus.storage import file_info

    is_cut = bool(tokenizers) and all(
        one.split_pattern.safe_cut and cuts(_rules([one])) for one in tokenizers
    )
    for source in dict.fromkeys(sources):
        if not isinstance(source, str) or source == STDIN or is_pipe(source):
            continue
        with suppress(InputFileError):  # whoever reads it says what is wrong
            n_bytes = file_info(source).n_bytes or 0
            n = max(1, -(-n_bytes // MOST_BYTES)) if is_cut else 1
            for start, end in pairwise(n_bytes * i // n for i in range(n + 1)):
                yield source, start, end


def blocks_of(stretch: Stretch, tokenizers: Sequence[Tokenizer]) -> Iterator[bytes]:
    """Read a part of a file, which begins and ends where a pre-token of all tokenizers does.

    Raises:
        InputFileError: If that fails.
    """
    from tokviz.training.cluster.parts import open_range
    from tokviz.training.corpus.storage import open_stored

    path, start, end = stretch
    with reading(path), open_stored(path) as file:
        part = open_range(file, start, end, _rules(tokenizers))
        while block := part.read(BLOCK_BYTES):
            yield block


def _rules(tokenizers: Sequence[Tokenizer]) -> Rules:
    """Say where all may be cut; all patterns that may be can be cut at the same places."""
    from tokviz.training.cluster.parts import Rules
    from tokviz.training.corpus.readers import encode

    specials = tuple(encode(text) for one in tokenizers for text in one.special_tokens)
    return Rules(tokenizers[0].split_pattern, specials, b"", "")
