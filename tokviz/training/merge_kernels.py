"""The compiled merge loop: the same merges as `tokviz.training.python_trainer`, for large corpora.

The distinct pre-tokens are concatenated in `cells`, one cell per byte, with a separator before and
after each. The first and the last cell of a token contain its id, so the neighbours of a token are
found from the lengths of tokens alone. The first cell of a token also contains the *pair* that
starts there.

A single merge creates all occurrences of a pair: the merge that creates the newer of its two
tokens. They are stored together, in the order of the corpus; later merges only remove occurrences.
Therefore:

- An occurrence is stale, permanently, if its cell no longer contains the pair. Stale occurrences
  stay in the list.
- Counts only fall. The heap may contain old counts: the top entry is compared with the current
  count and sinks if that is lower.
- A pair whose count is below a threshold need not be in the heap yet. The threshold is halved
  whenever the heap is empty, so the heap stays small.
- No hash table is needed: the cells of the neighbours contain their old pairs, and the new pairs of
  a merge differ in their other token.

`run_merges` returns regularly (`PAUSED`), so that the caller can report progress and cancel, and
when an array is full (`FULL`), so that the caller can enlarge it; then the caller calls it again.
"""

from __future__ import annotations

from tokviz.kernels import Int32s, Int64s, helper, kernel, prefetch
from tokviz.training.heap_kernels import push, record_merge, settle_top
from tokviz.training.merge_state import (
    BELOW_MIN_COUNT,
    FINISHED,
    FULL,
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
    TALLIED,
    THRESHOLD,
    TOKEN,
    WEIGHT,
    State,
)
from tokviz.training.ties import LEXICOGRAPHIC

_AHEAD = 12
"""How many occurrences ahead cells are prefetched."""

_BEFORE, _AFTER = 6, 10
"""Prefetched items before and after the first one of an occurrence, for its neighbours."""


@helper
def _join_group(
    memory: State,
    group_of: Int32s,
    token: int,
    left: int,
    right: int,
    old: int,
    n_groups: int,
) -> int:
    """Return the group of a token in the current merge; create it if necessary."""
    group = group_of[token]
    if group != NONE:
        return group
    group_of[token] = n_groups
    pair = memory.numbers[N_PAIRS] + n_groups
    memory.pair_count[pair] = 0
    memory.pair_length[pair] = 0
    memory.pair_tokens[2 * pair] = left
    memory.pair_tokens[2 * pair + 1] = right
    memory.group_old[n_groups] = old
    prefetch(memory.pair_count, old)
    memory.group_loss[n_groups] = 0
    return n_groups


@helper
def _merge_occurrences(memory: State, merged: int, new: int) -> tuple[int, int]:
    """Replace every occurrence of a pair by the new token.

    Occurrences are visited from left to right, so the left one of overlapping occurrences ("aaa")
    is replaced. The token to the left may already be a new one, the token to the right never is.

    Returns:
        The number of groups (new pairs) and of their occurrences in `fresh`.
    """
    cells = memory.cells
    first_pair = memory.numbers[N_PAIRS]
    a = memory.pair_tokens[2 * merged]
    b = memory.pair_tokens[2 * merged + 1]
    n_groups: int = 0
    n_fresh = 0
    n_joined: int = 0
    start = memory.pair_start[merged]
    last = start + memory.pair_length[merged] - 1
    for place in range(start, last + 1):
        ahead = 3 * memory.occurrences[min(place + _AHEAD, last)]
        prefetch(cells, ahead - _BEFORE)
        prefetch(cells, ahead + _AFTER)
        at = memory.occurrences[place]
        if cells[3 * at + PAIR] != merged:
            continue
        middle = at + memory.token_length[a]
        end = middle + memory.token_length[b]
        weight = cells[3 * at + WEIGHT]
        if weight < 0:
            weight = memory.large[-1 - weight]
        n_joined += weight
        before = cells[3 * (at - 1) + TOKEN]
        after = cells[3 * end + TOKEN]
        old_after = cells[3 * middle + PAIR]
        cells[3 * middle + PAIR] = -1
        cells[3 * at + TOKEN] = new
        cells[3 * (end - 1) + TOKEN] = new
        if before >= 0:
            neighbour = at - memory.token_length[before]
            old = cells[3 * neighbour + PAIR]
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
        if after >= 0:
            group = _join_group(memory, memory.right_group, after, new, after, old_after, n_groups)
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
def _set_count(memory: State, pair: int, count: int) -> None:
    """Set the count of a pair."""
    before = memory.pair_count[pair]
    if before < TALLIED:
        memory.tally[before] -= 1
    if count < TALLIED:
        memory.tally[count] += 1
    memory.pair_count[pair] = count


