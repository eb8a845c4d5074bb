"""The compiled merge loop: the same merges as `tokviz.bpe.python_trainer`, for large corpora.

How it works. The distinct pieces lie one behind the other in `cells`, one cell per byte, with a
separator before and behind each. A token writes its id into its first and its last cell; so from
any token both neighbours are found by their lengths alone. The first cell of a token also holds
the *pair* that begins there.

A pair of tokens comes into being in one merge: the one that makes its younger token. So all its
occurrences are known then, and are stored side by side, in the order of the corpus. Later merges
only take occurrences away. From that follows:

- An occurrence is stale, for good, if its cell no longer holds the pair. Nobody cleans up.
- Counts only fall. A heap may keep an old count: what comes to the top is compared with the true
  count and sinks if that is lower.
- A pair whose count is below a threshold need not be in the heap before the threshold sinks. It is
  halved whenever the heap runs empty, so the heap stays small.
- No hash table is needed: the neighbours' old pairs stand in their cells, and the new pairs of one
  merge are told apart by the other token.

A run comes back every so often (`PAUSED`), so that progress is shown and a wish to cancel is heard,
and when an array is full (`FULL`), so that the caller makes room; then it is called again.
"""

from __future__ import annotations

import numpy as np

from tokviz.bpe.merge_state import (
    BELOW_MIN_COUNT,
    FINISHED,
    FIRST,
    FULL,
    LEXICOGRAPHIC,
    MOST_GROUPS,
    MOST_OCCURRENCES,
    MOST_PAIRS,
    N_HEAP,
    N_MERGES,
    N_OCCURRENCES,
    N_PAIRS,
    N_TOKENS,
    NONE,
    NONE_LEFT,
    PAIR,
    PAUSED,
    SMALLEST_ID,
    TALLIED,
    THRESHOLD,
    TOKEN,
    WEIGHT,
    Integer,
    Pointer,
    Pointers,
    State,
    pointers,
)
from tokviz.compiled import helper, kernel

# -- the order of pairs


@helper
def _compare_tokens(memory: Pointers, one: Integer, other: Integer) -> Integer:
    """Compare the bytes of two tokens: below zero if the first is less, above if greater."""
    if one == other:
        return 0
    text = memory.text
    a = memory.token_at[one]
    b = memory.token_at[other]
    n_one = memory.token_length[one]
    n_other = memory.token_length[other]
    for i in range(min(n_one, n_other)):
        if text[a + i] != text[b + i]:
            return np.int64(text[a + i]) - np.int64(text[b + i])
    return np.int64(n_one - n_other)


@helper
def _key(memory: Pointers, rule: Integer, pair: Integer) -> Integer:
    """Make the number by which a pair is ordered among those of the same count, lowest first."""
    if rule == FIRST:
        # Occurrences are ascending and stale ones stay stale, so the search never starts again.
        place = memory.pair_start[pair]
        while memory.cells[3 * (memory.occurrences[place]) + PAIR] != pair:
            place += 1
        memory.pair_length[pair] -= place - memory.pair_start[pair]
        memory.pair_start[pair] = place
        return np.int64(memory.occurrences[place])
    left = np.int64(memory.pair_tokens[2 * pair])
    if rule == SMALLEST_ID:
        return (left << 32) | np.int64(memory.pair_tokens[2 * pair + 1])
    # The greatest left token first: seven bytes decide nearly always, `_before` compares the rest.
    prefix = np.int64(0)
    at = memory.token_at[left]
    length = memory.token_length[left]
    for i in range(7):
        prefix <<= 8
        if i < length:
            prefix |= np.int64(memory.text[at + i])
    return -prefix


@helper
def _before(
    memory: Pointers,
    rule: Integer,
    count: Integer,
    key: Integer,
    pair: Integer,
    other_place: Integer,
) -> bool:
    """Tell whether a pair comes before the one at a place of the heap."""
    if count != memory.heap_count[other_place]:
        return bool(count > memory.heap_count[other_place])
    if key != memory.heap_key[other_place] or rule != LEXICOGRAPHIC:
        return bool(key < memory.heap_key[other_place])
    other = memory.heap_pair[other_place]
    order = _compare_tokens(memory, memory.pair_tokens[2 * pair], memory.pair_tokens[2 * other])
    if order == 0:
        order = _compare_tokens(
            memory, memory.pair_tokens[2 * pair + 1], memory.pair_tokens[2 * other + 1]
        )
    return bool(order > 0)


