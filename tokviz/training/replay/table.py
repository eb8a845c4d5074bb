"""Hash tables of token pairs for the compiled loops of the Replay.

Tokens are identified by numbers: a byte by its value, and the token of merge k by 255 + k. A pair
of them is one number. A table is an int64 array (slots, columns) whose first column holds pairs, or
-1 in a free slot; the number of slots is a power of two, and many of them are free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokviz.kernels import Int64s, helper, integer, word
from tokviz.kernels.memory import zeros

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FREE = -1
_GOLDEN = 0x9E3779B97F4A7C15


def new_table(n_slots: int, n_columns: int) -> npt.NDArray[np.int64]:
    """Create a table without pairs; its other columns are 0."""
    table = empty_table(n_slots, n_columns)
    table[:, 0] = FREE
    return table


def empty_table(n_slots: int, n_columns: int) -> npt.NDArray[np.int64]:
    """Allocate a table filled with zeros."""
    # Building the kernels imports this module without NumPy.
    import numpy as np

    return np.asarray(zeros(n_slots * n_columns, "q")).reshape(n_slots, n_columns)


def slots_for(n_pairs: int) -> int:
    """Return the number of slots of a table for `n_pairs` pairs."""
    return 1 << max(4 * n_pairs - 1, 1).bit_length()


@helper
def pair_of(left: int, right: int) -> int:
    """Return the number of a pair of tokens."""
    return integer(left) << 32 | integer(right)


@helper
def first_slot(n_slots: int, pair: int) -> int:
    """Return the slot at which the search for a pair starts."""
    return integer(word(word(pair) * _GOLDEN) >> 32) & (n_slots - 1)


@helper
def row_of(table: Int64s, n_slots: int, n_columns: int, pair: int) -> int:
    """Return the start of the row of a pair, or of the free row where it belongs."""
    slot = first_slot(n_slots, pair)
    row = slot * n_columns
    while table[row] != pair and table[row] != FREE:
        slot = (slot + 1) & (n_slots - 1)
        row = slot * n_columns
    return row
