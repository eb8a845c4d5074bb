"""What the workers do: count a part, and join what the parts hold of a bucket.

A task that was done before is not done again: what it made lies in the folder that all share.
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
    joined,
    read_about,
    read_bucket,
    shared_out,
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
PLACES_OF_A_PART = 1 << 40
"""The places of a part's pre-tokens begin at its number times this."""


class PartSums(NamedTuple):
    """What a part comes to, beside its pre-tokens.

    Attributes:
        n_bytes: The bytes of all pre-tokens.
        n_chars: Their characters.
        n_invalid: The bytes among them that are not UTF-8.
        n_unique: How many different pre-tokens there are.
        documents: Whether the first and the last document have any text, how many have, and how
            many there are.
        inside: Whether it begins and ends in the middle of a document.
        unreadable: The files that could not be read to their end, and why.
    """

    n_bytes: int = 0
    n_chars: int = 0
    n_invalid: int = 0
    n_unique: int = 0
    documents: tuple[bool, bool, int, int] = (False, False, 0, 0)
    inside: tuple[bool, bool] = (False, False)
    unreadable: tuple[tuple[str, str], ...] = ()


def n_documents(parts: list[PartSums]) -> int:
    """Count the documents with any text in parts that follow one another."""
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
    """Name the file that holds the pre-tokens of a part."""
    return Path(folder, f"part-{number:06}")


def bucket_file(folder: str, number: int) -> Path:
    """Name the file that holds the pre-tokens of a bucket, of all parts together."""
    return Path(folder, f"bucket-{number:04}")


def count_part(part: Part, rules: Rules, n_buckets: int, folder: str) -> PartSums:
    """Count the pre-tokens of a part.

    Raises:
        InputFileError: If a file cannot be read.
        OutputFileError: If the folder is not there or not to be written.
        PatternError: If the regex fails on a text, or (guarded) takes too long.
    """
    path = part_file(folder, part.number)
    done = read_about(path)
    if done is not None:
        unreadable = tuple((str(file), str(why)) for file, why in done.pop("unreadable"))
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
    write_table(path, *shared_out(PreTokens.of(counted), n_buckets), sums._asdict())
    return sums


def join_bucket(number: int, parts: Sequence[tuple[int, int]], folder: str) -> int:
    """Join what the parts hold of a bucket, and count its different pre-tokens.

    Args:
        number: The bucket.
        parts: The number of each part, and the file that it is of.
        folder: Where they are.

    Raises:
        InputFileError: If a part is not there.
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
        # The counts of what was added have become its places in the table.
        is_new = pre_tokens.counts >= before
        places.append(pre_tokens.places[is_new] + part * PLACES_OF_A_PART)
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
        for _, which, n in group:
            times[which] += n
        found = np.flatnonzero(times)
        rows.append(np.column_stack([np.full(len(found), file), found, times[found]]))
    data = BytesIO()
    np.save(data, np.concatenate(rows))
    write_file(f"{path}{_FILES}", data.getvalue())
    write_table(path, result, [len(table)], {"n_unique": len(table)})
    return len(table)


def gathered(numbers: list[int], folder: str) -> tuple[PreTokens, list[FileCounts]]:
    """Read all buckets, in the order of the first occurrences; and what files have of them."""
    paths = [bucket_file(folder, number) for number in numbers]
    buckets = [read_bucket(path) for path in paths]
    sizes = [len(bucket.lengths) for bucket in buckets]
    pre_tokens = joined(buckets)
    buckets.clear()  # where there are very many, memory for all of them once more is too much
    order = np.argsort(pre_tokens.places, kind="stable")
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    by_file = []
    first = 0
    for path, size in zip(paths, sizes, strict=True):
        rows = np.load(f"{path}{_FILES}")
        for file in np.unique(rows[:, 0]).tolist():
            which, times = rows[rows[:, 0] == file, 1:].T.copy()
            by_file.append(FileCounts(file, memoryview(ranks[first + which]), memoryview(times)))
        first += size
    return pre_tokens.taken(order), by_file


def _never(n_unique: int) -> bool:
    return False
