"""What a training gives that sees less than all: rare pieces left out, or a sample.

>>> import tokviz
>>> run = tokviz.train(["low low low lower"], 260, split_pattern="whitespace", approximate=2)
>>> run.approximation
Approximation(least=2, n_pieces=1, n_bytes=5, most_missing=1, n_sure=0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tokviz.bpe.counting import FileCounts, PieceCounts
from tokviz.sentences import counted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.bpe.history import TrainingHistory


class Approximation(NamedTuple):
    """What was left out, and what that can change.

    Attributes:
        least: Pieces that occurred less often were left out.
        n_pieces: How many different ones.
        n_bytes: The bytes of all their occurrences.
        most_missing: No pair's count is too low by more than this, at any merge.
        n_sure: So many of the first merges are those of the whole corpus for certain.
    """

    least: int
    n_pieces: int
    n_bytes: int
    most_missing: int
    n_sure: int = 0

    def after(self, history: TrainingHistory) -> Approximation:
        """Say how many merges are certain: those before the first that another pair may deserve.

        Other pairs than a merged one have at most the runner-up's count and what is missing.
        """
        leads = history.count - history.runner_up_count
        doubtful = (leads <= self.most_missing).nonzero()[0]
        return self._replace(n_sure=int(doubtful[0]) if len(doubtful) else len(history))

    def line(self) -> str:
        """Say it."""
        sure = ("no merge is", "the first merge is")
        first = sure[self.n_sure] if self.n_sure < 2 else f"the first {self.n_sure:,} merges are"
        return (
            f"approximate: without {counted(self.n_pieces, 'different piece')} "
            f"({counted(self.n_bytes, 'byte')}) that occur fewer than {self.least:,} times; counts "
            f"are at most {self.most_missing:,} too low, and {first} certain"
        )


def without_rare(pieces: PieceCounts, least: int) -> tuple[PieceCounts, Approximation]:
    """Leave out pieces that occur less often, and find how much of any pair that may take.

    Wherever two tokens meet in a piece, two bytes do. So no pair of tokens has more occurrences in
    what is left out than the pair of the bytes where they meet.
    """
    import numpy as np

    counts, lengths = np.asarray(pieces.counts), np.asarray(pieces.lengths())
    data, is_kept = np.asarray(pieces.data), counts >= least
    bytes_kept = np.repeat(is_kept, lengths)
    rest, n = data[~bytes_kept].astype(np.int32), lengths[~is_kept]
    times = np.repeat(counts[~is_kept], n)
    times[np.cumsum(n) - 1] = 0  # behind the last byte of a piece nothing follows
    pairs = np.bincount(256 * rest[:-1] + rest[1:], times[:-1], minlength=1)
    n_bytes = int(lengths[~is_kept] @ counts[~is_kept])
    kept = _chosen(pieces, is_kept, counts)
    return kept, Approximation(least, int((~is_kept).sum()), n_bytes, int(pairs.max()))


def _chosen(
    pieces: PieceCounts, is_kept: npt.NDArray[np.bool_], counts: npt.NDArray[np.int64]
) -> PieceCounts:
    """Take some of the pieces, with these counts."""
    import numpy as np

    lengths = np.asarray(pieces.lengths())
    kept = lengths[is_kept]
    return PieceCounts(
        np.asarray(pieces.data)[np.repeat(is_kept, lengths)],
        np.concatenate([[0], np.cumsum(kept)]),
        counts[is_kept],
        lengths=kept,
        n_bytes=int(kept @ counts[is_kept]),
        n_chars=pieces.n_chars,
        n_invalid=pieces.n_invalid,
        n_documents=pieces.n_documents,
        complete=pieces.complete,
        by_file=[*_renamed(pieces.by_file, is_kept)],
    )


def _renamed(by_file: Sequence[FileCounts], is_kept: npt.NDArray[np.bool_]) -> Iterator[FileCounts]:
    import numpy as np

    places = (np.cumsum(is_kept) - 1).astype(np.int32)
    for file, which, times in by_file:
        there = is_kept[np.asarray(which)]
        names = places[np.asarray(which)[there]]
        yield FileCounts(file, memoryview(names), memoryview(np.asarray(times)[there]))


def sampled(pieces: PieceCounts, share: float, seed: int = 1) -> PieceCounts:
    """Draw a sample of all occurrences: each is in it with this probability."""
    import numpy as np

    counts = np.random.default_rng(seed).binomial(np.asarray(pieces.counts), share)
    return _chosen(pieces, counts > 0, counts)
