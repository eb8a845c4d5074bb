"""Tasks of the workers: count a part, and join the counts of a bucket from all parts.

A completed task is not repeated, because its result is in the shared folder.

The workers write pre-tokens and their counts to files, sorted into buckets by a hash of their
bytes. A file contains a line of JSON, and for each bucket the arrays that the line describes. It is
written atomically, so an existing file is complete, even if a task runs twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokviz.errors import InputFileError
from tokviz.storage.files import reading, write_file
from tokviz.tokenizer.pretokenize.scan import scanner_of
from tokviz.training.cluster.parts import Part, PartReader, Rules
from tokviz.training.compiled_counter import CompiledCounter
from tokviz.training.corpus.text_blocks import REST, capped, text_blocks
from tokviz.training.counting import DocumentCount, refuse_endless
from tokviz.training.counting_kernels import find_buckets, take_pre_tokens
from tokviz.training.plain_counter import PlainCounter
from tokviz.training.pre_token_counts import FileCounts
from tokviz.training.pre_token_table import PreTokenTable
from tokviz.training.regex_counter import RegexCounter

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokviz.training.pre_token_counts import PreTokenCounts

    Bytes = npt.NDArray[np.uint8]
    Integers = npt.NDArray[np.int64]


class PreTokens(NamedTuple):
    """Distinct pre-tokens.

    Attributes:
        data: Their bytes, concatenated; uint8.
        lengths: The number of bytes of each; int64.
        counts: The number of occurrences of each; int64.
        places: The order of the first occurrences: numbers within the part, or the corpus; int64.
    """

    data: Bytes
    lengths: Integers
    counts: Integers
    places: Integers

    @classmethod
    def of(cls, counted: PreTokenCounts) -> PreTokens:
        """Convert counts of pre-tokens."""
        lengths = np.asarray(counted.lengths(), np.int64)
        return cls(counted.data, lengths, counted.counts, np.arange(len(lengths)))

    def offsets(self) -> Integers:
        """Return the start of each pre-token, then the end of the last one."""
        offsets = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        return offsets

    def select(self, order: Integers) -> PreTokens:
        """Return the pre-tokens with these indexes, in this order."""
        lengths = self.lengths[order]
        data = np.empty(int(lengths.sum()), np.uint8)
        take_pre_tokens(self.data, self.offsets(), order, len(order), data)
        return PreTokens(data, lengths, self.counts[order], self.places[order])


def sort_by_bucket(pre_tokens: PreTokens, n_buckets: int) -> tuple[PreTokens, list[int]]:
    """Sort pre-tokens by bucket, keeping their order within it; return the end of each bucket."""
    n = len(pre_tokens.lengths)
    buckets = np.empty(n, np.int32)
    find_buckets(pre_tokens.data, pre_tokens.offsets(), n, n_buckets, buckets)
    order = np.argsort(buckets.astype(np.uint16), kind="stable")
    return pre_tokens.select(order), np.bincount(buckets, minlength=n_buckets).cumsum().tolist()


def write_table(
    path: Path, pre_tokens: PreTokens, ends: Sequence[int], about: Mapping[str, Any]
) -> None:
    """Write pre-tokens by bucket, with other values in `about`.

    Raises:
        OutputFileError: If writing fails; then no file is left.
    """
    offsets = pre_tokens.offsets()
    borders = [0, *ends]
    head = {"about": about, "borders": borders, "bytes": offsets[borders].tolist()}
    write_file(
        path, [json.dumps(head).encode() + b"\n", *(column.tobytes() for column in pre_tokens)]
    )


def read_about(path: Path) -> dict[str, Any] | None:
    """Read the other values of a file; None if it does not exist."""
    if not path.exists():
        return None
    about: dict[str, Any] = _head(path)[0]["about"]
    return about


def read_bucket(path: Path, number: int = 0) -> PreTokens:
    """Read the pre-tokens of a bucket.

    Raises:
        InputFileError: If that fails.
    """
    head, at = _head(path)
    columns: list[Any] = []
    with reading(path), open(path, "rb") as file:
        for borders, size in (head["bytes"], 1), *3 * ((head["borders"], 8),):
            first, end = borders[number : number + 2]
            file.seek(at + first * size)
            columns.append(np.fromfile(file, f"i{size}", end - first))
            at += borders[-1] * size
    found = PreTokens(columns[0].view(np.uint8), *columns[1:])
    n = head["borders"][number + 1] - head["borders"][number]
    if len(found.places) < n:
        raise InputFileError(path, "is truncated: remove it and start again")
    return found


def _head(path: Path) -> tuple[dict[str, Any], int]:
    with reading(path), open(path, "rb") as file:
        line = file.readline()
    try:
        return json.loads(line), len(line)
    except ValueError:
        raise InputFileError(path, "is damaged: remove it and start again") from None


def concatenate(tables: Sequence[PreTokens]) -> PreTokens:
    """Concatenate tables of pre-tokens."""
    data, lengths, counts, places = (np.concatenate(arrays) for arrays in zip(*tables, strict=True))
    return PreTokens(data, lengths, counts, places)


_FILES = "-files.npy"
PLACES_PER_PART = 1 << 40
"""The places of a part's pre-tokens start at its number times this."""


class PartSums(NamedTuple):
    """Totals of a part.

    Attributes:
        n_bytes: Bytes of all pre-tokens.
        n_chars: Characters of all pre-tokens.
        n_invalid: Bytes of all pre-tokens that are not UTF-8.
        n_unique: Number of distinct pre-tokens.
        documents: Whether the first and the last document are not empty, the number of documents
            that are not empty, and the number of documents.
        inside: Whether the part starts and ends inside a document.
        unreadable: The files that could not be read to their end, with the reasons.
    """

    n_bytes: int = 0
    n_chars: int = 0
    n_invalid: int = 0
    n_unique: int = 0
    documents: tuple[bool, bool, int, int] = (False, False, 0, 0)
    inside: tuple[bool, bool] = (False, False)
    unreadable: tuple[tuple[str, str], ...] = ()


