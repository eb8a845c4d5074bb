"""Compiled loops that count the pairs of a corpus after k merges; see `replay_table` for tables.

A table of pairs has three columns: the pair, its count, and where it first occurs: the byte at
which the right token of the first occurrence starts. While merges are done and undone one by one,
the first occurrence may lie behind that byte, never before it.
"""

from __future__ import annotations

import numpy as np

from tokviz.bpe.replay_table import (
    FREE,
    Bytes,
    Int32s,
    Int64s,
    Integer,
    Pointer,
    pair_of,
    row_of,
)
from tokviz.compiled import helper, kernel
from tokviz.pretokenize.pointers import pointer_to

COUNT, FIRST, N_COLUMNS = 1, 2, 3


@helper
def _add(
    rows: Pointer, n_slots: Integer, left: Integer, right: Integer, change: Integer, place: Integer
) -> Integer:
    """Change the count of a pair at a place; 1 if the pair is new to the table."""
    pair = pair_of(left, right)
    row = row_of(rows, n_slots, N_COLUMNS, pair)
    if rows[row + COUNT] == 0 or place < rows[row + FIRST]:
        rows[row + FIRST] = place
    rows[row + COUNT] += change
    if rows[row] != FREE:
        return 0
    rows[row] = pair
    return 1


@kernel
def count_pairs(
    data: Bytes,
    offsets: Int64s,
    counts: Int64s,
    joined_at: Int32s,
    k: Integer,
    table: Int64s,
    token_counts: Int64s,
) -> Integer:
    """Count all pairs and tokens after k merges.

    Args:
        data: The bytes of all pieces.
        offsets: Where each piece starts, and the last one ends.
        counts: How often each piece occurs.
        joined_at: By byte, the number of the merge that joins it to the byte before.
        k: The number of merges.
        table: A table without pairs.
        token_counts: By token, all 0.

    Returns:
        The pairs in the table; -1 if it is too small and worth nothing.
    """
    rows, joined = pointer_to(table), pointer_to(joined_at)
    n_slots = len(table)
    n_pairs: Integer = 0
    for piece in range(len(counts)):
        end, start, latest = offsets[piece + 1], offsets[piece], 0
        before: Integer = -1
        count = counts[piece]
        for at in range(start + 1, end + 1):
            if at < end and joined[at] <= k:
                latest = max(latest, joined[at])
                continue
            token = 255 + latest if latest else np.int64(data[start])
            token_counts[token] += count
            if before >= 0:
                n_pairs += _add(rows, n_slots, before, token, count, start)
                if 2 * n_pairs > n_slots:
                    return -1
            before, start, latest = token, at, 0
    return n_pairs


@helper
def _token_before(data: Bytes, joined: Pointer, k: Integer, at: Integer) -> Integer:
    """Find the token that ends before a byte where another one starts."""
    latest = 0
    at -= 1
    while joined[at] <= k:
        latest = max(latest, joined[at])
        at -= 1
    return 255 + latest if latest else np.int64(data[at])


@helper
def _token_at(data: Bytes, joined: Pointer, k: Integer, at: Integer, end: Integer) -> Integer:
    """Find the token that starts at a byte, in a piece with the given end."""
    latest = 0
    start = at
    at += 1
    while at < end and joined[at] <= k:
        latest = max(latest, joined[at])
        at += 1
    return 255 + latest if latest else np.int64(data[start])


@helper
def _swap(
    data: Bytes,
    joined: Pointer,
    rows: Pointer,
    n_slots: Integer,
    number: Integer,
    place: Integer,
    end: Integer,
    change: Integer,
) -> Integer:
    """Count the pair at a place as it is after a merge instead of as it is before."""
    left = _token_before(data, joined, number - 1, place)
    right = _token_at(data, joined, number - 1, place, end)
    n_new = _add(rows, n_slots, left, right, -change, place)
    left = _token_before(data, joined, number, place)
    right = _token_at(data, joined, number, place, end)
    return n_new + _add(rows, n_slots, left, right, change, place)


