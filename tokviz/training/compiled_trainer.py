"""Training engine for large corpora: runs the compiled merge loop and manages its memory."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tokviz.errors import TokvizError
from tokviz.kernels.memory import longer, zeros
from tokviz.training import layout_kernels, merge_kernels, merge_state
from tokviz.training.history import TrainingHistory
from tokviz.training.merge_state import State
from tokviz.training.pre_token_counts import FileCounts, PreTokenCounts
from tokviz.training.python_trainer import why_training_ends
from tokviz.training.settings import N_BYTES, TrainSettings
from tokviz.training.ties import get_tie_break

if TYPE_CHECKING:
    from tokviz.kernels.memory import Memory

FIRST_BUDGET = 200_000
LEAST_BUDGET = 1_000
_LARGEST_POSITION = 0x7FFFFFF0
"""Limit of 32-bit positions: the bytes of the distinct pre-tokens, plus one per pre-token."""


PRE_TOKENS_AT_ONCE = 1 << 17
CELLS_AT_ONCE = 1 << 20
_MANY_MERGES = 1000
"""After this number, new pairs have about as many occurrences as the pairs of bytes."""


class CompiledTrainer:
    """Training engine that uses compiled loops; see `tokviz.training.merge_kernels`.

    Attributes:
        state: The memory of the merge loop; None until it is prepared.
        budget: Number of occurrences that the loop visits before it pauses.
        end: The reason why no further merge is possible; None while one is.
    """

    name = "compiled"

    def __init__(self, pre_tokens: PreTokenCounts, settings: TrainSettings) -> None:
        """Measure the pre-tokens; `advance` prepares the memory first.

        Raises:
            TokvizError: If the distinct pre-tokens have more than 2,147,483,632 bytes.
        """
        self._pre_tokens = pre_tokens
        self._places: memoryview | None = None
        layout = Layout(pre_tokens)
        if layout.n_cells > _LARGEST_POSITION:
            raise TokvizError(
                f"the distinct pre-tokens of this corpus have {layout.n_cells:,} bytes, more than "
                f"{_LARGEST_POSITION:,}: use less text or a split pattern with shorter pre-tokens"
            )
        rule = get_tie_break(settings.tie_break).compiled
        assert rule is not None
        self._rule = rule
        self._min_count = settings.min_count
        self._n_wanted = settings.n_merges
        self._n_single = layout.n_single
        self.budget = FIRST_BUDGET
        self.end: str | None = None
        # Every merge removes at least one token, so there are never more merges than cells.
        self._layout = layout.steps(min(settings.n_merges, layout.n_cells))
        self.state: State | None = None
        self._n_tokens = pre_tokens.n_bytes

    @property
    def n_merges(self) -> int:
        """Number of merges so far."""
        return self.state.numbers[merge_state.N_MERGES] if self.state else 0

    @property
    def n_tokens(self) -> int:
        """Current number of tokens of the whole corpus."""
        if self.state is None:
            return self._n_tokens
        return self.state.numbers[merge_state.N_TOKENS] + self._n_single

    def advance(self, seconds: float) -> bool:
        """Merge for about this long, and return whether training is finished."""
        started = time.perf_counter()
        while self.state is None:
            self.state = next(self._layout)
            if self.state is not None:
                note_capacities(self.state)
            if time.perf_counter() - started > seconds:
                return False
        while True:
            reason = merge_kernels.run_merges(
                self.state, self._rule, self._n_wanted, self._min_count, self.budget
            )
            spent = time.perf_counter() - started
            if reason == merge_state.FULL:
                self.state = _with_room(self.state, self._rule)
            elif reason == merge_state.PAUSED:
                pace = min(2.0, max(0.2, seconds / spent))
                self.budget = max(LEAST_BUDGET, int(self.budget * pace))
                return False
            else:
                if reason != merge_state.FINISHED:
                    self.end = why_training_ends(self._min_count)
                return True

    def merges_from(self, first: int) -> list[tuple[int, int, int]]:
        """Return the merges from an index: left id, right id, count."""
        if self.state is None:
            return []
        n = self.n_merges
        ids = self.state.merges[2 * first : 2 * n].tolist()
        counts = self.state.merge_count[first:n].tolist()
        return list(zip(ids[::2], ids[1::2], counts, strict=True))

    def occurrences(self, counts: Iterable[FileCounts]) -> tuple[Memory, Memory]:
        """Return the merges (indexes from 0) that were applied in some pre-tokens, with counts."""
        if self.state is None:
            return zeros(0, "i"), zeros(0, "q")
        if self._places is None:
            self._places = zeros(len(self._pre_tokens), "i")
            merge_kernels.find_cells(
                self._pre_tokens.memory["offsets"], len(self._pre_tokens), self._places
            )
        uses = zeros(N_BYTES + self.n_merges, "q")
        for _, pre_tokens, times in counts:
            merge_kernels.count_tokens(
                self.state, self._places, pre_tokens, times, len(pre_tokens), uses
            )
        merges = zeros(self.n_merges, "i")
        n = merge_kernels.count_merges(self.state, uses, merges)
        return merges[:n], uses[:n]

    def history(self) -> TrainingHistory:
        """Return the history of the merges so far; new tokens have the ids from 256."""
        if self.state is None:
            return TrainingHistory.empty()
        state, n = self.state, self.n_merges
        n_tokens = array("q", [left + self._n_single for left in state.tokens_left[:n].tolist()])
        return TrainingHistory(
            left_id=_copy(state.merges[: 2 * n : 2]),
            right_id=_copy(state.merges[1 : 2 * n : 2]),
            new_id=memoryview(array("i", range(N_BYTES, N_BYTES + n))),
            count=_copy(state.merge_count[:n]),
            n_tied=_copy(state.merge_tied[:n]),
            runner_up_left=_copy(state.runner_up[: 2 * n : 2]),
            runner_up_right=_copy(state.runner_up[1 : 2 * n : 2]),
            runner_up_count=_copy(state.runner_up_count[:n]),
            n_tokens=memoryview(n_tokens),
        )


BY_PAIR = {
    "pair_count": 1,
    "pair_start": 1,
    "pair_length": 1,
    "pair_tokens": 2,
    "heap_count": 1,
    "heap_key": 1,
    "heap_pair": 1,
}
"""The arrays that grow with the number of pairs, and their number of items per pair."""


def capacity_for(n_used: int, capacity: int, n_wanted: int) -> int:
    """Return the required length of an array: with room for one merge, and a third of it free."""
    return max(n_used * 3 // 2, n_used + n_wanted, capacity)


def note_capacities(state: State) -> None:
    """Write the lengths of the arrays to `State.numbers`."""
    state.numbers[merge_state.MOST_PAIRS] = len(state.pair_count)
    state.numbers[merge_state.MOST_OCCURRENCES] = len(state.occurrences)
    state.numbers[merge_state.MOST_GROUPS] = 2 * len(state.left_group)


def _with_room(state: State, rule: int) -> State:
    """Remove stale items, and enlarge the arrays in which that frees too little."""
    merge_kernels.compact(state, rule)
    n_fresh = len(state.fresh) // 2
    n_pairs = state.numbers[merge_state.N_PAIRS]
    n_occurrences = state.numbers[merge_state.N_OCCURRENCES]
    capacity = capacity_for(n_pairs, len(state.pair_count), min(n_fresh, 2 * len(state.left_group)))
    if capacity > len(state.pair_count):
        larger: dict[str, Any] = {
            name: longer(getattr(state, name), n * capacity) for name, n in BY_PAIR.items()
        }
        state = state._replace(**larger)
    capacity = capacity_for(n_occurrences, len(state.occurrences), n_fresh)
    if capacity > len(state.occurrences):
        state = state._replace(occurrences=longer(state.occurrences, capacity))
    note_capacities(state)
    return state


def _copy(memory: memoryview) -> memoryview:
    """Copy the items of a slice into contiguous memory."""
    return memoryview(array(memory.format, memory.tobytes()))


class Layout:
    """Sizes of the merge loop's memory, and its state before the first merge.

    The state is prepared in steps, because that takes long for a large corpus.

    Attributes:
        n_cells: Number of cells for all pre-tokens of two or more bytes.
        n_single: Occurrences of pre-tokens of a single byte, which need no cells.
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
        """Write the cells and count the pairs; yield None after each step, then the state.

        Args:
            n_merges: The largest number of merges.
        """
        sizes, n_cells, pre_tokens = self._sizes, self.n_cells, self._pre_tokens
        cells, text = zeros(3 * n_cells, "i", 3 * n_cells), zeros(n_cells, "B", n_cells)
        large = zeros(sizes[layout_kernels.N_LARGE], "q")
        pair_of_bytes = zeros(2 * layout_kernels.N_PAIRS_OF_BYTES, "q")
        source = [pre_tokens.memory[name] for name in ("data", "offsets", "counts")]
        for first in range(0, len(pre_tokens), PRE_TOKENS_AT_ONCE):
            last = min(first + PRE_TOKENS_AT_ONCE, len(pre_tokens))
            layout_kernels.lay_out(*source, first, last, cells, text, large, pair_of_bytes, sizes)
            yield None
        layout_kernels.measure_pairs(pair_of_bytes, sizes)
        state = self._empty(n_merges, cells, text, large)
        n_ids, n_tokens = N_BYTES + n_merges, sizes[layout_kernels.TOKENS]
        layout_kernels.number_pairs_of_bytes(state, n_tokens, n_ids, pair_of_bytes)
        for first in range(1, n_cells - 1, CELLS_AT_ONCE):
            last = min(first + CELLS_AT_ONCE, n_cells - 1)
            layout_kernels.index_pairs(state, first, last, pair_of_bytes)
            yield None
        yield state

    def _empty(
        self, n_merges: int, cells: memoryview, text: memoryview, large: memoryview
    ) -> State:
        """Create the state, with zeroed memory for the other arrays."""
        n_positions = self._sizes[layout_kernels.N_POSITIONS]
        n_fresh = 2 * self._sizes[layout_kernels.MOST_POSITIONS]
        n_ids = N_BYTES + n_merges
        n_groups = min(n_fresh, 2 * n_ids) + 1
        n_used = n_positions * (2 if n_merges >= _MANY_MERGES else 1)
        # Rarely too small; unused memory costs nothing.
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
