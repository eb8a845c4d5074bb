"""Memory of the compiled merge loop: its arrays, and constants for their columns and indexes."""

from __future__ import annotations

from typing import NamedTuple

from tokviz.kernels import Bytes, Int32s, Int64s

PAUSED, FULL, FINISHED, NONE_LEFT, BELOW_MIN_COUNT = range(5)
"""Reasons why `run_merges` returned."""

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
"""The indexes of `State.numbers`."""

TALLIED = 1 << 16
"""Pairs with counts below this are tallied, which gives the number of tied pairs at once."""

NONE = -1
"""No token, pair or group; also the token between pre-tokens."""


class State(NamedTuple):
    """State of the merge loop; two-dimensional arrays are stored row by row.

    Attributes:
        cells: int32 (n, 3): token, pair and weight of every position. The weight is the number of
            occurrences of the pre-token; a negative one is the complement of an index into `large`.
        large: int64: weights that need more than 31 bits.
        text: uint8 (n,): the bytes of the pre-tokens, at the positions of `cells`.
        numbers: int64: used lengths and capacities of the arrays; see the constants.
        occurrences: int32: positions of pairs, grouped by pair, ascending within one pair.
        pair_count: int64 by pair: its current number of occurrences in the corpus.
        pair_start: int64 by pair: the start of its `occurrences`; ascending.
        pair_length: int32 by pair: the number of its `occurrences`, including stale ones.
        pair_tokens: int32 (…, 2) by pair: its left and right token.
        token_length: int32 by token: its number of bytes.
        token_at: int32 by token: a position of its bytes in `text`.
        heap_count, heap_key, heap_pair: The heap: highest count first, then lowest key, then (only
            `LEXICOGRAPHIC`) by the tokens' bytes.
        tally: int32: the number of pairs with each count below `TALLIED`.
        left_group, right_group: int32 by token: the group of the current merge that pairs this
            token with the new one; NONE between merges.
        group_old: int32 by group: the pair that the group's pair replaces.
        group_loss: int64 by group: the decrease of its count.
        fresh: int32 (…, 2): positions and groups of the new pairs of the current merge.
        merges: int32 (…, 2) by merge: its left and right token.
        merge_count: int64 by merge: the count of its pair.
        merge_tied: int32 by merge: the number of pairs with that count.
        runner_up: int32 (…, 2) by merge: the next pair in the order of the rule; NONE if none.
        runner_up_count: int64 by merge.
        tokens_left: int64 by merge: the number of tokens of the corpus after it.
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