# -- the heap


@helper
def _place(memory: Pointers, at: Integer, count: Integer, key: Integer, pair: Integer) -> None:
    memory.heap_count[at] = count
    memory.heap_key[at] = key
    memory.heap_pair[at] = pair


@helper
def _move(memory: Pointers, source: Integer, target: Integer) -> None:
    memory.heap_count[target] = memory.heap_count[source]
    memory.heap_key[target] = memory.heap_key[source]
    memory.heap_pair[target] = memory.heap_pair[source]


@helper
def _push(memory: Pointers, rule: Integer, count: Integer, pair: Integer) -> None:
    key = _key(memory, rule, pair)
    at = memory.numbers[N_HEAP]
    memory.numbers[N_HEAP] += 1
    while at > 0:
        parent = (at - 1) >> 1
        if not _before(memory, rule, count, key, pair, parent):
            break
        _move(memory, parent, at)
        at = parent
    _place(memory, at, count, key, pair)


@helper
def _sink(memory: Pointers, rule: Integer, count: Integer, key: Integer, pair: Integer) -> None:
    """Put a pair where the top is free."""
    n_heap = memory.numbers[N_HEAP]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= n_heap:
            break
        right = child + 1
        if right < n_heap and _before(
            memory,
            rule,
            memory.heap_count[right],
            memory.heap_key[right],
            memory.heap_pair[right],
            child,
        ):
            child = right
        if _before(memory, rule, count, key, pair, child):
            break
        _move(memory, child, at)
        at = child
    _place(memory, at, count, key, pair)


@helper
def _remove_top(memory: Pointers, rule: Integer) -> None:
    memory.numbers[N_HEAP] -= 1
    last = memory.numbers[N_HEAP]
    if last > 0:
        _sink(memory, rule, memory.heap_count[last], memory.heap_key[last], memory.heap_pair[last])


