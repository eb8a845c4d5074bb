"""Files of pre-tokens with their counts, sorted into buckets by a hash of their bytes.

A file contains a line of JSON, and for each bucket the arrays that the line describes. It is
written atomically, so an existing file is complete, even if a task runs twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokviz.errors import InputFileError
from tokviz.storage.files import reading, write_file
from tokviz.training.counting_kernels import find_buckets, take_pre_tokens

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
