"""Merging pieces that are shared out: what is done to a shard, and to the table of all pairs.

A shard is a `State` whose heap stays empty. The table is one without pieces: its pairs have counts
that are summed over the shards, and their first places, or NONE for one that is not known, in
`pair_start`. See `tokviz.bpe.cluster.sharded_trainer`.
"""

from __future__ import annotations

from tokviz.bpe.heap_kernels import key_of, note_merge, note_tokens, push, remove_top, settle_top
from tokviz.bpe.kernels import has_room, merge_occurrences, set_count, settle_groups
from tokviz.bpe.merge_state import (
    N_HEAP,
    N_MERGES,
    N_PAIRS,
    N_TOKENS,
    NONE,
    THRESHOLD,
    State,
)
from tokviz.bpe.ties import FIRST, LEXICOGRAPHIC, PLACED
from tokviz.compiled import Int32s, Int64s, helper, kernel


@helper
def _birth(left: int, right: int) -> int:
    """Number pairs in the order in which a shard has them: of bytes, then by the younger token."""
    if left < 256 and right < 256:
        return left << 8 | right
    return max(left, right) << 16


@helper
def _find(memory: State, left: int, right: int) -> int:
    """Find a pair that occurs in a shard; NONE if it does not."""
    birth = _birth(left, right)
    low = 0
    high = memory.numbers[N_PAIRS]
    while low < high:
        middle = (low + high) >> 1
        if _birth(memory.pair_tokens[2 * middle], memory.pair_tokens[2 * middle + 1]) < birth:
            low = middle + 1
        else:
            high = middle
    for pair in range(low, memory.numbers[N_PAIRS]):
        one = memory.pair_tokens[2 * pair]
        other = memory.pair_tokens[2 * pair + 1]
        if one == left and other == right:
            return pair if memory.pair_count[pair] > 0 else NONE
        if _birth(one, other) != birth:
            return NONE
    return NONE


@kernel
def find_places(memory: State, pairs: Int32s, n: int, shard: int, places: Int64s) -> None:
    """Find where pairs first occur in a shard; NONE where one does not."""
    for i in range(n):
        pair = _find(memory, pairs[2 * i], pairs[2 * i + 1])
        places[i] = NONE
        if pair != NONE:
            places[i] = shard << 32 | key_of(memory, FIRST, pair)


@kernel
def merge_pair(memory: State, left: int, right: int) -> int:
    """Merge a pair in a shard; NONE if room is wanted, else how many pairs came into being."""
    numbers = memory.numbers
    merged = _find(memory, left, right)
    if merged != NONE and not has_room(memory, merged):
        return NONE
    note_tokens(memory, left, right)
    n_groups: int = 0
    if merged != NONE:
        new = 256 + numbers[N_MERGES]
        n_groups, n_fresh = merge_occurrences(memory, merged, new)
        settle_groups(memory, FIRST, merged, new, n_groups, n_fresh)
    memory.tokens_left[numbers[N_MERGES]] = numbers[N_TOKENS]
    numbers[N_MERGES] += 1
    return n_groups


@kernel
def write_changes(memory: State, n_groups: int, shard: int, rows: Int64s) -> int:
    """Write what the last merge in a shard has changed, and count the rows.

    Args:
        memory: The shard.
        n_groups: From `merge_pair`.
        shard: The number of the shard.
        rows: Receives a pair's tokens, by how much its count has changed, and of a new pair its
            first place. Shape (2 * n_groups, 4).
    """
    numbers = memory.numbers
    step = numbers[N_MERGES] - 1
    first = numbers[N_PAIRS] - n_groups
    n = 0
    for group in range(n_groups):
        pair = first + group
        if memory.pair_count[pair] > 0:
            rows[4 * n] = memory.pair_tokens[2 * pair]
            rows[4 * n + 1] = memory.pair_tokens[2 * pair + 1]
            rows[4 * n + 2] = memory.pair_count[pair]
            rows[4 * n + 3] = shard << 32 | key_of(memory, FIRST, pair)
            n += 1
        old = memory.group_old[group]
        left = memory.pair_tokens[2 * old]
        right = memory.pair_tokens[2 * old + 1]
        is_merged = left == memory.merges[2 * step] and right == memory.merges[2 * step + 1]
        if old < first and not is_merged and memory.group_loss[group] > 0:
            rows[4 * n] = left
            rows[4 * n + 1] = right
            rows[4 * n + 2] = -memory.group_loss[group]
            rows[4 * n + 3] = NONE
            n += 1
    return n


@helper
def _slot(memory: State, slots: Int32s, n_slots: int, left: int, right: int) -> int:
    """Find the slot of a pair in the table: it holds the pair's number and 1, or 0."""
    mixed = left * 1_000_003 + right * 2_000_029
    at = (mixed ^ (mixed >> 15)) & (n_slots - 1)
    while slots[at] != 0:
        pair = slots[at] - 1
        if memory.pair_tokens[2 * pair] == left and memory.pair_tokens[2 * pair + 1] == right:
            break
        at = (at + 1) & (n_slots - 1)
    return at


@helper
def _push_pairs(memory: State, rule: int, first: int) -> None:
    """Put the pairs from a number on into the heap."""
    for pair in range(first, memory.numbers[N_PAIRS]):
        if memory.pair_count[pair] >= memory.numbers[THRESHOLD]:
            push(memory, rule, memory.pair_count[pair], pair)