def n_documents(parts: list[PartSums]) -> int:
    """Return the number of documents that are not empty in consecutive parts."""
    n = 0
    is_open = False
    for part in parts:
        first, last, n_with_text, n_all = part.documents
        if not n_all:
            continue
        starts_inside, ends_inside = part.inside
        n += n_with_text + (starts_inside and is_open and not first)
        last = last or (n_all == 1 and starts_inside and is_open)
        n -= ends_inside and last
        is_open = ends_inside and last
    return n + is_open


def part_file(folder: str, number: int) -> Path:
    """Return the path of the file for the pre-tokens of a part."""
    return Path(folder, f"part-{number:06}")


def bucket_file(folder: str, number: int) -> Path:
    """Return the path of the file for the pre-tokens of a bucket, from all parts."""
    return Path(folder, f"bucket-{number:04}")


def count_part(part: Part, rules: Rules, n_buckets: int, folder: str) -> PartSums:
    """Count the pre-tokens of a part.

    Raises:
        InputFileError: If a file cannot be read.
        OutputFileError: If the folder does not exist or cannot be written.
        PatternError: If the regex fails on a text, or (guarded) takes too long.
    """
    path = part_file(folder, part.number)
    done = read_about(path)
    if done is not None:
        unreadable = tuple((str(file), str(reason)) for file, reason in done.pop("unreadable"))
        return PartSums(**done, unreadable=unreadable)
    reader = PartReader(part, rules)
    documents = DocumentCount()
    scanner = scanner_of(rules.pattern)
    counter: PlainCounter | CompiledCounter | RegexCounter
    if rules.pattern.guarded:
        counter = RegexCounter(rules.pattern, 1, [span.path for span in part.spans])
    else:
        counter = PlainCounter(rules.pattern) if scanner is None else CompiledCounter(scanner, 0)
    with closing(counter):
        blocks = text_blocks(reader.chunks(), rules.specials, rules.delimiter)
        for block in capped(blocks, None, rules.max_doc_chars):
            counter.add(block, _never)
            refuse_endless(counter, reader.unmeasured)
            documents.add(block)
        counter.finish(_never)
    counted = counter.result(0, complete=True)
    sums = PartSums(
        counted.n_bytes,
        counted.n_chars,
        counted.n_invalid,
        len(counted),
        (documents.first_has_text, documents.last_has_text, documents.n, documents.n_all),
        (reader.starts_inside, reader.ends_inside),
        tuple(reader.unreadable),
    )
    write_table(path, *sort_by_bucket(PreTokens.of(counted), n_buckets), sums._asdict())
    return sums


def join_bucket(number: int, parts: Sequence[tuple[int, int]], folder: str) -> int:
    """Join the counts of a bucket from all parts, and return the number of distinct pre-tokens.

    Args:
        number: The bucket.
        parts: The number of each part, and its file.
        folder: The shared folder.

    Raises:
        InputFileError: If a part does not exist.
        OutputFileError: If the bucket cannot be written.
    """
    path = bucket_file(folder, number)
    done = read_about(path)
    if done is not None:
        return int(done["n_unique"])
    table = PreTokenTable()
    places = [np.empty(0, np.int64)]
    by_file = []
    for part, file in parts:
        pre_tokens = read_bucket(part_file(folder, part), number)
        before, counts = len(table), pre_tokens.counts.copy()
        other = PreTokenTable.of(pre_tokens.data, pre_tokens.offsets(), pre_tokens.counts)
        table.add(other, 0, len(other))
        # `add` has replaced the counts by indexes in the table.
        is_new = pre_tokens.counts >= before
        places.append(pre_tokens.places[is_new] + part * PLACES_PER_PART)
        if file != REST:
            by_file.append((file, pre_tokens.counts, counts))
    result = PreTokens(
        np.asarray(table.data),
        np.diff(np.asarray(table.offsets)),
        np.asarray(table.counts),
        np.concatenate(places),
    )
    rows = [np.empty((0, 3), np.int64)]
    for file, group in groupby(by_file, key=itemgetter(0)):
        times = np.zeros(len(table), np.int64)
        for _, indexes, n in group:
            times[indexes] += n
        counted = np.flatnonzero(times)
        rows.append(np.column_stack([np.full(len(counted), file), counted, times[counted]]))
    data = BytesIO()
    np.save(data, np.concatenate(rows))
    write_file(f"{path}{_FILES}", data.getvalue())
    write_table(path, result, [len(table)], {"n_unique": len(table)})
    return len(table)


def read_buckets(numbers: list[int], folder: str) -> tuple[PreTokens, list[FileCounts]]:
    """Return all buckets in the order of the first occurrences, and the counts by file."""
    paths = [bucket_file(folder, number) for number in numbers]
    buckets = [read_bucket(path) for path in paths]
    sizes = [len(bucket.lengths) for bucket in buckets]
    pre_tokens = concatenate(buckets)
    buckets.clear()  # free the memory of the copies
    order = np.argsort(pre_tokens.places, kind="stable")
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    by_file = []
    first = 0
    for path, size in zip(paths, sizes, strict=True):
        rows = np.load(f"{path}{_FILES}")
        for file in np.unique(rows[:, 0]).tolist():
            indexes, times = rows[rows[:, 0] == file, 1:].T.copy()
            by_file.append(FileCounts(file, memoryview(ranks[first + indexes]), memoryview(times)))
        first += size
    return pre_tokens.select(order), by_file


def _never(n_unique: int) -> bool:
    return False
