"""The engine for small corpora, in plain Python; `CompiledTrainer` has the same face."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable
from itertools import compress, pairwise
from typing import TYPE_CHECKING

from tokviz.training.history import NO_TOKEN, TrainingHistory
from tokviz.training.python_trainer import Merge, learn_merges
from tokviz.training.settings import N_BYTES, TrainSettings
from tokviz.training.ties import get_tie_break

if TYPE_CHECKING:
    from tokviz.kernels.memory import Memory
    from tokviz.training.pre_token_counts import FileCounts, PreTokenCounts

SMALL_WORK = 50_000
"""Up to so many tokens to look at, one a microsecond, plain Python is as quick as anything else."""


def is_small(pre_tokens: PreTokenCounts, n_merges: int) -> bool:
    """Tell whether plain Python has little to do.

    A pre-token of n bytes is written anew by at most n - 1 merges.
    """
    work = 0
    for start, end in pairwise(pre_tokens.memory["offsets"]):
        work += (end - start) * min(end - start, n_merges)
        if work > SMALL_WORK:
            return False
    return True


class PythonTrainer:
    """The engine for small corpora; see `tokviz.training.python_trainer`."""

    name = "python"

    def __init__(self, pre_tokens: PreTokenCounts, settings: TrainSettings) -> None:
        """Count the pairs of the pre-tokens."""
        distinct, counts = (
            zip(*pre_tokens.pre_tokens(), strict=True) if len(pre_tokens) else ((), ())
        )
        self._min_count = settings.min_count
        self._n_wanted = settings.n_merges
        self._merges: list[Merge] = []
        self._n_tokens = pre_tokens.n_bytes
        self._tokens: list[list[int]] = []
        self._steps = learn_merges(
            distinct, counts, get_tie_break(settings.tie_break), settings.min_count, self._tokens
        )
        self.end: str | None = None
        """Why no further merge is possible, in words; None while one is."""

    @property
    def n_merges(self) -> int:
        """The merges so far."""
        return len(self._merges)

    @property
    def n_tokens(self) -> int:
        """The tokens of the whole corpus now."""
        return self._merges[-1].n_tokens if self._merges else self._n_tokens

    def advance(self, seconds: float) -> bool:
        """Merge for about that long; True when all is done."""
        until = time.monotonic() + seconds
        while len(self._merges) < self._n_wanted:
            merge = next(self._steps, None)
            if merge is None:
                self.end = why_it_ends(self._min_count)
                return True
            self._merges.append(merge)
            if time.monotonic() >= until:
                return False
        return True

    def merges_from(self, first: int) -> list[tuple[int, int, int]]:
        """Give the merges from an index on: left id, right id, count."""
        return [(*merge.pair, merge.count) for merge in self._merges[first:]]

    def occurrences(self, counts: Iterable[FileCounts]) -> tuple[Memory, Memory]:
        """Say which merges, from 0 on, have happened in some of the pre-tokens, and how often."""
        uses = [0] * (N_BYTES + self.n_merges)
        for _, pre_tokens, times in counts:
            for pre_token, n in zip(pre_tokens, times, strict=True):
                for token in self._tokens[pre_token]:
                    uses[token] += n
        # Wherever a token is there was one of each of its parts before.
        for number in range(self.n_merges - 1, -1, -1):
            for part in self._merges[number].pair:
                uses[part] += uses[N_BYTES + number]
        made = uses[N_BYTES:]
        return _column("i", compress(range(len(made)), made)), _column("q", filter(None, made))

    def history(self) -> TrainingHistory:
        """Give all merges so far."""
        merges = self._merges
        nobody = (NO_TOKEN, NO_TOKEN)
        runners_up = [merge.runner_up or nobody for merge in merges]
        return TrainingHistory(
            left_id=_column("i", (merge.pair[0] for merge in merges)),
            right_id=_column("i", (merge.pair[1] for merge in merges)),
            new_id=_column("i", range(N_BYTES, N_BYTES + len(merges))),
            count=_column("q", (merge.count for merge in merges)),
            n_tied=_column("i", (merge.n_tied for merge in merges)),
            runner_up_left=_column("i", (pair[0] for pair in runners_up)),
            runner_up_right=_column("i", (pair[1] for pair in runners_up)),
            runner_up_count=_column("q", (merge.runner_up_count for merge in merges)),
            n_tokens=_column("q", (merge.n_tokens for merge in merges)),
        )


def _column(item_type: str, values: Iterable[int]) -> memoryview:
    return memoryview(array(item_type, values))


def why_it_ends(min_count: int) -> str:
    """Say why training ends before its goal."""
    if min_count > 1:
        return f"no pair occurs {min_count:,} times or more"
    return "no pair is left to merge"
