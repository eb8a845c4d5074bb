"""Runs the compiled merge loop: makes room for it, measures its pauses, collects its history."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tokviz.bpe import kernels, layout_kernels, merge_state
from tokviz.bpe.counting import PieceCounts
from tokviz.bpe.engines import why_it_ends
from tokviz.bpe.history import TrainingHistory
from tokviz.bpe.settings import N_BYTES, TrainSettings
from tokviz.compiled import is_compiled
from tokviz.errors import TokvizError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from tokviz.bpe.merge_state import State

_RULES = {
    "first": merge_state.FIRST,
    "lexicographic": merge_state.LEXICOGRAPHIC,
    "smallest_id": merge_state.SMALLEST_ID,
}
_LARGEST_POSITION = 0x7FFFFFF0
_FIRST_BUDGET = 500_000
_LEAST_BUDGET = 1_000


def kernels_are_compiled() -> bool:
    """Tell whether the merge loop can run without waiting for the compiler."""
    loops: tuple[Callable[..., object], ...] = (
        layout_kernels.lay_out,
        layout_kernels.index_pairs_of_bytes,
        kernels.run_merges,
        kernels.compact,
    )
    return all(map(is_compiled, loops))


def compile_kernels() -> None:
    """Have the merge loop compiled now, or loaded; takes about ten seconds once on a machine."""
    pieces = PieceCounts(
        np.frombuffer(b"ab", dtype=np.uint8).copy(),
        np.array([0, 2], dtype=np.int64),
        np.array([1], dtype=np.int64),
        n_bytes=2,
        n_chars=2,
        n_invalid=0,
        n_documents=1,
    )
    settings = TrainSettings.checked(
        257,
        split_pattern="none",
        special_tokens=(),
        special_ids="last",
        tie_break="first",
        min_count=1,
    )
    trainer = CompiledTrainer(pieces, settings)
    trainer._make_room()
    trainer.advance(1.0)


class CompiledTrainer:
    """Merges by compiled loops; see `tokviz.bpe.kernels`.

    Attributes:
        n_merges: The merges so far.
        n_tokens: The tokens of the corpus now.
        end: Why no further merge is possible; None while it is.
    """

    def __init__(self, pieces: PieceCounts, settings: TrainSettings) -> None:
        """Lay out the pieces and count their pairs.

        Raises:
            TokvizError: If the distinct pieces have more than 2,147,483,632 bytes.
        """
        lengths = np.diff(pieces.offsets)
        long = lengths > 1
        n_cells = int(lengths[long].sum() + np.count_nonzero(long)) + 1
        if n_cells > _LARGEST_POSITION:
            raise TokvizError(
                f"the distinct pieces of this corpus have {n_cells:,} bytes, more than "
                f"{_LARGEST_POSITION:,}: use a split pattern that cuts more, or less text"
            )
        self._rule = _RULES[settings.tie_break]
        self._min_count = settings.min_count
        self._n_wanted = settings.n_merges
        # Every merge takes at least one token away, so this many are never exceeded.
        n_merges = min(settings.n_merges, n_cells)
        self._n_single = int(pieces.counts[~long].sum())
        self._budget = _FIRST_BUDGET
        self.end: str | None = None
        self._state = _lay_out(pieces, n_cells, n_merges)

    @property
    def n_merges(self) -> int:
        """The merges so far."""
        return int(self._state.numbers[merge_state.N_MERGES])

    @property
    def n_tokens(self) -> int:
        """The tokens of the whole corpus now."""
        return int(self._state.numbers[merge_state.N_TOKENS]) + self._n_single

    def advance(self, seconds: float) -> bool:
        """Merge for about that long; True when all is done."""
        started = time.perf_counter()
        while True:
            reason = kernels.run_merges(
                self._state, self._rule, self._n_wanted, self._min_count, self._budget
            )
            spent = time.perf_counter() - started
            if reason == merge_state.FULL:
                self._make_room()
            elif reason == merge_state.PAUSED:
                pace = min(2.0, max(0.2, seconds / spent))
                self._budget = max(_LEAST_BUDGET, int(self._budget * pace))
                return False
            else:
                if reason != merge_state.FINISHED:
                    self.end = why_it_ends(self._min_count)
                return True

    def merges_from(self, first: int) -> list[tuple[int, int, int]]:
        """Give the merges from an index on: left id, right id, count."""
        n = self.n_merges
        pairs = self._state.merges[first:n].tolist()
        counts = self._state.merge_count[first:n].tolist()
        return [(left, right, count) for (left, right), count in zip(pairs, counts, strict=True)]

    def history(self) -> TrainingHistory:
        """Give the merges so far, with ids from 256 on for the new tokens."""
        n = self.n_merges
        state = self._state
        return TrainingHistory(
            left_id=state.merges[:n, 0].copy(),
            right_id=state.merges[:n, 1].copy(),
            new_id=np.arange(N_BYTES, N_BYTES + n, dtype=np.int32),
            count=state.merge_count[:n].copy(),
            n_tied=state.merge_tied[:n].copy(),
            runner_up_left=state.runner_up[:n, 0].copy(),
            runner_up_right=state.runner_up[:n, 1].copy(),
            runner_up_count=state.runner_up_count[:n].copy(),
            n_tokens=state.tokens_left[:n] + self._n_single,
        )

    def _make_room(self) -> None:
        """Throw away what is stale; where too little comes free, enlarge."""
        kernels.compact(self._state, self._rule)
        state = self._state
        n_fresh = len(state.fresh)
        n_pairs = int(state.numbers[merge_state.N_PAIRS])
        n_occurrences = int(state.numbers[merge_state.N_OCCURRENCES])
        capacity = _capacity(
            n_pairs, len(state.pair_count), min(n_fresh, 2 * len(state.left_group))
        )
        if capacity > len(state.pair_count):
            larger = {name: _enlarged(getattr(state, name), capacity) for name in _BY_PAIR}
            self._state = self._state._replace(**larger)
        capacity = _capacity(n_occurrences, len(state.occurrences), n_fresh)
        if capacity > len(state.occurrences):
            occurrences = _enlarged(state.occurrences, capacity)
            self._state = self._state._replace(occurrences=occurrences)
        _note_capacities(self._state)


_BY_PAIR = (
    "pair_count",
    "pair_start",
    "pair_length",
    "pair_tokens",
    "heap_count",
    "heap_key",
    "heap_pair",
)
"""The arrays that grow with the number of pairs."""


def _capacity(n_used: int, capacity: int, n_wanted: int) -> int:
    """Find the length that an array needs: room for one merge, and a third of it free."""
    return max(n_used * 3 // 2, n_used + n_wanted, capacity)


def _enlarged(array: npt.NDArray[Any], capacity: int) -> npt.NDArray[Any]:
    larger = np.empty((capacity, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def _note_capacities(state: State) -> None:
    state.numbers[merge_state.MOST_PAIRS] = len(state.pair_count)
    state.numbers[merge_state.MOST_OCCURRENCES] = len(state.occurrences)
    state.numbers[merge_state.MOST_GROUPS] = 2 * len(state.left_group)


def _lay_out(pieces: PieceCounts, n_cells: int, n_wanted: int) -> State:
    """Make the state before the first merge."""
    cells = np.empty((n_cells, 3), dtype=np.int32)
    text = np.empty(n_cells, dtype=np.uint8)
    large = np.empty(int(np.count_nonzero(pieces.counts > 0x7FFFFFFF)), dtype=np.int64)
    pair_of_bytes = np.zeros((65536, 2), dtype=np.int64)
    n_tokens, _ = layout_kernels.lay_out(
        pieces.data, pieces.offsets, pieces.counts, cells, text, large, pair_of_bytes
    )
    positions = pair_of_bytes[:, 1]
    n_positions = int(positions.sum())
    n_fresh = 2 * int(positions.max())
    n_ids = N_BYTES + n_wanted
    n_groups = min(n_fresh, 2 * n_ids) + 1
    n_pairs = int(np.count_nonzero(positions)) + n_groups + n_positions // 4
    state = merge_state.State(
        cells=cells,
        large=large,
        text=text,
        numbers=np.zeros(merge_state.N_NUMBERS, dtype=np.int64),
        occurrences=np.empty(n_positions * 5 // 4 + n_fresh, dtype=np.int32),
        pair_count=np.empty(n_pairs, dtype=np.int64),
        pair_start=np.empty(n_pairs, dtype=np.int64),
        pair_length=np.empty(n_pairs, dtype=np.int32),
        pair_tokens=np.empty((n_pairs, 2), dtype=np.int32),
        token_length=np.ones(n_ids, dtype=np.int32),
        token_at=np.zeros(n_ids, dtype=np.int32),
        heap_count=np.empty(n_pairs, dtype=np.int64),
        heap_key=np.empty(n_pairs, dtype=np.int64),
        heap_pair=np.empty(n_pairs, dtype=np.int32),
        tally=np.zeros(merge_state.TALLIED, dtype=np.int32),
        left_group=np.full(n_ids, merge_state.NONE, dtype=np.int32),
        right_group=np.full(n_ids, merge_state.NONE, dtype=np.int32),
        group_old=np.empty(n_groups, dtype=np.int32),
        group_loss=np.empty(n_groups, dtype=np.int64),
        fresh=np.empty((n_fresh, 2), dtype=np.int32),
        merges=np.empty((n_wanted, 2), dtype=np.int32),
        merge_count=np.empty(n_wanted, dtype=np.int64),
        merge_tied=np.empty(n_wanted, dtype=np.int32),
        runner_up=np.empty((n_wanted, 2), dtype=np.int32),
        runner_up_count=np.empty(n_wanted, dtype=np.int64),
        tokens_left=np.empty(n_wanted, dtype=np.int64),
    )
    _note_capacities(state)
    layout_kernels.index_pairs_of_bytes(state, pair_of_bytes)
    state.numbers[merge_state.N_TOKENS] = n_tokens
    state.numbers[merge_state.THRESHOLD] = int(pair_of_bytes[:, 0].max()) + 1
    return state
