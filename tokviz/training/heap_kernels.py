"""The heap of pairs in the compiled merge loop, which selects the next merge.

The heap may contain old counts, because counts only fall, and contains only pairs whose count
reaches a threshold; see `tokviz.training.merge_kernels`.
"""

from __future__ import annotations

from tokviz.kernels import helper, integer
from tokviz.training.merge_state import (
    N_HEAP,
    N_MERGES,
    N_PAIRS,
    NONE,
    PAIR,
    TALLIED,
    THRESHOLD,
    State,
)
from tokviz.training.ties import FIRST, LEXICOGRAPHIC, SMALLEST_ID


@helper
def _compare_tokens(memory: State, token: int, other: int) -> int:
    """Compare the bytes of two tokens: negative if the first is less, positive if it is greater."""
    if token == other:
        return 0
    text = memory.text
    a = memory.token_at[token]
    b = memory.token_at[other]
    n_token = memory.token_length[token]
    n_other = memory.token_length[other]
    for i in range(min(n_token, n_other)):
        if text[a + i] != text[b + i]:
            return integer(text[a + i]) - integer(text[b + i])
    return n_token - n_other


@helper
def _key_of(memory: State, rule: int, pair: int) -> int:
    """Return the sort key of a pair among pairs with the same count; the lowest comes first."""
    if rule == FIRST:
        # Occurrences are ascending and stale ones stay stale, so the search never starts again.
        place = memory.pair_start[pair]
        while memory.cells[3 * memory.occurrences[place] + PAIR] != pair:
            place += 1
        memory.pair_length[pair] -= place - memory.pair_start[pair]
        memory.pair_start[pair] = place
        return memory.occurrences[place]
    left = memory.pair_tokens[2 * pair]
    if rule == SMALLEST_ID:
        return (left << 32) | memory.pair_tokens[2 * pair + 1]
    # The greatest left token first: seven bytes nearly always decide, `_before` compares the rest.
    prefix = 0
    at = memory.token_at[left]
    length = memory.token_length[left]
    for i in range(7):
        prefix <<= 8
        if i < length:
            prefix |= integer(memory.text[at + i])
    return -prefix


@helper
def _before(
    memory: State,
    rule: int,
    count: int,
    key: int,
    pair: int,
    other_place: int,
) -> bool:
    """Return whether a pair comes before the one at an index of the heap."""
    if count != memory.heap_count[other_place]:
        return count > memory.heap_count[other_place]
    if key != memory.heap_key[other_place] or rule != LEXICOGRAPHIC:
        return key < memory.heap_key[other_place]
    other = memory.heap_pair[other_place]
    order = _compare_tokens(memory, memory.pair_tokens[2 * pair], memory.pair_tokens[2 * other])
    if order == 0:
        order = _compare_tokens(
            memory, memory.pair_tokens[2 * pair + 1], memory.pair_tokens[2 * other + 1]
        )
    return order > 0


@helper
def _set_entry(memory: State, at: int, count: int, key: int, pair: int) -> None:
    memory.heap_count[at] = count
    memory.heap_key[at] = key
    memory.heap_pair[at] = pair


@helper
def _move_entry(memory: State, source: int, target: int) -> None:
    memory.heap_count[target] = memory.heap_count[source]
    memory.heap_key[target] = memory.heap_key[source]
    memory.heap_pair[target] = memory.heap_pair[source]


@helper
def push(memory: State, rule: int, count: int, pair: int) -> None:
    """Add a pair to the heap."""
    key = _key_of(memory, rule, pair)
    at = memory.numbers[N_HEAP]
    memory.numbers[N_HEAP] += 1
    while at > 0:
        parent = (at - 1) >> 1
        if not _before(memory, rule, count, key, pair, parent):
            break
        _move_entry(memory, parent, at)
        at = parent
    _set_entry(memory, at, count, key, pair)


@helper
def _sink(memory: State, rule: int, count: int, key: int, pair: int) -> None:
    """Insert a pair from the top, whose entry is free."""
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
        _move_entry(memory, child, at)
        at = child
    _set_entry(memory, at, count, key, pair)


@helper
def _remove_top(memory: State, rule: int) -> None:
    """Remove the best pair from the heap."""
    memory.numbers[N_HEAP] -= 1
    last = memory.numbers[N_HEAP]
    if last > 0:
        _sink(memory, rule, memory.heap_count[last], memory.heap_key[last], memory.heap_pair[last])


@helper
def settle_top(memory: State, rule: int, excluded: int) -> bool:
    """Move the best pair to the top of the heap with its current count; False if none is left.

    Args:
        memory: The state.
        rule: The tie-breaking rule.
        excluded: A pair to leave out of the heap; NONE if there is none.
    """
    numbers = memory.numbers
    while True:
        while numbers[N_HEAP] > 0:
            pair = memory.heap_pair[0]
            count = memory.pair_count[pair]
            if count == memory.heap_count[0]:
                return True
            if count >= numbers[THRESHOLD]:
                _sink(memory, rule, count, _key_of(memory, rule, pair), pair)
            else:
                _remove_top(memory, rule)
        if numbers[THRESHOLD] <= 1:
            return False
        ceiling = numbers[THRESHOLD]
        numbers[THRESHOLD] = max(1, ceiling // 2)
        for pair in range(numbers[N_PAIRS]):
            count = memory.pair_count[pair]
            if numbers[THRESHOLD] <= count < ceiling and pair != excluded:
                push(memory, rule, count, pair)


@helper
def _n_tied(memory: State, count: int) -> int:
    """Count the pairs with the highest count, one of which is no longer in the heap."""
    if count < TALLIED:
        return memory.tally[count]
    n = 1
    for at in range(memory.numbers[N_HEAP]):
        n += memory.pair_count[memory.heap_pair[at]] == count
    return n


@helper
def record_merge(memory: State, rule: int) -> None:
    """Remove the best pair from the heap, and record the merge with its ties and runner-up."""
    merged = memory.heap_pair[0]
    left = memory.pair_tokens[2 * merged]
    right = memory.pair_tokens[2 * merged + 1]
    count = memory.pair_count[merged]
    step = memory.numbers[N_MERGES]
    _remove_top(memory, rule)
    memory.runner_up[2 * step] = NONE
    memory.runner_up[2 * step + 1] = NONE
    memory.runner_up_count[step] = 0
    memory.merge_tied[step] = 1
    if settle_top(memory, rule, merged):
        second = memory.heap_pair[0]
        memory.runner_up[2 * step] = memory.pair_tokens[2 * second]
        memory.runner_up[2 * step + 1] = memory.pair_tokens[2 * second + 1]
        memory.runner_up_count[step] = memory.pair_count[second]
        if memory.pair_count[second] == count:
            memory.merge_tied[step] = _n_tied(memory, count)
    memory.merge_count[step] = count
    memory.merges[2 * step] = left
    memory.merges[2 * step + 1] = right
    memory.token_length[256 + step] = memory.token_length[left] + memory.token_length[right]
