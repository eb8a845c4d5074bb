"""What the compiled merge loop works on: arrays, and what their columns and places mean.

Numba does not notice changes of this file in machine code that it has cached: when the meaning of a
number changes here, change the kernels too.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tokviz.compiled import helper
from tokviz.pretokenize.pointers import pointer_to

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Integer: TypeAlias = int | np.signedinteger[Any]
Pointer: TypeAlias = Any  # takes indexes of any integer type, unlike what type checkers know

PAUSED, FULL, FINISHED, NONE_LEFT, BELOW_MIN_COUNT = range(5)
"""Why `run_merges` came back."""

FIRST, LEXICOGRAPHIC, SMALLEST_ID = range(3)
"""The tie-break rules as the kernels know them."""

TOKEN, PAIR, WEIGHT = range(3)
"""The columns of `State.cells`."""

(
    N_MERGES,
    N_PAIRS,
    N_OCCURRENCES,
    N_HEAP,
    THRESHOLD,
    N_TOKENS,
    MOST_PAIRS,
    MOST_OCCURRENCES,
    MOST_GROUPS,
    N_NUMBERS,
) = range(10)
"""The places of `State.numbers`."""

TALLIED = 1 << 16
"""Counts below this are tallied, so that the number of tied pairs is known at once."""

NONE = -1
"""No token, pair or group; between pieces it stands for the token."""


class State(NamedTuple):
    """Everything the merge loop works on.

    Attributes:
        cells: int32 (n, 3): token, pair and weight of every position. The weight is how often the
            piece occurs; below zero it is the complement of an index into `large`.
        large: int64: weights that need more than 31 bits.
        text: uint8 (n,): the bytes of the pieces, at the positions of `cells`.
        numbers: int64: how much of the arrays is used; see the constants.
        occurrences: int32: positions of pairs, grouped by pair, ascending within one pair.
        pair_count: int64 by pair: how often it occurs in the corpus now.
        pair_start: int64 by pair: where its occurrences begin; ascending.
        pair_length: int32 by pair: how many there are, stale ones too.
        pair_tokens: int32 (…, 2) by pair: its left and right token.
        token_length: int32 by token: its bytes.
        token_at: int32 by token: a position in `text` where its bytes stand.
        heap_count, heap_key, heap_pair: The heap: highest count first, then lowest key, then (only
            `LEXICOGRAPHIC`) by the tokens' bytes.
        tally: int32: the number of pairs with each count below `TALLIED`.
        left_group, right_group: int32 by token: the group of the merge under way that pairs this
            token with the new one; NONE between merges.
        group_old: int32 by group: the pair that loses what the group's pair gains.
        group_loss: int64 by group: how much it loses.
        fresh: int32 (…, 2): positions and groups of the pairs of the merge under way.
        merges: int32 (…, 2) by merge: its left and right token.
        merge_count: int64 by merge.
        merge_tied: int32 by merge: how many pairs had that count.
        runner_up: int32 (…, 2) by merge: the next pair in the order of the rule; NONE if none.
        runner_up_count: int64 by merge.
        tokens_left: int64 by merge: the tokens of the corpus after it.
    """

    cells: Int32s
    large: Int64s
    text: Bytes
    numbers: Int64s
    occurrences: Int32s
    pair_count: Int64s
    pair_start: Int64s
    pair_length: Int32s
    pair_tokens: Int32s
    token_length: Int32s
    token_at: Int32s
    heap_count: Int64s
    heap_key: Int64s
    heap_pair: Int32s
    tally: Int32s
    left_group: Int32s
    right_group: Int32s
    group_old: Int32s
    group_loss: Int64s
    fresh: Int32s
    merges: Int32s
    merge_count: Int64s
    merge_tied: Int32s
    runner_up: Int32s
    runner_up_count: Int64s
    tokens_left: Int64s


class Pointers(NamedTuple):
    """The arrays of `State` as pointers, which cost nothing to hand on; rows lie in a row."""

    cells: Pointer
    large: Pointer
    text: Pointer
    numbers: Pointer
    occurrences: Pointer
    pair_count: Pointer
    pair_start: Pointer
    pair_length: Pointer
    pair_tokens: Pointer
    token_length: Pointer
    token_at: Pointer
    heap_count: Pointer
    heap_key: Pointer
    heap_pair: Pointer
    tally: Pointer
    left_group: Pointer
    right_group: Pointer
    group_old: Pointer
    group_loss: Pointer
    fresh: Pointer
    merges: Pointer
    merge_count: Pointer
    merge_tied: Pointer
    runner_up: Pointer
    runner_up_count: Pointer
    tokens_left: Pointer


@helper
def pointers(state: State) -> Pointers:
    """Make pointers of all arrays, which the caller keeps alive."""
    return Pointers(
        pointer_to(state.cells),
        pointer_to(state.large),
        pointer_to(state.text),
        pointer_to(state.numbers),
        pointer_to(state.occurrences),
        pointer_to(state.pair_count),
        pointer_to(state.pair_start),
        pointer_to(state.pair_length),
        pointer_to(state.pair_tokens),
        pointer_to(state.token_length),
        pointer_to(state.token_at),
        pointer_to(state.heap_count),
        pointer_to(state.heap_key),
        pointer_to(state.heap_pair),
        pointer_to(state.tally),
        pointer_to(state.left_group),
        pointer_to(state.right_group),
        pointer_to(state.group_old),
        pointer_to(state.group_loss),
        pointer_to(state.fresh),
        pointer_to(state.merges),
        pointer_to(state.merge_count),
        pointer_to(state.merge_tied),
        pointer_to(state.runner_up),
        pointer_to(state.runner_up_count),
        pointer_to(state.tokens_left),
    )