@kernel
def book(memory: State, rule: int, slots: Int32s, n_slots: int, rows: Int64s, n: int) -> None:
    """Add to the table what a merge has changed in all shards; for `rows` see `write_changes`."""
    first = memory.numbers[N_PAIRS]
    for i in range(n):
        left = rows[4 * i]
        right = rows[4 * i + 1]
        change = rows[4 * i + 2]
        place = rows[4 * i + 3]
        at = _slot(memory, slots, n_slots, left, right)
        if slots[at] == 0:
            memory.numbers[N_PAIRS] += 1
            slots[at] = memory.numbers[N_PAIRS]
            new = slots[at] - 1
            memory.pair_tokens[2 * new] = left
            memory.pair_tokens[2 * new + 1] = right
            memory.pair_count[new] = 0
            memory.pair_start[new] = NONE
        pair = slots[at] - 1
        set_count(memory, pair, memory.pair_count[pair] + change)
        if change < 0:
            memory.pair_start[pair] = NONE
        elif memory.pair_start[pair] == NONE or place < memory.pair_start[pair]:
            memory.pair_start[pair] = place
    _push_pairs(memory, rule, first)


@kernel
def note_places(
    memory: State, slots: Int32s, n_slots: int, pairs: Int32s, places: Int64s, n: int
) -> None:
    """Note in the table where pairs first occur, unless they no longer do."""
    for i in range(n):
        at = _slot(memory, slots, n_slots, pairs[2 * i], pairs[2 * i + 1])
        if slots[at] != 0:
            memory.pair_start[slots[at] - 1] = places[i]


@kernel
def number_anew(memory: State, rule: int, slots: Int32s, n_slots: int) -> None:
    """Put all pairs into a heap and slots that are empty."""
    for pair in range(memory.numbers[N_PAIRS]):
        left = memory.pair_tokens[2 * pair]
        slots[_slot(memory, slots, n_slots, left, memory.pair_tokens[2 * pair + 1])] = pair + 1
    _push_pairs(memory, rule, 0)


@kernel
def take_best(memory: State, rule: int) -> int:
    """Note the next merge in the history; its pair no longer occurs."""
    settle_top(memory, rule, NONE)
    merged = note_merge(memory, rule)
    set_count(memory, merged, 0)
    return merged


@helper
def _meet(memory: State, one: int, other: int) -> bool:
    """Tell whether occurrences of two pairs may overlap."""
    tokens = memory.pair_tokens
    return tokens[2 * one] == tokens[2 * other + 1] or tokens[2 * one + 1] == tokens[2 * other]


@kernel
def plan_round(
    memory: State, rule: int, min_count: int, most: int, room: int, pairs: Int32s, n_wanted: Int64s
) -> int:
    """Find the merges that are sure to come next, and the pairs whose first place is wanted.

    Args:
        memory: The table.
        rule: The rule for ties.
        min_count: The lowest count at which a pair is merged.
        most: The most merges.
        room: How many pairs fit into `pairs`: at least two more than that.
        pairs: Receives those to merge, and behind them those whose place is wanted.
        n_wanted: Receives how many these are.

    Returns:
        How many merges are sure. If that and `n_wanted` are 0, none is possible any more.
    """
    n = 0
    n_whole = 0
    is_known = True
    while n <= most and is_known and settle_top(memory, rule, NONE):
        pair = memory.heap_pair[0]
        count = memory.pair_count[pair]
        is_tied = n > 0 and memory.pair_count[pairs[n - 1]] == count
        if not is_tied:
            n_whole = n
        is_last = n > 1 and _meet(memory, pairs[n - 2], pairs[n - 2])
        for i in range(n - 1):
            is_last = is_last or _meet(memory, pairs[i], pair)
            is_last = is_last or _meet(memory, pairs[i], pairs[i + 1])
        if is_last:
            break
        remove_top(memory, rule)
        pairs[n] = pair
        if rule == PLACED and memory.pair_start[pair] == NONE:
            if settle_top(memory, rule, NONE):
                is_tied = is_tied or memory.pair_count[memory.heap_pair[0]] == count
            is_known = not is_tied
        n += is_known
    is_over = not is_known
    n_popped = n + is_over
    n_sure = n - 1
    if n == 1 and is_known and memory.numbers[N_HEAP] == 0:
        n_sure = 1  # the only pair there is
    # More of the last pairs' class may be of use to new pairs, which then come before them.
    is_cut = rule == LEXICOGRAPHIC and n > 2 and settle_top(memory, rule, NONE)
    if is_cut and memory.pair_count[memory.heap_pair[0]] == memory.pair_count[pairs[n - 1]]:
        n_sure = max(2, n_whole) - 1
    n_sure = max(0, n_sure)
    while n_sure > 0 and memory.pair_count[pairs[n_sure - 1]] < min_count:
        n_sure -= 1
    while is_over and n_popped < room and settle_top(memory, rule, NONE):
        pairs[n_popped] = memory.heap_pair[0]
        remove_top(memory, rule)
        n_popped += 1
    n_found = 0
    for i in range(n_popped):
        pair = pairs[i]
        push(memory, rule, memory.pair_count[pair], pair)
        if i >= n and memory.pair_start[pair] == NONE:
            pairs[n_sure + n_found] = pair
            n_found += 1
    n_wanted[0] = n_found
    return n_sure
