"""Makes the state in which the compiled merge loop begins."""

from __future__ import annotations

from collections.abc import Iterator

from tokviz.kernels.memory import zeros
from tokviz.training import layout_kernels, merge_state
from tokviz.training.merge_state import State
from tokviz.training.pre_token_counts import PreTokenCounts
from tokviz.training.settings import N_BYTES

_PRE_TOKENS_AT_ONCE = 1 << 17
_CELLS_AT_ONCE = 1 << 20
_MANY_MERGES = 1000
"""After so many, the occurrences of new pairs are about as many as those of pairs of bytes."""


class Layout:
    """How much room the merge loop needs, and its state before the first merge.

    It is made step by step, because a large corpus takes long.

    Attributes:
        n_cells: The cells for all pre-tokens that can have merges.
        n_single: How often pre-tokens of a single byte occur, which cannot.
    """

    def __init__(self, pre_tokens: PreTokenCounts) -> None:
        """Measure the pre-tokens."""
        self._pre_tokens = pre_tokens
        self._sizes = zeros(layout_kernels.N_SIZES, "q")
        offsets, counts = pre_tokens.memory["offsets"], pre_tokens.memory["counts"]
        layout_kernels.measure_pre_tokens(offsets, counts, len(pre_tokens), self._sizes)
        self.n_cells = self._sizes[layout_kernels.N_CELLS]
        self.n_single = self._sizes[layout_kernels.N_SINGLE]

    def steps(self, n_merges: int) -> Iterator[State | None]:
        """Lay out the pre-tokens and count their pairs; the state comes last.

        Args:
            n_merges: How many merges may be made.
        """
        sizes, n_cells, pre_tokens = self._sizes, self.n_cells, self._pre_tokens
        cells, text = zeros(3 * n_cells, "i", 3 * n_cells), zeros(n_cells, "B", n_cells)
        large = zeros(sizes[layout_kernels.N_LARGE], "q")
        pair_of_bytes = zeros(2 * layout_kernels.N_PAIRS_OF_BYTES, "q")
        source = [pre_tokens.memory[name] for name in ("data", "offsets", "counts")]
        for first in range(0, len(pre_tokens), _PRE_TOKENS_AT_ONCE):
            last = min(first + _PRE_TOKENS_AT_ONCE, len(pre_tokens))
            layout_kernels.lay_out(*source, first, last, cells, text, large, pair_of_bytes, sizes)
            yield None
        layout_kernels.measure_pairs(pair_of_bytes, sizes)
        state = self._empty(n_merges, cells, text, large)
        n_ids, n_tokens = N_BYTES + n_merges, sizes[layout_kernels.TOKENS]
        layout_kernels.number_pairs_of_bytes(state, n_tokens, n_ids, pair_of_bytes)
        for first in range(1, n_cells - 1, _CELLS_AT_ONCE):
            last = min(first + _CELLS_AT_ONCE, n_cells - 1)
            layout_kernels.index_pairs(state, first, last, pair_of_bytes)
            yield None
        yield state

    def _empty(
        self, n_merges: int, cells: memoryview, text: memoryview, large: memoryview
    ) -> State:
        """Take the memory for everything else."""
        n_positions = self._sizes[layout_kernels.N_POSITIONS]
        n_fresh = 2 * self._sizes[layout_kernels.MOST_POSITIONS]
        n_ids = N_BYTES + n_merges
        n_groups = min(n_fresh, 2 * n_ids) + 1
        n_used = n_positions * (2 if n_merges >= _MANY_MERGES else 1)
        # Memory that is never touched costs nothing: so much is seldom exceeded.
        n_pairs = self._sizes[layout_kernels.N_KINDS] + n_groups + n_positions // 4
        return State(
            cells=cells,
            large=large,
            text=text,
            numbers=zeros(merge_state.N_NUMBERS, "q"),
            occurrences=zeros(n_positions * 5 // 2 + n_fresh, "i", n_used),
            pair_count=zeros(n_pairs, "q"),
            pair_start=zeros(n_pairs, "q"),
            pair_length=zeros(n_pairs, "i"),
            pair_tokens=zeros(2 * n_pairs, "i"),
            token_length=zeros(n_ids, "i"),
            token_at=zeros(n_ids, "i"),
            heap_count=zeros(n_pairs, "q"),
            heap_key=zeros(n_pairs, "q"),
            heap_pair=zeros(n_pairs, "i"),
            tally=zeros(merge_state.TALLIED, "i"),
            left_group=zeros(n_ids, "i"),
            right_group=zeros(n_ids, "i"),
            group_old=zeros(n_groups, "i"),
            group_loss=zeros(n_groups, "q"),
            fresh=zeros(2 * n_fresh, "i"),
            merges=zeros(2 * n_merges, "i"),
            merge_count=zeros(n_merges, "q"),
            merge_tied=zeros(n_merges, "i"),
            runner_up=zeros(2 * n_merges, "i"),
            runner_up_count=zeros(n_merges, "q"),
            tokens_left=zeros(n_merges, "q"),
        )
