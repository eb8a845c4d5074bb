"""Packing the rows of a dataset into windows of a context length.

Trainers pack `BATCH_ROWS` rows at a time, because `datasets.Dataset.map` gives them so many.

>>> rows = RowLengths(np.array([3, 1, 4, 2]), np.array([[0, 1, 3], [2, 2, 4]]))
>>> packing = pack(rows, "bfd", 5)
>>> packing.fills.tolist(), packing.documents.tolist(), packing.n_cut_answers
([5, 5], [2, 2], 0)
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tokviz.process.runner import raise_if_stopped

BATCH_ROWS = 1000
"""The default `batch_size` of `datasets.Dataset.map`."""

Integers = npt.NDArray[np.int64]


class RowLengths(NamedTuple):
    """The tokens of rows and of the answers in them.

    Attributes:
        lengths: Tokens of each row.
        answers: Shape (n, 3): the row of each answer, its first token and one past its last.
    """

    lengths: Integers
    answers: Integers


class Packing(NamedTuple):
    """Rows in windows of a context length.

    Attributes:
        context: The context length in tokens.
        windows: The window of each piece of a row, counted from 0.
        sizes: The tokens of each piece.
        n_lost: Tokens that are cut off and in no window.
        n_cut_answers: Answers that are not whole in one window.
    """

    context: int
    windows: Integers
    sizes: Integers
    n_lost: int
    n_cut_answers: int

    @property
    def fills(self) -> Integers:
        """The tokens in each window."""
        return np.bincount(self.windows, self.sizes).astype(np.int64)

    @property
    def documents(self) -> Integers:
        """The number of rows that each window holds tokens of."""
        return np.bincount(self.windows)

    @property
    def waste(self) -> float:
        """The share of padding if all windows are padded to the context length, 0 to 1."""
        return float(1 - self.fills.mean() / self.context) if len(self.windows) else 0.0


def pack(rows: RowLengths, strategy: str, context: int, batch_rows: int = BATCH_ROWS) -> Packing:
    """Pack rows into windows.

    Args:
        rows: The rows; those without a token are left out.
        strategy: A key of `STRATEGIES`.
        context: The context length in tokens, at least 1.
        batch_rows: Rows to pack at a time.
    """
    joins, n_windows = strategy == WRAPPED, 0
    starts = np.zeros_like(rows.lengths)
    placed = [(starts[:0], starts[:0])]
    for first in range(0, len(starts), batch_rows):
        raise_if_stopped()
        lengths = rows.lengths[first : first + batch_rows]
        if joins:
            starts[first : first + batch_rows] = np.cumsum(lengths) - lengths
        else:
            lengths = np.minimum(lengths, context)
        windows, sizes = STRATEGIES[strategy](lengths[lengths > 0], context)
        placed.append((windows + n_windows, sizes))
        n_windows += int(windows.max(initial=-1)) + 1
    windows, sizes = map(np.concatenate, zip(*placed, strict=True))
    row, start, end = rows.answers.T
    first_window = (starts[row] + start) // context if joins else 0
    is_cut = (starts[row] + end - 1) // context > first_window
    n_lost = int(rows.lengths.sum() - sizes.sum())
    return Packing(context, windows, sizes, n_lost, int(is_cut.sum()))


def _one_each(sizes: Integers, context: int) -> tuple[Integers, Integers]:
    """Put each row into its own window."""
    return np.arange(len(sizes)), sizes


def _first_fit(sizes: Integers, context: int) -> tuple[Integers, Integers]:
    """Put each row, in order, into the first window with enough space."""
    space = np.full(len(sizes), context)
    windows = np.zeros_like(sizes)
    for row, size in enumerate(sizes):
        windows[row] = window = (space >= size).argmax()
        space[window] -= size
    return windows, sizes


def _best_fit(sizes: Integers, context: int) -> tuple[Integers, Integers]:
    """Put each row, the longest first, into the window with the least space that is enough.

    Among windows with equal space, choose the window that has had it longest, as TRL does.
    """
    windows = np.zeros_like(sizes)
    spaces = [context]
    windows_with = {context: deque(range(len(sizes)))}
    for row in np.argsort(-sizes, kind="stable").tolist():
        at = bisect_left(spaces, sizes[row])
        space = spaces[at]
        windows[row] = window = windows_with[space].popleft()
        if not windows_with[space]:
            del windows_with[space], spaces[at]
        left = space - int(sizes[row])
        if left and left not in windows_with:
            insort(spaces, left)
        windows_with.setdefault(left, deque()).append(window)
    return windows, sizes


def _wrap(sizes: Integers, context: int) -> tuple[Integers, Integers]:
    """Join all rows, and cut the result into windows."""
    ends = np.cumsum(sizes)
    borders = np.union1d(ends, np.arange(context, sizes.sum(), context))
    starts = np.concatenate(([0], borders))[:-1]
    return starts // context, borders - starts


WRAPPED = "wrapped"
STRATEGIES: dict[str, Callable[[Integers, int], tuple[Integers, Integers]]] = {
    "none": _one_each,
    "greedy": _first_fit,
    "bfd": _best_fit,
    WRAPPED: _wrap,
}
"""The strategies; the last two have TRL's names for them.

Each takes the tokens of rows that are not empty, and the context length. It returns the window and
the tokens of each piece of a row. All but `WRAPPED` expect that rows that are too long are cut off.

Source: `pack_dataset` in huggingface/trl `trl/data_utils.py`.
"""
