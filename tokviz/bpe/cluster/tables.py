"""Pieces with their counts in files, shared out to buckets by a hash of their bytes.

A file is a line of JSON and, for each bucket, the arrays that the line tells of. It is written
beside and renamed: whoever finds one finds it whole, and a task that runs twice writes it twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokviz.errors import InputFileError
from tokviz.files import reading, write_file

if TYPE_CHECKING:
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]
    Integers = npt.NDArray[np.int64]

_AT_ONCE = 1 << 18
_ODD = np.uint64(0x9E3779B97F4A7C15)


class Pieces(NamedTuple):
    """Some different pieces.

    Attributes:
        data: Their bytes, one behind another; uint8.
        lengths: The bytes of each; int64.
        counts: How often each occurs; int64.
        places: Where each occurs first: its number among the pieces of its part, or of all; int64.
    """

    data: Bytes
    lengths: Integers
    counts: Integers
    places: Integers

    def offsets(self) -> Integers:
        """Give where each piece starts, and at last where the last one ends."""
        offsets = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        return offsets

    def taken(self, order: Integers) -> Pieces:
        """Give the pieces of these numbers, in this order."""
        offsets, lengths = self.offsets(), self.lengths[order]
        data = np.empty(int(lengths.sum()), np.uint8)
        end = 0
        # The number of every byte takes eight times as much memory as the byte.
        for first in range(0, len(order), _AT_ONCE):
            some = order[first : first + _AT_ONCE]
            n = lengths[first : first + _AT_ONCE]
            ends = np.cumsum(n)
            total = int(ends[-1])
            within = np.arange(total) - np.repeat(ends - n, n)
            data[end : end + total] = self.data[np.repeat(offsets[some], n) + within]
            end += total
        return Pieces(data, lengths, self.counts[order], self.places[order])


def buckets_of(pieces: Pieces, n_buckets: int) -> Integers:
    """Give the bucket of every piece; it depends on its bytes alone."""
    offsets = pieces.offsets()
    buckets = np.empty(len(pieces.lengths), np.int64)
    for first in range(0, len(buckets), _AT_ONCE):
        starts = offsets[first : first + _AT_ONCE + 1]
        data = pieces.data[starts[0] : starts[-1]].astype(np.uint64)
        n = np.diff(starts)
        within = np.arange(len(data), dtype=np.uint64) - np.repeat(
            starts[:-1] - starts[0], n
        ).astype(np.uint64)
        mixed = (data + np.uint64(1)) * (within * np.uint64(2) + _ODD)
        sums = np.add.reduceat(mixed, starts[:-1] - starts[0])
        sums = (sums ^ (sums >> np.uint64(29))) * _ODD
        chosen = (sums >> np.uint64(32)) % np.uint64(n_buckets)
        buckets[first : first + _AT_ONCE] = chosen.astype(np.int64)
    return buckets


def shared_out(pieces: Pieces, n_buckets: int) -> list[Pieces]:
    """Put pieces into buckets; in each they keep their order."""
    buckets = buckets_of(pieces, n_buckets)
    order = np.argsort(buckets, kind="stable")
    borders = np.searchsorted(buckets[order], np.arange(n_buckets + 1))
    return [pieces.taken(order[first:last]) for first, last in pairwise(borders.tolist())]


def write_table(path: Path, buckets: Sequence[Pieces], about: Mapping[str, Any]) -> None:
    """Write pieces by bucket, and what else is to be known.

    Raises:
        OutputFileError: If anything fails; then there is no such file.
    """
    sizes = [[len(bucket.lengths), len(bucket.data)] for bucket in buckets]
    head = json.dumps({"about": about, "sizes": sizes}).encode() + b"\n"
    arrays = (array.tobytes() for bucket in buckets for array in bucket)
    write_file(path, [head, *arrays])


def read_about(path: Path) -> dict[str, Any] | None:
    """Read what is known beside the pieces; None if there is no such file."""
    if not path.exists():
        return None
    about: dict[str, Any] = _head(path)[0]["about"]
    return about


def read_bucket(path: Path, number: int = 0) -> Pieces:
    """Read the pieces of a bucket.

    Raises:
        InputFileError: If that fails.
    """
    head, at = _head(path)
    sizes = head["sizes"]
    at += sum(n_bytes + 24 * n for n, n_bytes in sizes[:number])
    n, n_bytes = sizes[number]
    with reading(path), open(path, "rb") as file:
        file.seek(at)
        found = Pieces(
            np.fromfile(file, np.uint8, n_bytes),
            np.fromfile(file, np.int64, n),
            np.fromfile(file, np.int64, n),
            np.fromfile(file, np.int64, n),
        )
    if len(found.places) < n:
        raise InputFileError(path, "is cut off: remove it and begin again")
    return found


def _head(path: Path) -> tuple[dict[str, Any], int]:
    with reading(path), open(path, "rb") as file:
        line = file.readline()
    try:
        return json.loads(line), len(line)
    except ValueError:
        raise InputFileError(path, "is damaged: remove it and begin again") from None


def joined(tables: Sequence[Pieces]) -> Pieces:
    """Put pieces one behind another."""
    data, lengths, counts, places = (np.concatenate(arrays) for arrays in zip(*tables, strict=True))
    return Pieces(data, lengths, counts, places)


def remove(paths: Sequence[Path]) -> None:
    """Remove files, as far as they are there."""
    for path in paths:
        if path.exists():
            os.unlink(path)
