"""Hash tables of pairs of tokens for the compiled loops of the Replay.

Tokens have numbers here: a byte its value, and the token of merge k 255 + k. A pair of them is one
number. A table is an int64 array (slots, columns) whose first column holds pairs, -1 where a slot
is free; the number of slots is a power of two, and many of them are free.

Numba does not notice changes of this file in machine code that it has cached: when the meaning of
something changes here, change the kernels too.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tokviz.compiled import helper

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Integer: TypeAlias = int | np.signedinteger[Any]
Pointer: TypeAlias = Any  # takes indexes of any integer type, unlike what type checkers know

FREE = -1


def new_table(n_slots: int, n_columns: int) -> Int64s:
    """Make a table without pairs; its other columns are 0."""
    table = np.zeros((n_slots, n_columns), np.int64)
    table[:, 0] = FREE
    return table


def slots_for(n_pairs: int) -> int:
    """Give the slots of a table for so many pairs."""
    return 1 << max(4 * n_pairs - 1, 1).bit_length()


@helper
def pair_of(left: Integer, right: Integer) -> Integer:
    """Make one number of two tokens."""
    return (np.int64(left) << 32) | np.int64(right)


@helper
def row_of(table: Pointer, n_slots: Integer, n_columns: Integer, pair: Integer) -> Integer:
    """Find where in a table the row of a pair begins, or the free one where it belongs."""
    mixed = np.int64(pair) * np.int64(-7046029254386353131)  # 2**64 / golden ratio
    slot = (mixed ^ (mixed >> 32)) & (n_slots - 1)
    row = slot * n_columns
    while table[row] != pair and table[row] != FREE:
        slot = (slot + 1) & (n_slots - 1)
        row = slot * n_columns
    return row
