"""Tasks of the workers: count a part, and join the counts of a bucket from all parts.

A completed task is not repeated, because its result is in the shared folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tokviz.storage.files import write_file
from tokviz.tokenizer.pretokenize.scan import scanner_of
from tokviz.training.cluster.parts import Part, PartReader, Rules
from tokviz.training.cluster.tables import (
    PreTokens,
    concatenate,
    read_about,
    read_bucket,
    sort_by_bucket,
    write_table,
)
from tokviz.training.compiled_counter import CompiledCounter
from tokviz.training.corpus.text_blocks import REST, capped, text_blocks
from tokviz.training.counting import DocumentCount, refuse_endless
from tokviz.training.plain_counter import PlainCounter
from tokviz.training.pre_token_counts import FileCounts
from tokviz.training.pre_token_table import PreTokenTable
from tokviz.training.regex_counter import RegexCounter

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
