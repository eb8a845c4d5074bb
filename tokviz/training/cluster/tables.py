"""Pre-tokens with their counts in files, shared out to buckets by a hash of their bytes.

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
from tokviz.training.counting_kernels import find_buckets, take_pre_tokens

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokviz.training.pre_token_counts import PreTokenCounts

    Bytes = npt.NDArray[np.uint8]
    Integers = npt.NDArray[np.int64]


class PreTokens(NamedTuple):
    """Some different pre-tokens.

    Attributes:
        data: Their bytes, one behind another; uint8.
        lengths: The bytes of each; int64.
        counts: How often each occurs; int64.
        places: Where each occurs first: its number among the pre-tokens of its part, or of all;
            int64.
    """

    data: Bytes
    lengths: Integers
    counts: Integers
    places: Integers

    @classmethod
    def of(cls, counted: PreTokenCounts) -> PreTokens:
        """Take pre-tokens in the order in which they were counted."""
        lengths = np.asarray(counted.lengths(), np.int64)
        return cls(counted.data, lengths, counted.counts, np.arange(len(lengths)))

    def offsets(self) -> Integers:
        """Give where each pre-token starts, and at last where the last one ends."""
        offsets = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        return offsets

    def taken(self, order: Integers) -> PreTokens:
        """Give the pre-tokens of these numbers, in this order."""
        lengths = self.lengths[order]
        data = np.empty(int(lengths.sum()), np.uint8)
        take_pre_tokens(self.data, self.offsets(), order, len(order), data)
        return PreTokens(data, lengths, self.counts[order], self.places[order])


def shared_out(pre_tokens: PreTokens, n_buckets: int) -> tuple[PreTokens, list[int]]:
    """Sort pre-tokens by bucket, keeping their order within it; return the end of each bucket."""
    n = len(pre_tokens.lengths)
    buckets = np.empty(n, np.int32)
    find_buckets(pre_tokens.data, pre_tokens.offsets(), n, n_buckets, buckets)
    order = np.argsort(buckets.astype(np.uint16), kind="stable")
    return pre_tokens.taken(order), np.bincount(buckets, minlength=n_buckets).cumsum().tolist()


def write_table(
    path: Path, pre_tokens: PreTokens, ends: Sequence[int], about: Mapping[str, Any]
) -> None:
    """Write pre-tokens by bucket, and what else is to be known.

    Raises:
        OutputFileError: If anything fails; then there is no such file.
    """
    offsets = pre_tokens.offsets()
    borders = [0, *ends]
    head = {"about": about, "borders": borders, "bytes": offsets[borders].tolist()}
    write_file(path, [json.dumps(head).encode() + b"\n", *(it.tobytes() for it in pre_tokens)])


def read_about(path: Path) -> dict[str, Any] | None:
    """Read what is known beside the pre-tokens; None if there is no such file."""
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
        raise InputFileError(path, "is cut off: remove it and begin again")
    return found


def _head(path: Path) -> tuple[dict[str, Any], int]:
    with reading(path), open(path, "rb") as file:
        line = file.readline()
    try:
        return json.loads(line), len(line)
    except ValueError:
        raise InputFileError(path, "is damaged: remove it and begin again") from None


def joined(tables: Sequence[PreTokens]) -> PreTokens:
    """Put pre-tokens one behind another."""
    data, lengths, counts, places = (np.concatenate(arrays) for arrays in zip(*tables, strict=True))
    return PreTokens(data, lengths, counts, places)
