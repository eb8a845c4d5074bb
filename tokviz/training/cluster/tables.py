"""Pieces with their counts in files, shared out to buckets by a hash of their bytes.

A file is a line of JSON and, for each bucket, the arrays that the line tells of. It is written
beside and renamed: whoever finds one finds it whole, and a task that runs twice writes it twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokviz.errors import InputFileError
from tokviz.storage.files import reading, write_file
from tokviz.training.counting_kernels import find_buckets, take_pieces

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokviz.training.counting import PieceCounts

    Bytes = npt.NDArray[np.uint8]
    Integers = npt.NDArray[np.int64]


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

    @classmethod
    def of(cls, counted: PieceCounts) -> Pieces:
        """Take pieces in the order in which they were counted."""
        lengths = np.asarray(counted.lengths(), np.int64)
        return cls(counted.data, lengths, counted.counts, np.arange(len(lengths)))

    def offsets(self) -> Integers:
        """Give where each piece starts, and at last where the last one ends."""
        offsets = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        return offsets

    def taken(self, order: Integers) -> Pieces:
        """Give the pieces of these numbers, in this order."""
        lengths = self.lengths[order]
        data = np.empty(int(lengths.sum()), np.uint8)
        take_pieces(self.data, self.offsets(), order, len(order), data)
        return Pieces(data, lengths, self.counts[order], self.places[order])


def shared_out(pieces: Pieces, n_buckets: int) -> tuple[Pieces, list[int]]:
    """Order pieces by bucket, in each of which they keep their order, and tell where these end."""
    n = len(pieces.lengths)
    buckets = np.empty(n, np.int32)
    find_buckets(pieces.data, pieces.offsets(), n, n_buckets, buckets)
    order = np.argsort(buckets.astype(np.uint16), kind="stable")
    return pieces.taken(order), np.bincount(buckets, minlength=n_buckets).cumsum().tolist()


def write_table(path: Path, pieces: Pieces, ends: Sequence[int], about: Mapping[str, Any]) -> None:
    """Write pieces by bucket, and what else is to be known.

    Raises:
        OutputFileError: If anything fails; then there is no such file.
    """
    offsets = pieces.offsets()
    borders = [0, *ends]
    head = {"about": about, "borders": borders, "bytes": offsets[borders].tolist()}
    write_file(path, [json.dumps(head).encode() + b"\n", *(it.tobytes() for it in pieces)])


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
    columns: list[Any] = []
    with reading(path), open(path, "rb") as file:
        for borders, size in (head["bytes"], 1), *3 * ((head["borders"], 8),):
            first, end = borders[number : number + 2]
            file.seek(at + first * size)
            columns.append(np.fromfile(file, f"i{size}", end - first))
            at += borders[-1] * size
    found = Pieces(columns[0].view(np.uint8), *columns[1:])
    n = head["borders"][number + 1] - head["borders"][number]
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
