"""Compiled loops that count the pairs of a corpus after k merges; see `table` for tables.

A table of pairs has three columns: the pair, its count, and the byte at which the right token of
its first occurrence starts. After merges are applied or undone one by one, the first occurrence may
be after that byte, but never before it.
"""

from __future__ import annotations

from typing import NamedTuple

from tokviz.kernels import Bytes, Int32s, Int64s, helper, integer, kernel, prefetch
from tokviz.training.replay.table import FREE, first_slot, pair_of, row_of

COUNT, FIRST, N_COLUMNS = 1, 2, 3

AHEAD = 32
"""Number of pairs between fetching a slot and counting its pair; a power of two."""

K, N_PAIRS, N_NUMBERS = 0, 1, 2
"""The indexes of `PairCounts.numbers`."""


class Times(NamedTuple):
    """A corpus with its join times.

    Attributes:
        data: The bytes of all pre-tokens.
        offsets: The start of each pre-token, and the end of the last.
        counts: The occurrences of each pre-token.
        pre_token_of: By byte of `data`, its pre-token.
        joined: By byte, the number of the merge that joins it to the byte before.
    """

    data: Bytes
    offsets: Int64s
    counts: Int64s
    pre_token_of: Int32s
    joined: Int32s


class PairCounts(NamedTuple):
    """Counts of pairs.

    Attributes:
        table: A table of pairs.
        numbers: The number of merges applied, and of pairs in the table.
    """

    table: Int64s
    numbers: Int64s


@helper
def _add(counts: PairCounts, n_slots: int, left: int, right: int, change: int, place: int) -> None:
    """Change the count of a pair that occurs at `place`."""
    _add_pair(counts, n_slots, pair_of(left, right), change, place)


@helper
def _add_pair(counts: PairCounts, n_slots: int, pair: int, change: int, place: int) -> None:
    row = row_of(counts.table, n_slots, N_COLUMNS, pair)
    if counts.table[row + COUNT] == 0 or place < counts.table[row + FIRST]:
        counts.table[row + FIRST] = place
    counts.table[row + COUNT] += change
    if counts.table[row] == FREE:
        counts.table[row] = pair
        counts.numbers[N_PAIRS] += 1


@kernel
def count_pairs(
    times: Times,
    n_pre_tokens: int,
    k: int,
    counts: PairCounts,
    n_slots: int,
    waiting: Int64s,
) -> int:
    """Count all pairs after k merges.

    Args:
        times: The corpus.
        n_pre_tokens: Number of pre-tokens.
        k: Number of merges.
        counts: Receives the counts.
        n_slots: Number of slots of the table.
        waiting: Shape (AHEAD, 3), for pairs that wait until their slots have been fetched.

    Returns:
        1; 0 if the table is too small and the counts are invalid.
    """
    for slot in range(n_slots):
        counts.table[N_COLUMNS * slot] = FREE
        counts.table[N_COLUMNS * slot + COUNT] = 0
        counts.table[N_COLUMNS * slot + FIRST] = 0
    counts.numbers[N_PAIRS] = 0
    n_met = 0
    for pre_token in range(n_pre_tokens):
        end = times.offsets[pre_token + 1]
        start = times.offsets[pre_token]
        latest = 0
        before = -1
        count = times.counts[pre_token]
        for at in range(start + 1, end + 1):
            if at < end and times.joined[at] <= k:
                latest = max(latest, integer(times.joined[at]))
                continue
            token = 255 + latest if latest else integer(times.data[start])
            if before >= 0:
                at_waiting = 3 * (n_met & (AHEAD - 1))
                if n_met >= AHEAD and not _has_room_for(counts, n_slots, waiting, at_waiting):
                    return 0
                pair = pair_of(before, token)
                waiting[at_waiting] = pair
                waiting[at_waiting + 1] = count
                waiting[at_waiting + 2] = start
                prefetch(counts.table, N_COLUMNS * first_slot(n_slots, pair))
                n_met += 1
            before = token
            start = at
            latest = 0
    for number in range(max(n_met - AHEAD, 0), n_met):
        if not _has_room_for(counts, n_slots, waiting, 3 * (number & (AHEAD - 1))):
            return 0
    counts.numbers[K] = k
    return 1


@helper
def _has_room_for(counts: PairCounts, n_slots: int, waiting: Int64s, at: int) -> int:
    """Count a waiting pair; return 0 if the table is then more than half full."""
    _add_pair(counts, n_slots, waiting[at], waiting[at + 1], waiting[at + 2])
    return int(2 * counts.numbers[N_PAIRS] <= n_slots)


@helper
def _token_before(times: Times, k: int, place: int) -> int:
    """Return the token that ends before a byte at which another token starts."""
    latest = 0
    at = place - 1
    while times.joined[at] <= k:
        latest = max(latest, integer(times.joined[at]))
        at -= 1
    return 255 + latest if latest else integer(times.data[at])


@helper
def _token_at(times: Times, k: int, start: int, end: int) -> int:
    """Return the token that starts at a byte, in a pre-token with the given end."""
    latest = 0
    at = start + 1
    while at < end and times.joined[at] <= k:
        latest = max(latest, integer(times.joined[at]))
        at += 1
    return 255 + latest if latest else integer(times.data[start])


@helper
def _swap(
    times: Times, counts: PairCounts, n_slots: int, number: int, place: int, end: int, change: int
) -> None:
    """Replace the pair at `place` before a merge by the pair after it, in the counts."""
    left = _token_before(times, number - 1, place)
    right = _token_at(times, number - 1, place, end)
    _add(counts, n_slots, left, right, -change, place)
    left = _token_before(times, number, place)
    right = _token_at(times, number, place, end)
    _add(counts, n_slots, left, right, change, place)


