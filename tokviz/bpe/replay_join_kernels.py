"""Compiled loops that work out when the bytes of a corpus come together."""

from __future__ import annotations

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

TOKEN, MERGE, BEFORE, BEHIND, PREVIOUS, NEXT, N_CELL = range(7)
"""The columns of the cells of `join`, and their number."""

NONE = -1
"""No merge, place or token."""


@kernel
def index_merges(lefts: Int32s, rights: Int32s, table: Int64s) -> None:
    """Fill a table with the index of each merge, by the pair that it merges.

    Args:
        lefts: The left token of each merge.
        rights: The right token of each merge.
        table: A table of two columns without pairs.
    """
    rows = pointer_to(table)
    for index in range(len(lefts)):
        pair = pair_of(lefts[index], rights[index])
        row = row_of(rows, len(table), 2, pair)
        if rows[row] == FREE:
            rows[row] = pair
            rows[row + 1] = index


@helper
def _wait(
    rows: Pointer,
    n_slots: Integer,
    cells: Pointer,
    queues: Pointer,
    at: Integer,
    left: Integer,
    right: Integer,
) -> None:
    """Put a place behind the others that wait for the merge of these two tokens, if there is one.

    `queues` holds the first and the last waiting place of each merge.
    """
    row = row_of(rows, n_slots, 2, pair_of(left, right))
    if rows[row] == FREE:
        return
    merge = rows[row + 1]
    last = queues[2 * merge + 1]
    cells[N_CELL * at + MERGE] = merge
    cells[N_CELL * at + BEFORE] = last
    cells[N_CELL * at + BEHIND] = NONE
    if last < 0:
        queues[2 * merge] = at
    else:
        cells[N_CELL * last + BEHIND] = at
    queues[2 * merge + 1] = at


@helper
def _leave(cells: Pointer, queues: Pointer, at: Integer) -> None:
    """Take a place out of those that wait for its merge, if it waits."""
    merge = cells[N_CELL * at + MERGE]
    if merge < 0:
        return
    before = cells[N_CELL * at + BEFORE]
    behind = cells[N_CELL * at + BEHIND]
    if before < 0:
        queues[2 * merge] = behind
    else:
        cells[N_CELL * before + BEHIND] = behind
    if behind < 0:
        queues[2 * merge + 1] = before
    else:
        cells[N_CELL * behind + BEFORE] = before
    cells[N_CELL * at + MERGE] = NONE


@kernel
def join(
    data: Bytes,
    offsets: Int64s,
    counts: Int64s,
    first_piece: Integer,
    last_piece: Integer,
    table: Int64s,
    queues_of: Int32s,
    cells_of: Int32s,
    joined: Int32s,
    removed: Int64s,
) -> None:
    """Replay all merges over some pieces, and note when their bytes come together.

    Every place between two tokens waits in the queue of the merge that joins them, if there is one.
    The queues are emptied in the order of the merges. A merge makes a token that only later merges
    take, so what it appends belongs to later queues. Places are appended from left to right in each
    queue, so that of overlapping occurrences the leftmost is merged, as it should be.

    Args:
        data: The bytes of all pieces.
        offsets: Where each piece starts, and the last one ends.
        counts: How often each piece occurs.
        first_piece: The first piece to look at.
        last_piece: One behind the last piece.
        table: The table of `index_merges`.
        queues_of: int32 (merges, 2), all -1, and again at the end.
        cells_of: int32 (n, N_CELL): room for as many bytes as the pieces have.
        joined: By byte of `data`, to be filled with the number of the merge that joins it to the
            byte before; one more than there are merges if none does.
        removed: By merge number, grows by the tokens that it removes from the corpus.
    """
    n_merges, n_slots = len(queues_of), len(table)
    rows, queues, cells = pointer_to(table), pointer_to(queues_of), pointer_to(cells_of)
    base = offsets[first_piece]
    for piece in range(first_piece, last_piece):
        start, end = offsets[piece] - base, offsets[piece + 1] - base
        for at in range(start, end):
            cell = N_CELL * at
            joined[base + at] = n_merges + 1
            cells[cell + TOKEN] = data[base + at]
            cells[cell + MERGE] = NONE
            cells[cell + PREVIOUS] = at - 1 if at > start else NONE
            cells[cell + NEXT] = at + 1 if at + 1 < end else NONE
            if at > start:
                _wait(rows, n_slots, cells, queues, at, data[base + at - 1], data[base + at])
    for merge in range(n_merges):
        token = 256 + merge
        while queues[2 * merge] >= 0:
            at = queues[2 * merge]
            _leave(cells, queues, at)
            joined[base + at] = merge + 1
            left, right = cells[N_CELL * at + PREVIOUS], cells[N_CELL * at + NEXT]
            cells[N_CELL * left + TOKEN] = token
            cells[N_CELL * left + NEXT] = right
            before = cells[N_CELL * left + PREVIOUS]
            if before >= 0:
                _leave(cells, queues, left)
                neighbour = cells[N_CELL * before + TOKEN]
                _wait(rows, n_slots, cells, queues, left, neighbour, token)
            if right >= 0:
                cells[N_CELL * right + PREVIOUS] = left
                _leave(cells, queues, right)
                neighbour = cells[N_CELL * right + TOKEN]
                _wait(rows, n_slots, cells, queues, right, token, neighbour)
    for piece in range(first_piece, last_piece):
        count = counts[piece]
        for at in range(offsets[piece] + 1, offsets[piece + 1]):
            removed[joined[at]] += count


@kernel
def sort_by_merge(joined: Int32s, starts: Int64s, places: Int32s) -> None:
    """Sort the bytes of a corpus by the merge that joins them, ascending within a merge.

    Args:
        joined: By byte, the number of the merge; one more than there are merges for none.
        starts: By merge number, to be filled with where its bytes begin in `places`; all zero, as
            many as the highest number in `joined` and one.
        places: To be filled; as many as bytes are joined by any merge.
    """
    last = len(starts) - 1
    for number in joined:
        if number < last:
            starts[number + 1] += 1
    for number in range(last):
        starts[number + 1] += starts[number]
    for at in range(len(joined)):
        number = joined[at]
        if number < last:
            places[starts[number]] = at
            starts[number] += 1
    for number in range(last, 0, -1):
        starts[number] = starts[number - 1]
    starts[0] = 0
