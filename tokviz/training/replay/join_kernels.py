"""Compiled loops that compute the join times of a corpus."""

from __future__ import annotations

from tokviz.kernels import Bytes, Int32s, Int64s, helper, integer, kernel
from tokviz.training.replay.table import FREE, pair_of, row_of

TOKEN, MERGE, BEFORE, AFTER, PREVIOUS, NEXT, N_CELL = range(7)
"""The columns of the cells of `join`, and the number of columns."""

NONE = -1
"""No merge, position or token."""


@kernel
def index_merges(lefts: Int32s, rights: Int32s, n_merges: int, table: Int64s, n_slots: int) -> None:
    """Fill a table with the index of each merge, by the pair that it merges.

    Args:
        lefts: The left token of each merge.
        rights: The right token of each merge.
        n_merges: Number of merges.
        table: A table of two columns without pairs.
        n_slots: Number of slots of the table.
    """
    for index in range(n_merges):
        pair = pair_of(lefts[index], rights[index])
        row = row_of(table, n_slots, 2, pair)
        if table[row] == FREE:
            table[row] = pair
            table[row + 1] = index


@helper
def _enqueue(
    table: Int64s, n_slots: int, cells: Int32s, queues: Int32s, at: int, left: int, right: int
) -> None:
    """Append a position to the queue of the merge of two tokens, if there is such a merge.

    `queues` contains the first and last queued position of each merge.
    """
    row = row_of(table, n_slots, 2, pair_of(left, right))
    if table[row] == FREE:
        return
    merge = table[row + 1]
    last = integer(queues[2 * merge + 1])
    cells[N_CELL * at + MERGE] = merge
    cells[N_CELL * at + BEFORE] = last
    cells[N_CELL * at + AFTER] = NONE
    if last < 0:
        queues[2 * merge] = at
    else:
        cells[N_CELL * last + AFTER] = at
    queues[2 * merge + 1] = at


@helper
def _dequeue(cells: Int32s, queues: Int32s, at: int) -> None:
    """Remove a position from the queue of its merge, if it is queued."""
    merge = integer(cells[N_CELL * at + MERGE])
    if merge < 0:
        return
    before = integer(cells[N_CELL * at + BEFORE])
    after = integer(cells[N_CELL * at + AFTER])
    if before < 0:
        queues[2 * merge] = after
    else:
        cells[N_CELL * before + AFTER] = after
    if after < 0:
        queues[2 * merge + 1] = before
    else:
        cells[N_CELL * after + BEFORE] = before
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
    """Apply all merges to the pre-tokens, and record the join times.

    This is done for a few pre-tokens at a time, so that their data stays in the processor cache.

    Args:
        data: The bytes of all pre-tokens.
        offsets: The start of each pre-token, and the end of the last.
        counts: The occurrences of each pre-token.
        chunks: The first pre-token of each chunk, and the number of pre-tokens.
        n_chunks: Number of chunks.
        n_merges: Number of merges; each uses only bytes and the tokens of earlier merges.
        table: The table of `index_merges`.
        n_slots: Number of slots of the table.
        queues: Shape (merges, 2), all -1 before and after the call.
        cells: Shape (n, N_CELL), for the bytes of the largest chunk.
        joined: Receives, for each byte of `data`, the number of the merge that joins it to the byte
            before; one more than the number of merges if none does.
        removed: Incremented, by merge number, by the tokens that it removes from the corpus.
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
    """Run `join` for one chunk.

    Every position between two tokens is in the queue of the merge that joins them, if there is one.
    The queues are processed in the order of the merges. Only later merges use the token that a
    merge makes, so it appends only to later queues. Positions are appended to each queue from left
    to right, so that the leftmost of overlapping occurrences is merged, as required.
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
                _enqueue(table, n_slots, cells, queues, at, data[base + at - 1], data[base + at])
    for merge in range(n_merges):
        token = 256 + merge
        while queues[2 * merge] >= 0:
            at = integer(queues[2 * merge])
            _dequeue(cells, queues, at)
            joined[base + at] = merge + 1
            left = integer(cells[N_CELL * at + PREVIOUS])
            right = integer(cells[N_CELL * at + NEXT])
            cells[N_CELL * left + TOKEN] = token
            cells[N_CELL * left + NEXT] = right
            before = integer(cells[N_CELL * left + PREVIOUS])
            if before >= 0:
                _dequeue(cells, queues, left)
                _enqueue(table, n_slots, cells, queues, left, cells[N_CELL * before + TOKEN], token)
            if right >= 0:
                cells[N_CELL * right + PREVIOUS] = left
                _dequeue(cells, queues, right)
                _enqueue(table, n_slots, cells, queues, right, token, cells[N_CELL * right + TOKEN])


@kernel
def number_pre_tokens(offsets: Int64s, n_pre_tokens: int, pre_token_of: Int32s) -> None:
    """Fill in the pre-token of every byte."""
    for pre_token in range(n_pre_tokens):
        for at in range(offsets[pre_token], offsets[pre_token + 1]):
            pre_token_of[at] = pre_token


@kernel
def sort_by_merge(
    joined: Int32s, n_bytes: int, n_merges: int, starts: Int64s, places: Int32s
) -> None:
    """Sort the bytes of a corpus by the merge that joins them, ascending within a merge.

    Args:
        joined: By byte, the number of the merge; one more than the number of merges for none.
        n_bytes: Number of bytes.
        n_merges: Number of merges.
        starts: Receives, by merge number, the start of its bytes in `places`. All zero, with two
            elements more than there are merges.
        places: Receives the bytes that any merge joins.
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
