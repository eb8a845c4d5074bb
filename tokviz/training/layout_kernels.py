"""Prepare the state of the merge loop in steps: see `tokviz.training.merge_kernels`.

The order of calls is `measure_pre_tokens`, `lay_out`, `measure_pairs`, `number_pairs_of_bytes`,
`index_pairs`.
"""

from __future__ import annotations

from tokviz.kernels import Bytes, Int32s, Int64s, integer, kernel
from tokviz.training.merge_state import (
    N_OCCURRENCES,
    N_PAIRS,
    N_TOKENS,
    NONE,
    TALLIED,
    THRESHOLD,
    State,
)

LARGEST_WEIGHT = 0x7FFFFFFF
"""Larger weights are stored in `State.large`."""

(
    N_CELLS,
    N_LARGE,
    N_SINGLE,
    N_KINDS,
    N_POSITIONS,
    MOST_POSITIONS,
    LAST_CELL,
    LARGE_USED,
    TOKENS,
    N_SIZES,
) = range(10)
"""The indexes of `sizes`."""

N_PAIRS_OF_BYTES = 65536


@kernel
def measure_pre_tokens(offsets: Int64s, counts: Int64s, n_pre_tokens: int, sizes: Int64s) -> None:
    """Compute the sizes of the arrays for pre-tokens.

    Args:
        offsets: The start of each pre-token, then the end of the last one.
        counts: Number of occurrences of each pre-token.
        n_pre_tokens: Number of pre-tokens.
        sizes: Receives the number of cells, of large weights, and of occurrences of pre-tokens of a
            single byte, which have no cells.
    """
    n_cells = 1
    n_large = 0
    n_single = 0
    for pre_token in range(n_pre_tokens):
        length = offsets[pre_token + 1] - offsets[pre_token]
        if length < 2:
            n_single += counts[pre_token] * length
        else:
            n_cells += length + 1
            n_large += counts[pre_token] > LARGEST_WEIGHT
    sizes[N_CELLS] = n_cells
    sizes[N_LARGE] = n_large
    sizes[N_SINGLE] = n_single


@kernel
def lay_out(
    data: Bytes,
    offsets: Int64s,
    counts: Int64s,
    first: int,
    last: int,
    cells: Int32s,
    text: Bytes,
    large: Int64s,
    pair_of_bytes: Int64s,
    sizes: Int64s,
) -> None:
    """Write the pre-tokens `first` to `last` into cells, and count their pairs of bytes.

    Pre-tokens of a single byte are left out.

    Args:
        data: The bytes of all pre-tokens.
        offsets: The start of each pre-token, then the end of the last one.
        counts: Number of occurrences of each pre-token.
        first: The first pre-token to write; the ones before it are already written.
        last: The first pre-token not to write.
        cells: Receives tokens and weights; see `State`. The pairs are set later.
        text: Receives the bytes.
        large: Receives the weights that need more than 31 bits.
        pair_of_bytes: Shape (65536, 2): the count of each pair of bytes, and the number of its
            positions; zero before the first pre-token.
        sizes: Updated: the last cell used, the number of weights in `large`, and the tokens of
            these pre-tokens in the whole corpus.
    """
    at = sizes[LAST_CELL]
    n_large = sizes[LARGE_USED]
    cells[0] = NONE
    cells[1] = NONE
    for pre_token in range(first, last):
        start = offsets[pre_token]
        end = offsets[pre_token + 1]
        if end - start < 2:
            continue
        weight = counts[pre_token]
        sizes[TOKENS] += weight * (end - start)
        stored = weight
        if weight > LARGEST_WEIGHT:
            large[n_large] = weight
            stored = -1 - n_large
            n_large += 1
        for i in range(start, end):
            at += 1
            text[at] = data[i]
            cells[3 * at] = data[i]
            cells[3 * at + 1] = NONE
            cells[3 * at + 2] = stored
            if i + 1 < end:
                code = integer(data[i]) << 8 | integer(data[i + 1])
                pair_of_bytes[2 * code] += weight
                pair_of_bytes[2 * code + 1] += 1
        at += 1
        cells[3 * at] = NONE
        cells[3 * at + 1] = NONE
    sizes[LAST_CELL] = at
    sizes[LARGE_USED] = n_large


@kernel
def measure_pairs(pair_of_bytes: Int64s, sizes: Int64s) -> None:
    """Compute the sizes of the arrays for pairs.

    Args:
        pair_of_bytes: From `lay_out`.
        sizes: Receives the number of different pairs of bytes, of all their positions, and of
            the positions of the pair that has the most.
    """
    n_kinds = 0
    n_positions = 0
    most = 0
    for code in range(N_PAIRS_OF_BYTES):
        here = pair_of_bytes[2 * code + 1]
        n_kinds += here > 0
        n_positions += here
        most = max(most, here)
    sizes[N_KINDS] = n_kinds
    sizes[N_POSITIONS] = n_positions
    sizes[MOST_POSITIONS] = most


@kernel
def number_pairs_of_bytes(state: State, n_tokens: int, n_ids: int, pair_of_bytes: Int64s) -> None:
    """Number the pairs of bytes that occur, and initialize the other arrays."""
    n_pairs = 0
    n_occurrences = 0
    highest = 0
    for code in range(N_PAIRS_OF_BYTES):
        count = pair_of_bytes[2 * code]
        if pair_of_bytes[2 * code + 1] > 0:
            state.pair_count[n_pairs] = count
            state.pair_start[n_pairs] = n_occurrences
            state.pair_length[n_pairs] = 0
            state.pair_tokens[2 * n_pairs] = code >> 8
            state.pair_tokens[2 * n_pairs + 1] = code & 255
            n_occurrences += pair_of_bytes[2 * code + 1]
            highest = max(highest, count)
            if count < TALLIED:
                state.tally[count] += 1
            pair_of_bytes[2 * code + 1] = n_pairs
            n_pairs += 1
    for token in range(n_ids):
        state.token_length[token] = 1
        state.left_group[token] = NONE
        state.right_group[token] = NONE
    state.numbers[N_PAIRS] = n_pairs
    state.numbers[N_OCCURRENCES] = n_occurrences
    state.numbers[N_TOKENS] = n_tokens
    state.numbers[THRESHOLD] = highest + 1


@kernel
def index_pairs(state: State, first: int, last: int, pair_of_bytes: Int64s) -> None:
    """Store the occurrences of pairs at the cells `first` to `last`, after those before `first`."""
    for at in range(first, last):
        left = state.cells[3 * at]
        right = state.cells[3 * at + 3]
        if left >= 0:
            state.token_at[left] = at
            if right >= 0:
                pair = pair_of_bytes[2 * (left << 8 | right) + 1]
                state.cells[3 * at + 1] = pair
                place = state.pair_start[pair] + state.pair_length[pair]
                state.occurrences[place] = at
                state.pair_length[pair] += 1
