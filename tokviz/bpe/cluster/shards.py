"""What a worker does with a shard: some of the pieces, in which it merges what it is told to.

A shard is a stretch of the pieces, which lie in one file, and what it has become is told by the
merges so far, which lie in another. So a worker may die and a task run twice: whoever has no shard
in the state that is asked for makes it of the two files.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokviz.bpe.cluster import shard_kernels
from tokviz.bpe.cluster.tables import Pieces, read_bucket, write_table
from tokviz.bpe.compiled_trainer import cells_of, note_capacities, uses_of, with_room
from tokviz.bpe.counting import FileCounts, PieceCounts
from tokviz.bpe.layout import Layout
from tokviz.bpe.merge_state import N_MERGES, N_PAIRS, N_TOKENS, THRESHOLD
from tokviz.bpe.ties import FIRST, Pair
from tokviz.errors import InputFileError
from tokviz.files import reading, writing

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokviz.bpe.cluster.tables import Integers
    from tokviz.bpe.merge_state import State

_NO_ROWS = np.empty((0, 4), np.int64)
OUT_OF_REACH = 1 << 62
"""A threshold that keeps the heap empty."""


class Question(NamedTuple):
    """What all shards are asked.

    Attributes:
        folder: Where the pieces and the merges are.
        n_merges: The most merges there will be.
        n_before: The merges until now; None if the pairs of bytes are wanted.
        merges: The next ones.
        wanted: Pairs whose first places are wanted then. Shape (n, 2), int32.
    """

    folder: str
    n_merges: int
    n_before: int | None
    merges: Sequence[Pair]
    wanted: npt.NDArray[np.int32]


class Reply(NamedTuple):
    """What a shard answers.

    Attributes:
        changes: Of one merge after the other: see `shard_kernels.write_changes`. At first of the
            pairs of bytes. Shape (n, 4), int64.
        ends: Where those of each merge end.
        n_tokens: The tokens of the shard after each.
        places: The first place of every wanted pair; NONE for none. int64.
        worker: Who has answered; empty outside of a cluster.
    """

    changes: npt.NDArray[np.int64]
    ends: list[int]
    n_tokens: list[int]
    places: npt.NDArray[np.int64]
    worker: str = ""


class Shard:
    """A stretch of the pieces, and their tokens."""

    def __init__(self, folder: str, number: int, n_merges: int) -> None:
        """Read the pieces and lay them out.

        Raises:
            InputFileError: If that fails.
        """
        pieces = read_bucket(_pieces_file(folder), number)
        self.pieces = PieceCounts(pieces.data, pieces.offsets(), pieces.counts)
        self._number = number
        *_, state = Layout(self.pieces).steps(n_merges)
        assert state is not None
        state.numbers[THRESHOLD] = OUT_OF_REACH
        note_capacities(state)
        self.state: State = state

    @property
    def n_merges(self) -> int:
        """The merges so far."""
        return self.state.numbers[N_MERGES]

    def bytes_pairs(self) -> npt.NDArray[np.int64]:
        """Give the pairs of bytes, before the first merge, as changes."""
        n = self.state.numbers[N_PAIRS]
        tokens = np.asarray(self.state.pair_tokens[: 2 * n]).reshape(-1, 2)
        first = np.asarray(self.state.occurrences)[np.asarray(self.state.pair_start[:n])]
        counts = np.asarray(self.state.pair_count[:n])
        places = first.astype(np.int64) + (self._number << 32)
        return np.column_stack([tokens.astype(np.int64), counts, places])

    def merge(self, pair: Pair) -> npt.NDArray[np.int64]:
        """Merge a pair, and say what that changes."""
        while (n := shard_kernels.merge_pair(self.state, *pair)) < 0:
            self.state = with_room(self.state, FIRST)
        if not n:
            return _NO_ROWS
        rows = np.empty((2 * n, 4), np.int64)
        n = shard_kernels.write_changes(self.state, n, self._number, rows.reshape(-1))
        return rows[:n]

    def places(self, pairs: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Find where pairs first occur."""
        found = np.empty(len(pairs), np.int64)
        flat = np.ascontiguousarray(pairs).reshape(-1)
        shard_kernels.find_places(self.state, flat, len(pairs), self._number, found)
        return found


_shards: dict[tuple[str, int], Shard] = {}
"""The shards that this process has."""


def answer(number: int, question: Question) -> Reply:
    """Do what a shard is asked.

    Raises:
        InputFileError: If the pieces or the merges cannot be read.
    """
    folder, n_before = question.folder, question.n_before or 0
    # Two tasks at once do not have the same one.
    shard = _shards.pop((folder, number), None)
    if shard is None or shard.n_merges != n_before:
        shard = Shard(folder, number, question.n_merges)
        for pair in read_merges(folder, n_before):
            shard.merge(pair)
    changes, n_tokens = [_NO_ROWS], []
    if question.n_before is None:
        changes.append(shard.bytes_pairs())
    for pair in question.merges:
        changes.append(shard.merge(pair))
        n_tokens.append(shard.state.numbers[N_TOKENS])
    ends = np.cumsum([*map(len, changes)]).tolist()
    places = shard.places(question.wanted)
    reply = Reply(np.concatenate(changes), ends, n_tokens, places, _worker())
    _shards[folder, number] = shard
    return reply


def uses(number: int, folder: str, most: int, n_merges: int, counts: list[FileCounts]) -> Integers:
    """Count the tokens in some of the pieces of a shard, when all is merged."""
    nobody = np.empty((0, 2), np.int32)
    answer(number, Question(folder, most, n_merges, [], nobody))
    shard = _shards[folder, number]
    return np.asarray(uses_of(shard.state, cells_of(shard.pieces), counts))


def forget(folder: str) -> None:
    """Give back the memory of shards."""
    for key in [key for key in _shards if key[0] == folder]:
        _shards.pop(key, None)


def write_shards(folder: str, pieces: PieceCounts, ends: Sequence[int]) -> None:
    """Write all pieces; each shard's end before one of the `ends`.

    Raises:
        OutputFileError: If that fails.
    """
    write_table(_pieces_file(folder), Pieces.of(pieces), ends, {})
    with writing(folder):
        _merges_file(folder).write_bytes(b"")


def write_merges(folder: str, merges: Sequence[Pair]) -> None:
    """Add merges to those so far."""
    with writing(folder), _merges_file(folder).open("ab") as file:
        file.write(array("i", [token for pair in merges for token in pair]).tobytes())


def read_merges(folder: str, n: int) -> list[Pair]:
    """Read the first merges."""
    path = _merges_file(folder)
    with reading(path), path.open("rb") as file:
        ids = np.fromfile(file, np.int32, 2 * n)
    if len(ids) < 2 * n:
        raise InputFileError(path, "is cut off: begin again")
    return [(left, right) for left, right in ids.reshape(-1, 2).tolist()]


def _pieces_file(folder: str) -> Path:
    return Path(folder, "pieces")


def _merges_file(folder: str) -> Path:
    return Path(folder, "merges")


def _worker() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return ""
