"""What the compiled merge loop works on: arrays, and what their columns and places mean."""

from __future__ import annotations

from typing import NamedTuple

from tokviz.kernels import Bytes, Int32s, Int64s

PAUSED, FULL, FINISHED, NONE_LEFT, BELOW_MIN_COUNT = range(5)
"""Why `run_merges` came back."""

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
"""No token, pair or group; between pre-tokens it stands for the token."""


class State(NamedTuple):
    """Everything the merge loop works on; rows lie one behind another.

    Attributes:
        cells: int32 (n, 3): token, pair and weight of every position. The weight is how often the
            pre-token occurs; below zero it is the complement of an index into `large`.
        large: int64: weights that need more than 31 bits.
        text: uint8 (n,): the bytes of the pre-tokens, at the positions of `cells`.
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
