"""Compiled loops that work out when the bytes of a corpus come together."""

from __future__ import annotations

from tokviz.kernels import Bytes, Int32s, Int64s, helper, integer, kernel
from tokviz.training.replay.table import FREE, pair_of, row_of

TOKEN, MERGE, BEFORE, BEHIND, PREVIOUS, NEXT, N_CELL = range(7)
"""The columns of the cells of `join`, and their number."""

NONE = -1
"""No merge, place or token."""


@kernel
def index_merges(lefts: Int32s, rights: Int32s, n_merges: int, table: Int64s, n_slots: int) -> None:
    """Fill a table with the index of each merge, by the pair that it merges.

    Args:
        lefts: The left token of each merge.
        rights: The right token of each merge.
        n_merges: How many there are.
        table: A table of two columns without pairs.
        n_slots: How many slots it has.
    """
    for index in range(n_merges):
        pair = pair_of(lefts[index], rights[index])
        row = row_of(table, n_slots, 2, pair)
        if table[row] == FREE:
            table[row] = pair
            table[row + 1] = index


@helper
def _wait(
    table: Int64s, n_slots: int, cells: Int32s, queues: Int32s, at: int, left: int, right: int
) -> None:
    """Put a place behind the others that wait for the merge of these two tokens, if there is one.

    `queues` holds the first and the last waiting place of each merge.
    """
    row = row_of(table, n_slots, 2, pair_of(left, right))
    if table[row] == FREE:
        return
    merge = table[row + 1]
    last = integer(queues[2 * merge + 1])
    cells[N_CELL * at + MERGE] = merge
    cells[N_CELL * at + BEFORE] = last
    cells[N_CELL * at + BEHIND] = NONE
    if last < 0:
        queues[2 * merge] = at
    else:
        cells[N_CELL * last + BEHIND] = at
    queues[2 * merge + 1] = at


@helper
def _leave(cells: Int32s, queues: Int32s, at: int) -> None:
    """Take a place out of those that wait for its merge, if it waits."""
    merge = integer(cells[N_CELL * at + MERGE])
    if merge < 0:
        return
    before = integer(cells[N_CELL * at + BEFORE])
    behind = integer(cells[N_CELL * at + BEHIND])
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
    chunks: Int64s,
    n_chunks: int,
    n_merges: int,
    table: Int64s,
    n_slots: int,
    queues: Int32s,
    cells: Int32s,
    joined: Int32s,
    removed: Int64s,
) -> None:
    """Replay all merges over the pre-tokens, and note when their bytes come together.

    That is done for a few pre-tokens at a time, so that what is needed for them stays in the cache.

    Args:
        data: The bytes of all pre-tokens.
        offsets: Where each pre-token starts, and the last one ends.
        counts: How often each pre-token occurs.
        chunks: The first pre-token of each chunk, and one behind the last pre-token.
        n_chunks: How many chunks there are.
        n_merges: How many merges there are, each of bytes and of what merges before it make.
        table: The table of `index_merges`.
        n_slots: How many slots it has.
        queues: Shape (merges, 2), all -1, and again at the end.
        cells: Shape (n, N_CELL): room for as many bytes as any chunk has.
        joined: By byte of `data`, to be filled with the number of the merge that joins it to the
            byte before; one more than there are merges if none does.
        removed: By merge number, grows by the tokens that it removes from the corpus.
    """
    for chunk in range(n_chunks):
        first = chunks[chunk]
        last = chunks[chunk + 1]
        _join_pre_tokens(
            data, offsets, first, last, n_merges, table, n_slots, queues, cells, joined
        )
        for pre_token in range(first, last):
            for at in range(offsets[pre_token] + 1, offsets[pre_token + 1]):
                removed[joined[at]] += counts[pre_token]


@helper
def _join_pre_tokens(
    data: Bytes,
    offsets: Int64s,
    first_pre_token: int,
    last_pre_token: int,
    n_merges: int,
    table: Int64s,
    n_slots: int,
    queues: Int32s,
    cells: Int32s,
    joined: Int32s,
) -> None:
    """Do what `join` does for one chunk.

    Every place between two tokens waits in the queue of the merge that joins them, if there is one.
    The queues are emptied in the order of the merges. A merge makes a token that only later merges
    take, so what it appends belongs to later queues. Places are appended from left to right in each
    queue, so that of overlapping occurrences the leftmost is merged, as it should be.
    """
    base = offsets[first_pre_token]
    for pre_token in range(first_pre_token, last_pre_token):
        start = offsets[pre_token] - base
        end = offsets[pre_token + 1] - base
        for at in range(start, end):
            cell = N_CELL * at
            joined[base + at] = n_merges + 1
            cells[cell + TOKEN] = data[base + at]
            cells[cell + MERGE] = NONE
            cells[cell + PREVIOUS] = at - 1 if at > start else NONE
            cells[cell + NEXT] = at + 1 if at + 1 < end else NONE
            if at > start:
                _wait(table, n_slots, cells, queues, at, data[base + at - 1], data[base + at])
    for merge in range(n_merges):
        token = 256 + merge
        while queues[2 * merge] >= 0:
            at = integer(queues[2 * merge])
            _leave(cells, queues, at)
            joined[base + at] = merge + 1
            left = integer(cells[N_CELL * at + PREVIOUS])
            right = integer(cells[N_CELL * at + NEXT])
            cells[N_CELL * left + TOKEN] = token
            cells[N_CELL * left + NEXT] = right
            before = integer(cells[N_CELL * left + PREVIOUS])
            if before >= 0:
                _leave(cells, queues, left)
                _wait(table, n_slots, cells, queues, left, cells[N_CELL * before + TOKEN], token)
            if right >= 0:
                cells[N_CELL * right + PREVIOUS] = left
                _leave(cells, queues, right)
                _wait(table, n_slots, cells, queues, right, token, cells[N_CELL * right + TOKEN])


@kernel
def number_pre_tokens(offsets: Int64s, n_pre_tokens: int, pre_token_of: Int32s) -> None:
    """Note for every byte which pre-token it is in."""
    for pre_token in range(n_pre_tokens):
        for at in range(offsets[pre_token], offsets[pre_token + 1]):
            pre_token_of[at] = pre_token


@kernel
def sort_by_merge(
    joined: Int32s, n_bytes: int, n_merges: int, starts: Int64s, places: Int32s
) -> None:
    """Sort the bytes of a corpus by the merge that joins them, ascending within a merge.

    Args:
        joined: By byte, the number of the merge; one more than there are merges for none.
        n_bytes: How many bytes there are.
        n_merges: How many merges there are.
        starts: By merge number, to be filled with where its bytes begin in `places`; all zero, two
            more than there are merges.
        places: To be filled; as many as bytes are joined by any merge.
    """
    last = n_merges + 1
    for at in range(n_bytes):
        if joined[at] < last:
            starts[joined[at] + 1] += 1
    for number in range(last):
        starts[number + 1] += starts[number]
    for at in range(n_bytes):
        if joined[at] < last:
            places[starts[joined[at]]] = at
            starts[joined[at]] += 1
    for back in range(last):
        starts[last - back] = starts[last - back - 1]
    starts[0] = 0