@helper
def _settle_top(memory: Pointers, rule: Integer, but: Integer) -> bool:
    """Bring the best pair to the top of the heap with its true count; False if none is left.

    Args:
        memory: The state.
        rule: The tie-break rule.
        but: A pair that stays out of the heap; NONE if all may be in it.
    """
    numbers = memory.numbers
    while True:
        while numbers[N_HEAP] > 0:
            pair = memory.heap_pair[0]
            count = memory.pair_count[pair]
            if count == memory.heap_count[0]:
                return True
            if count >= numbers[THRESHOLD]:
                _sink(memory, rule, count, _key(memory, rule, pair), pair)
            else:
                _remove_top(memory, rule)
        if numbers[THRESHOLD] <= 1:
            return False
        ceiling = numbers[THRESHOLD]
        numbers[THRESHOLD] = max(1, ceiling // 2)
        for pair in range(numbers[N_PAIRS]):
            count = memory.pair_count[pair]
            if numbers[THRESHOLD] <= count < ceiling and pair != but:
                _push(memory, rule, count, pair)


@helper
def _n_tied(memory: Pointers, count: Integer) -> Integer:
    """Count the pairs with the highest count, of which one is no longer in the heap."""
    if count < TALLIED:
        return np.int64(memory.tally[count])
    n = 1
    for at in range(memory.numbers[N_HEAP]):
        n += memory.pair_count[memory.heap_pair[at]] == count
    return n


# -- one merge


@helper
def _join_group(
    memory: Pointers,
    group_of: Pointer,
    token: Integer,
    left: Integer,
    right: Integer,
    old: Integer,
    n_groups: Integer,
) -> Integer:
    """Find the group of a token in the merge under way, or open the next one."""
    group = np.int64(group_of[token])
    if group != NONE:
        return group
    group_of[token] = n_groups
    pair = memory.numbers[N_PAIRS] + n_groups
    memory.pair_count[pair] = 0
    memory.pair_length[pair] = 0
    memory.pair_tokens[2 * pair] = left
    memory.pair_tokens[2 * pair + 1] = right
    memory.group_old[n_groups] = old
    memory.group_loss[n_groups] = 0
    return n_groups


@helper
def _merge_occurrences(memory: Pointers, merged: Integer, new: Integer) -> tuple[Integer, Integer]:
    """Join every occurrence of a pair to the new token.

    Occurrences are met from left to right, so of overlapping ones ("aaa") the left is joined. To
    the left of an occurrence there may stand a new token already, to the right never.

    Returns:
        The number of groups (new pairs) and of their occurrences in `fresh`.
    """
    cells = memory.cells
    first_pair = memory.numbers[N_PAIRS]
    a = np.int64(memory.pair_tokens[2 * merged])
    b = np.int64(memory.pair_tokens[2 * merged + 1])
    n_groups: Integer = 0
    n_fresh = 0
    n_joined: Integer = 0
    start = memory.pair_start[merged]
    for place in range(start, start + memory.pair_length[merged]):
        at = np.int64(memory.occurrences[place])
        if cells[3 * at + PAIR] != merged:
            continue
        middle = at + memory.token_length[a]
        end = middle + memory.token_length[b]
        weight = np.int64(cells[3 * at + WEIGHT])
        if weight < 0:
            weight = memory.large[-1 - weight]
        n_joined += weight
        before = np.int64(cells[3 * (at - 1) + TOKEN])
        behind = np.int64(cells[3 * end + TOKEN])
        old_behind = np.int64(cells[3 * middle + PAIR])
        cells[3 * middle + PAIR] = -1
        cells[3 * at + TOKEN] = new
        cells[3 * (end - 1) + TOKEN] = new
        if before >= 0:
            neighbour = at - memory.token_length[before]
            old = np.int64(cells[3 * neighbour + PAIR])
            group = _join_group(memory, memory.left_group, before, before, new, old, n_groups)
            n_groups = max(n_groups, group + 1)
            if before == new:
                memory.pair_count[old] -= weight
            else:
                memory.group_loss[group] += weight
            memory.pair_count[first_pair + group] += weight
            memory.pair_length[first_pair + group] += 1
            cells[3 * neighbour + PAIR] = first_pair + group
            memory.fresh[2 * n_fresh] = neighbour
            memory.fresh[2 * n_fresh + 1] = group
            n_fresh += 1
        if behind >= 0:
            group = _join_group(
                memory, memory.right_group, behind, new, behind, old_behind, n_groups
            )
            n_groups = max(n_groups, group + 1)
            memory.group_loss[group] += weight
            memory.pair_count[first_pair + group] += weight
            memory.pair_length[first_pair + group] += 1
            cells[3 * at + PAIR] = first_pair + group
            memory.fresh[2 * n_fresh] = at
            memory.fresh[2 * n_fresh + 1] = group
            n_fresh += 1
        else:
            cells[3 * at + PAIR] = -1
    memory.numbers[N_TOKENS] -= n_joined
    return n_groups, n_fresh


@helper
def _set_count(memory: Pointers, pair: Integer, count: Integer) -> None:
    before = memory.pair_count[pair]
    if before < TALLIED:
        memory.tally[before] -= 1
    if count < TALLIED:
        memory.tally[count] += 1
    memory.pair_count[pair] = count


@helper
def _settle_groups(
    memory: Pointers,
    rule: Integer,
    merged: Integer,
    new: Integer,
    n_groups: Integer,
    n_fresh: Integer,
) -> None:
    """Make pairs of the groups of a merge: store their occurrences, correct all counts."""
    numbers = memory.numbers
    first_pair = numbers[N_PAIRS]
    for group in range(n_groups):
        pair = first_pair + group
        memory.pair_start[pair] = numbers[N_OCCURRENCES]
        numbers[N_OCCURRENCES] += memory.pair_length[pair]
        memory.pair_length[pair] = 0
        left = memory.pair_tokens[2 * pair]
        right = memory.pair_tokens[2 * pair + 1]
        if right == new:
            memory.left_group[left] = NONE
        if left == new:
            memory.right_group[right] = NONE
        old = memory.group_old[group]
        # What the merged pair loses to itself ("aaa") is gone with it; and of pairs of two new
        # tokens the loser is a group of this merge and has been counted down already.
        if old != merged and old < first_pair:
            _set_count(memory, old, memory.pair_count[old] - memory.group_loss[group])
    for i in range(n_fresh):
        pair = first_pair + memory.fresh[2 * i + 1]
        memory.occurrences[memory.pair_start[pair] + memory.pair_length[pair]] = memory.fresh[2 * i]
        memory.pair_length[pair] += 1
    _set_count(memory, merged, 0)
    numbers[N_PAIRS] += n_groups
    for pair in range(first_pair, first_pair + n_groups):
        count = memory.pair_count[pair]
        if count < TALLIED:
            memory.tally[count] += 1
        if count >= numbers[THRESHOLD]:
            _push(memory, rule, count, pair)


@helper
def _has_room(memory: Pointers, pair: Integer) -> bool:
    n_fresh = 2 * np.int64(memory.pair_length[pair])
    n_groups = min(n_fresh, memory.numbers[MOST_GROUPS])
    if memory.numbers[N_PAIRS] + n_groups > memory.numbers[MOST_PAIRS]:
        return False
    return bool(memory.numbers[N_OCCURRENCES] + n_fresh <= memory.numbers[MOST_OCCURRENCES])


@kernel
def run_merges(
    state: State, rule: Integer, n_merges: Integer, min_count: Integer, budget: Integer
) -> Integer:
    """Merge until all is done, room is wanted, or about `budget` occurrences were looked at."""
    memory = pointers(state)
    numbers = memory.numbers
    while numbers[N_MERGES] < n_merges:
        if budget <= 0:
            return PAUSED
        if not _settle_top(memory, rule, NONE):
            return NONE_LEFT
        merged = np.int64(memory.heap_pair[0])
        count = memory.pair_count[merged]
        if count < min_count:
            return BELOW_MIN_COUNT
        if not _has_room(memory, merged):
            return FULL
        _remove_top(memory, rule)
        step = numbers[N_MERGES]
        memory.runner_up[2 * step] = NONE
        memory.runner_up[2 * step + 1] = NONE
        memory.runner_up_count[step] = 0
        memory.merge_tied[step] = 1
        if _settle_top(memory, rule, merged):
            second = memory.heap_pair[0]
            memory.runner_up[2 * step] = memory.pair_tokens[2 * second]
            memory.runner_up[2 * step + 1] = memory.pair_tokens[2 * second + 1]
            memory.runner_up_count[step] = memory.pair_count[second]
            if memory.pair_count[second] == count:
                memory.merge_tied[step] = _n_tied(memory, count)
        a = memory.pair_tokens[2 * merged]
        b = memory.pair_tokens[2 * merged + 1]
        new = 256 + step
        memory.merges[2 * step] = a
        memory.merges[2 * step + 1] = b
        memory.merge_count[step] = count
        memory.token_length[new] = memory.token_length[a] + memory.token_length[b]
        budget -= 64 + np.int64(memory.pair_length[merged])
        n_groups, n_fresh = _merge_occurrences(memory, merged, new)
        if rule == LEXICOGRAPHIC:
            _find_text(memory, merged, new)
        _settle_groups(memory, rule, merged, new, n_groups, n_fresh)
        memory.tokens_left[step] = numbers[N_TOKENS]
        numbers[N_MERGES] += 1
    return FINISHED


@helper
def _find_text(memory: Pointers, merged: Integer, new: Integer) -> None:
    """Note a position where a new token's bytes stand: its first occurrence."""
    place = memory.pair_start[merged]
    while memory.cells[3 * (memory.occurrences[place]) + TOKEN] != new:
        place += 1
    memory.token_at[new] = memory.occurrences[place]


@kernel
def compact(state: State, rule: Integer) -> None:
    """Throw away pairs that no longer occur and stale occurrences; number the rest anew.

    Pairs keep their order and their occurrences lie in that order, so everything moves towards
    the front, and a new number is never higher than the old one.
    """
    memory = pointers(state)
    numbers = memory.numbers
    n_pairs = 0
    n_occurrences = 0
    for pair in range(numbers[N_PAIRS]):
        if memory.pair_count[pair] == 0:
            continue
        start = memory.pair_start[pair]
        length = memory.pair_length[pair]
        memory.pair_start[n_pairs] = n_occurrences
        for place in range(start, start + length):
            at = memory.occurrences[place]
            if memory.cells[3 * at + PAIR] == pair:
                memory.cells[3 * at + PAIR] = n_pairs
                memory.occurrences[n_occurrences] = at
                n_occurrences += 1
        memory.pair_count[n_pairs] = memory.pair_count[pair]
        memory.pair_length[n_pairs] = n_occurrences - memory.pair_start[n_pairs]
        memory.pair_tokens[2 * n_pairs] = memory.pair_tokens[2 * pair]
        memory.pair_tokens[2 * n_pairs + 1] = memory.pair_tokens[2 * pair + 1]
        n_pairs += 1
    numbers[N_PAIRS] = n_pairs
    numbers[N_OCCURRENCES] = n_occurrences
    numbers[N_HEAP] = 0
    for pair in range(n_pairs):
        if memory.pair_count[pair] >= numbers[THRESHOLD]:
            _push(memory, rule, memory.pair_count[pair], pair)