@kernel
def step(
    data: Bytes,
    offsets: Int64s,
    counts: Int64s,
    piece_of: Int32s,
    joined_at: Int32s,
    places: Int32s,
    number: Integer,
    sign: Integer,
    table: Int64s,
    token_counts: Int64s,
) -> Integer:
    """Do a merge, or undo it, in the counts of the pairs and tokens.

    Only the pairs change at a place that the merge closes, and at the two next to it.

    Args:
        data: The bytes of all pieces.
        offsets: Where each piece starts, and the last one ends.
        counts: How often each piece occurs.
        piece_of: By byte of `data`, its piece.
        joined_at: By byte, the number of the merge that joins it to the byte before.
        places: The bytes that this merge joins to the byte before, ascending.
        number: The number of the merge.
        sign: 1 to do it, -1 to undo it.
        table: A table of pairs with room for three more for each place.
        token_counts: By token.

    Returns:
        The pairs that are new to the table.
    """
    rows, joined = pointer_to(table), pointer_to(joined_at)
    n_slots = len(table)
    n_new: Integer = 0
    done: Integer = -1
    for at in range(len(places)):
        place = np.int64(places[at])
        piece = piece_of[place]
        change = sign * counts[piece]
        begin, end = offsets[piece], offsets[piece + 1]
        left = _token_before(data, joined, number - 1, place)
        right = _token_at(data, joined, number - 1, place, end)
        token_counts[left] -= change
        token_counts[right] -= change
        token_counts[255 + number] += change
        n_new += _add(rows, n_slots, left, right, -change, place)
        edge: Integer = place - 1
        while edge > begin and joined[edge] <= number:
            edge -= 1
        if edge > begin and edge != done:
            n_new += _swap(data, joined, rows, n_slots, number, edge, end, change)
        edge = place + 1
        while edge < end and joined[edge] <= number:
            edge += 1
        if edge < end:
            n_new += _swap(data, joined, rows, n_slots, number, edge, end, change)
        done = edge
    return n_new


@kernel
def nth_highest_count(table: Int64s, n: Integer) -> Integer:
    """Find the n-th highest count in a table; 1 if fewer than n are greater."""
    rows = pointer_to(table)
    best = np.ones(n, np.int64)
    for slot in range(len(table)):
        count = rows[N_COLUMNS * slot + COUNT]
        if count > best[0]:
            at = 0
            while at + 1 < n and best[at + 1] < count:
                best[at] = best[at + 1]
                at += 1
            best[at] = count
    highest: Integer = best[0]
    return highest


@kernel
def slots_from(table: Int64s, least: Integer, slots: Int64s) -> Integer:
    """Find the pairs that occur at least so often.

    Args:
        table: A table of pairs.
        least: The lowest count.
        slots: To be filled with the slots of the first ones, as far as there is room.

    Returns:
        The number of such pairs.
    """
    rows = pointer_to(table)
    n_found = 0
    for slot in range(len(table)):
        if rows[N_COLUMNS * slot + COUNT] >= least:
            if n_found < len(slots):
                slots[n_found] = slot
            n_found += 1
    return n_found


@kernel
def slot_of(table: Int64s, left: Integer, right: Integer) -> Integer:
    """Find the slot of a pair, or the free one where it belongs."""
    return row_of(pointer_to(table), len(table), N_COLUMNS, pair_of(left, right)) // N_COLUMNS


@kernel
def settle_first(
    data: Bytes,
    offsets: Int64s,
    piece_of: Int32s,
    joined_at: Int32s,
    k: Integer,
    table: Int64s,
    slots: Int64s,
    n_tokens: Integer,
) -> None:
    """Find where pairs really occur first.

    The pieces are searched from the first place that is no longer true on, for all such pairs in
    one go. In the table the counts of these pairs are complemented while they are searched for.

    Args:
        data: The bytes of all pieces.
        offsets: Where each piece starts, and the last one ends.
        piece_of: By byte of `data`, its piece.
        joined_at: By byte, the number of the merge that joins it to the byte before.
        k: The number of merges.
        table: A table of pairs.
        slots: The slots of the pairs, all of which occur.
        n_tokens: The number of tokens.
    """
    rows, joined = pointer_to(table), pointer_to(joined_at)
    n_slots = len(table)
    is_left = np.zeros(n_tokens, np.bool_)
    n_wanted = 0
    place = np.int64(len(data))
    for index in range(len(slots)):
        row = N_COLUMNS * slots[index]
        first = rows[row + FIRST]
        end = offsets[piece_of[first] + 1]
        if joined[first] > k:
            left = _token_before(data, joined, k, first)
            if pair_of(left, _token_at(data, joined, k, first, end)) == rows[row]:
                continue
        rows[row + COUNT] = ~rows[row + COUNT]
        is_left[rows[row] >> 32] = True
        n_wanted += 1
        place = min(place, first)
    piece = np.int64(piece_of[place]) if n_wanted else 0
    while n_wanted and piece < len(offsets) - 1:
        end, start, latest = offsets[piece + 1], offsets[piece], 0
        before: Integer = -1
        for at in range(start + 1, end + 1):
            if at < end and joined[at] <= k:
                latest = max(latest, joined[at])
                continue
            token = 255 + latest if latest else np.int64(data[start])
            if before >= 0 and is_left[before]:
                row = row_of(rows, n_slots, N_COLUMNS, pair_of(before, token))
                if rows[row + COUNT] < 0:
                    rows[row + COUNT] = ~rows[row + COUNT]
                    rows[row + FIRST] = start
                    n_wanted -= 1
            before, start, latest = token, at, 0
        piece += 1