@helper
def _settle_groups(
    memory: State,
    rule: int,
    merged: int,
    new: int,
    n_groups: int,
    n_fresh: int,
) -> None:
    """Convert the groups of a merge to pairs: store their occurrences, and update all counts."""
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
        # The merged pair, which may overlap itself ("aaa"), is set to zero below. For a pair of
        # two new tokens, the old pair is a group of this merge, whose count is already correct.
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
            push(memory, rule, count, pair)


@helper
def _has_room(memory: State, pair: int) -> bool:
    """Return whether the arrays have room for the results of merging a pair."""
    n_fresh = 2 * memory.pair_length[pair]
    n_groups = min(n_fresh, memory.numbers[MOST_GROUPS])
    if memory.numbers[N_PAIRS] + n_groups > memory.numbers[MOST_PAIRS]:
        return False
    return memory.numbers[N_OCCURRENCES] + n_fresh <= memory.numbers[MOST_OCCURRENCES]


@kernel
def run_merges(memory: State, rule: int, n_merges: int, min_count: int, budget: int) -> int:
    """Merge until the goal is reached, an array is full, or `budget` occurrences were visited."""
    numbers = memory.numbers
    while numbers[N_MERGES] < n_merges:
        if budget <= 0:
            return PAUSED
        if not settle_top(memory, rule, NONE):
            return NONE_LEFT
        merged = memory.heap_pair[0]
        if memory.pair_count[merged] < min_count:
            return BELOW_MIN_COUNT
        if not _has_room(memory, merged):
            return FULL
        record_merge(memory, rule)
        new = 256 + numbers[N_MERGES]
        budget -= 64 + memory.pair_length[merged]
        n_groups, n_fresh = _merge_occurrences(memory, merged, new)
        if rule == LEXICOGRAPHIC:
            _find_text(memory, merged, new)
        _settle_groups(memory, rule, merged, new, n_groups, n_fresh)
        memory.tokens_left[new - 256] = numbers[N_TOKENS]
        numbers[N_MERGES] += 1
    return FINISHED


@helper
def _find_text(memory: State, merged: int, new: int) -> None:
    """Record a position of a new token's bytes: its first occurrence."""
    place = memory.pair_start[merged]
    while memory.cells[3 * memory.occurrences[place] + TOKEN] != new:
        place += 1
    memory.token_at[new] = memory.occurrences[place]


@kernel
def compact(memory: State, rule: int) -> None:
    """Remove pairs that no longer occur and stale occurrences, and renumber the other pairs.

    Pairs keep their order, which is also the order of their occurrences. So all items move towards
    the front, and a new number is never higher than the old one.
    """
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
            push(memory, rule, memory.pair_count[pair], pair)


@kernel
def find_cells(offsets: Int64s, n_pre_tokens: int, places: Int32s) -> None:
    """Find the first cell of every pre-token; 0, which is empty, for those without cells.

    Args:
        offsets: The start of each pre-token, then the end of the last one.
        n_pre_tokens: Number of pre-tokens.
        places: Receives the cells.
    """
    at = 1
    for pre_token in range(n_pre_tokens):
        length = offsets[pre_token + 1] - offsets[pre_token]
        places[pre_token] = 0
        if length > 1:
            places[pre_token] = at
            at += length + 1


@kernel
def count_tokens(
    memory: State, places: Int32s, pre_tokens: Int32s, times: Int64s, n: int, uses: Int64s
) -> None:
    """Count the tokens of some of the pre-tokens.

    Args:
        memory: The pre-tokens with their tokens.
        places: From `find_cells`.
        pre_tokens: The indexes of the pre-tokens.
        times: Number of occurrences of each.
        n: Number of pre-tokens.
        uses: Number of occurrences by token; increased.
    """
    for i in range(n):
        at = places[pre_tokens[i]]
        while memory.cells[3 * at + TOKEN] != NONE:
            token = memory.cells[3 * at + TOKEN]
            uses[token] += times[i]
            at += memory.token_length[token]


@kernel
def count_merges(memory: State, uses: Int64s, merges: Int32s) -> int:
    """Compute how often each merge was applied from the number of tokens after the last merge.

    Each occurrence of a token was made from one occurrence of each of its two parts.

    Args:
        memory: The state after the merges.
        uses: Number of occurrences by token; receives the counts of the merges that were applied.
        merges: Receives the indexes of these merges.

    Returns:
        The number of these merges.
    """
    for merge in range(memory.numbers[N_MERGES] - 1, -1, -1):
        for part in range(2):
            uses[memory.merges[2 * merge + part]] += uses[256 + merge]
    n_found = 0
    for merge in range(memory.numbers[N_MERGES]):
        if uses[256 + merge] != 0:
            merges[n_found] = merge
            uses[n_found] = uses[256 + merge]
            n_found += 1
    return n_found
