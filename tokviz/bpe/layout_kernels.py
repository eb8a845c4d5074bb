"""Laying out a corpus for the merge loop: see `tokviz.bpe.kernels`."""

from __future__ import annotations

import numpy as np

from tokviz.bpe.merge_state import (
    N_OCCURRENCES,
    N_PAIRS,
    TALLIED,
    Bytes,
    Int32s,
    Int64s,
    Integer,
    State,
)
from tokviz.compiled import kernel


@kernel
def lay_out(
    data: Bytes,
    offsets: Int64s,
    counts: Int64s,
    cells: Int32s,
    text: Bytes,
    large: Int64s,
    pair_of_bytes: Int64s,
) -> tuple[Integer, Integer]:
    """Write the pieces of two bytes and more into cells, and count the pairs of bytes.

    Args:
        data: The bytes of all pieces.
        offsets: Where each piece begins, and where the last one ends.
        counts: How often each piece occurs.
        cells: To be filled; see `State`. The column of pairs is left alone.
        text: To be filled.
        large: To be filled with the weights that need more than 31 bits.
        pair_of_bytes: int64 (65536, 2), zero: to be filled with the count of each pair of bytes,
            and the number of its positions.

    Returns:
        The number of tokens in these pieces over the whole corpus, and of weights in `large`.
    """
    at = 0
    n_large = 0
    n_tokens = 0
    cells[0, 0] = -1
    cells[0, 1] = -1
    for piece in range(len(counts)):
        begin = offsets[piece]
        end = offsets[piece + 1]
        if end - begin < 2:
            continue
        weight = counts[piece]
        n_tokens += weight * (end - begin)
        stored = weight
        if weight > 0x7FFFFFFF:
            large[n_large] = weight
            stored = -1 - n_large
            n_large += 1
        for i in range(begin, end):
            at += 1
            text[at] = data[i]
            cells[at, 0] = data[i]
            cells[at, 1] = -1
            cells[at, 2] = stored
            if i + 1 < end:
                pair = (np.int64(data[i]) << 8) | np.int64(data[i + 1])
                pair_of_bytes[pair, 0] += weight
                pair_of_bytes[pair, 1] += 1
        at += 1
        text[at] = 0
        cells[at, 0] = -1
        cells[at, 1] = -1
    return n_tokens, n_large


@kernel
def index_pairs_of_bytes(state: State, pair_of_bytes: Int64s) -> None:
    """Make a pair of every pair of bytes that occurs, and store its occurrences."""
    numbers = state.numbers
    n_pairs = 0
    n_occurrences = 0
    for code in range(65536):
        if pair_of_bytes[code, 1] > 0:
            state.pair_count[n_pairs] = pair_of_bytes[code, 0]
            state.pair_start[n_pairs] = n_occurrences
            state.pair_length[n_pairs] = 0
            state.pair_tokens[n_pairs, 0] = code >> 8
            state.pair_tokens[n_pairs, 1] = code & 255
            n_occurrences += pair_of_bytes[code, 1]
            if pair_of_bytes[code, 0] < TALLIED:
                state.tally[pair_of_bytes[code, 0]] += 1
            pair_of_bytes[code, 1] = n_pairs
            n_pairs += 1
    for at in range(1, len(state.cells) - 1):
        left = np.int64(state.cells[at, 0])
        right = np.int64(state.cells[at + 1, 0])
        if left >= 0:
            state.token_at[left] = at
            if right >= 0:
                pair = pair_of_bytes[(left << 8) | right, 1]
                state.cells[at, 1] = pair
                place = state.pair_start[pair] + state.pair_length[pair]
                state.occurrences[place] = at
                state.pair_length[pair] += 1
    numbers[N_PAIRS] = n_pairs
    numbers[N_OCCURRENCES] = n_occurrences