@helper
def _step(
    times: Times,
    counts: PairCounts,
    n_slots: int,
    places: Int32s,
    first: int,
    last: int,
    number: int,
    sign: int,
) -> None:
    """Apply or undo a merge: only pairs at and next to the places that it joins change."""
    done = -1
    for index in range(first, last):
        place = integer(places[index])
        pre_token = integer(times.pre_token_of[place])
        change = sign * times.counts[pre_token]
        start = times.offsets[pre_token]
        end = times.offsets[pre_token + 1]
        left = _token_before(times, number - 1, place)
        right = _token_at(times, number - 1, place, end)
        _add(counts, n_slots, left, right, -change, place)
        edge = place - 1
        while edge > start and times.joined[edge] <= number:
            edge -= 1
        if edge > start and edge != done:
            _swap(times, counts, n_slots, number, edge, end, change)
        edge = place + 1
        while edge < end and times.joined[edge] <= number:
            edge += 1
        if edge < end:
            _swap(times, counts, n_slots, number, edge, end, change)
        done = edge


@kernel
def walk(
    times: Times, counts: PairCounts, n_slots: int, starts: Int64s, places: Int32s, k: int
) -> None:
    """Apply or undo merges until k are applied or the table has no room for the next one.

    Args:
        times: The corpus.
        counts: The counts after some merges.
        n_slots: Number of slots of the table.
        starts: By merge number, the start of its bytes in `places`; and the end of the last.
        places: The bytes that the merges join to the byte before, ascending within each merge.
        k: The wanted number of merges.
    """
    while counts.numbers[K] != k:
        forward = k > counts.numbers[K]
        number = counts.numbers[K] + 1 if forward else counts.numbers[K]
        first = starts[number]
        last = starts[number + 1]
        if 8 * (counts.numbers[N_PAIRS] + 3 * (last - first)) > 5 * n_slots:
            return
        _step(times, counts, n_slots, places, first, last, number, 1 if forward else -1)
        counts.numbers[K] += 1 if forward else -1


@kernel
def nth_highest_count(table: Int64s, n_slots: int, n: int, best: Int64s) -> int:
    """Return the n-th highest count in a table; 1 if fewer than n are greater.

    Args:
        table: A table of pairs.
        n_slots: Number of slots of the table.
        n: Rank of the wanted count.
        best: Scratch memory for n counts.
    """
    for at in range(n):
        best[at] = 1
    for slot in range(n_slots):
        count = table[N_COLUMNS * slot + COUNT]
        if count > best[0]:
            at = 0
            while at + 1 < n and best[at + 1] < count:
                best[at] = best[at + 1]
                at += 1
            best[at] = count
    return best[0]


@kernel
def slots_from(table: Int64s, n_slots: int, least: int, slots: Int64s, room: int) -> int:
    """Find the pairs that occur at least `least` times.

    Args:
        table: A table of pairs.
        n_slots: Number of slots of the table.
        least: The lowest count.
        slots: Receives the slots of the first `room` such pairs.
        room: Length of `slots`.

    Returns:
        The number of such pairs.
    """
    n_found = 0
    for slot in range(n_slots):
        if table[N_COLUMNS * slot + COUNT] >= least:
            if n_found < room:
                slots[n_found] = slot
            n_found += 1
    return n_found


@kernel
def slot_of(table: Int64s, n_slots: int, left: int, right: int) -> int:
    """Return the slot of a pair, or the free slot where it belongs."""
    return row_of(table, n_slots, N_COLUMNS, pair_of(left, right)) // N_COLUMNS


@kernel
def settle_first(
    times: Times,
    n_pre_tokens: int,
    k: int,
    table: Int64s,
    n_slots: int,
    slots: Int64s,
    n_wanted: int,
    is_left: Bytes,
) -> None:
    """Correct the first occurrences of pairs.

    The pre-tokens are searched from the first outdated position on, for all outdated pairs in one
    pass. During the search, the counts of these pairs are complemented in the table.

    Args:
        times: The corpus.
        n_pre_tokens: Number of pre-tokens.
        k: Number of merges.
        table: A table of pairs.
        n_slots: Number of slots of the table.
        slots: The slots of the pairs, all of which occur.
        n_wanted: Number of pairs.
        is_left: By token, all 0: receives 1 for the left token of an outdated pair.
    """
    n_missing = 0
    place = times.offsets[n_pre_tokens]
    for index in range(n_wanted):
        row = N_COLUMNS * slots[index]
        first = table[row + FIRST]
        end = times.offsets[times.pre_token_of[first] + 1]
        if times.joined[first] > k:
            left = _token_before(times, k, first)
            if pair_of(left, _token_at(times, k, first, end)) == table[row]:
                continue
        table[row + COUNT] = ~table[row + COUNT]
        is_left[table[row] >> 32] = 1
        n_missing += 1
        place = min(place, first)
    pre_token = integer(times.pre_token_of[place]) if n_missing else 0
    while n_missing and pre_token < n_pre_tokens:
        end = times.offsets[pre_token + 1]
        start = times.offsets[pre_token]
        latest = 0
        before = -1
        for at in range(start + 1, end + 1):
            if at < end and times.joined[at] <= k:
                latest = max(latest, integer(times.joined[at]))
                continue
            token = 255 + latest if latest else integer(times.data[start])
            if before >= 0 and is_left[before]:
                row = row_of(table, n_slots, N_COLUMNS, pair_of(before, token))
                if table[row + COUNT] < 0:
                    table[row + COUNT] = ~table[row + COUNT]
                    table[row + FIRST] = start
                    n_missing -= 1
            before = token
            start = at
            latest = 0
        pre_token += 1
