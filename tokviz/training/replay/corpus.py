"""A corpus after any number of merges, computed from its distinct pre-tokens and the merges."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tokviz.errors import TokvizError
from tokviz.training.replay.compiled import CompiledCorpus, CompiledPairs, compiled_corpus
from tokviz.training.replay.pairs import CorpusTimes
from tokviz.training.replay.steps import RecordedSteps
from tokviz.training.settings import N_BYTES

if TYPE_CHECKING:
    from tokviz.training.history import TrainingHistory
    from tokviz.training.pre_token_counts import PreTokenCounts
    from tokviz.training.settings import IdLayout, TrainSettings


MOST_PRE_TOKEN_BYTES = 2_000
"""Maximum length of a shown pre-token; without a split pattern, a whole document is one."""

_BYTES_BEFORE = 40
"""Minimum length shown before the position of a merge."""


@dataclass(frozen=True, slots=True)
class TokenizedPreToken:
    """A distinct pre-token of a corpus with its tokens, or a part of a long one.

    Attributes:
        index: Its index among the pre-tokens, in the order of first occurrence.
        start: Start of the part in the pre-token: a token boundary after any number of merges.
        is_cut: Whether the pre-token continues after the part.
        data: Its bytes.
        count: Its occurrences in the corpus.
        ids: Its token ids.
        byte_ends: The end of each token in `data`.
    """

    index: int
    start: int
    is_cut: bool
    data: bytes
    count: int
    ids: tuple[int, ...]
    byte_ends: tuple[int, ...]


class ReplayCorpus:
    """The pre-tokens of a corpus with their tokens and pairs after k merges.

    Attributes:
        times: The join times of the pre-tokens.
        pairs: The pairs after some number of merges.
    """

    def __init__(self, times: CorpusTimes, pairs: CompiledPairs, layout: IdLayout) -> None:
        """Create from the results of `open_corpus`."""
        self.times = times
        self.pairs = pairs
        self._layout = layout

    def __len__(self) -> int:
        """Return the number of distinct pre-tokens."""
        return len(self.times.counts)

    def pre_token(self, index: int, k: int, start: int = 0) -> TokenizedPreToken:
        """Return at most `MOST_PRE_TOKEN_BYTES` of a pre-token with its tokens after k merges."""
        times = self.times
        first, end = int(times.offsets[index]) + start, int(times.offsets[index + 1])
        last = (
            end
            if end - first <= MOST_PRE_TOKEN_BYTES
            else self._border(first + MOST_PRE_TOKEN_BYTES, 1)
        )
        data = times.data[first:last].tobytes()
        ids, ends, latest = [], [], 0
        joined = times.joined[first:last].tolist()
        token_start = 0
        for at in range(1, len(data) + 1):
            if at < len(data) and joined[at] <= k:
                latest = max(latest, joined[at])
                continue
            ids.append(self._layout.id_of(255 + latest if latest else data[token_start]))
            ends.append(at)
            token_start, latest = at, 0
        count, is_cut = int(times.counts[index]), last < end
        return TokenizedPreToken(index, start, is_cut, data, count, tuple(ids), tuple(ends))

    def _border(self, place: int, step: int) -> int:
        """Return the next byte in a direction that no merge joins to the one before, or the end."""
        joined, n_merges = self.times.joined, self.times.n_merges
        while place < len(joined) and joined[place] <= n_merges:
            place += step
        return place

    def pre_tokens(self, first: int, n: int, k: int) -> list[TokenizedPreToken]:
        """Return at most n pre-tokens from an index on, with their tokens after k merges."""
        indexes = range(max(first, 0), min(first + n, len(self)))
        return [self.pre_token(index, k) for index in indexes]

    def pre_tokens_of_merge(self, k: int, n: int) -> list[TokenizedPreToken]:
        """Return pre-tokens in which merge k happens, as before it, the most frequent first.

        For a long pre-token, return the part around the first occurrence.
        """
        positions = self.pairs.positions_of(k)
        indexes = np.searchsorted(self.times.offsets, positions, side="right") - 1
        distinct, firsts = np.unique(indexes, return_index=True)
        order = np.argsort(-self.times.counts[distinct], kind="stable")[:n]
        places = zip(distinct[order].tolist(), positions[firsts[order]].tolist(), strict=True)
        return [self.pre_token(index, k - 1, self._start(index, place)) for index, place in places]

    def _start(self, index: int, place: int) -> int:
        """Return the start of the part that shows a position of a long pre-token."""
        first, end = self.times.offsets[index : index + 2].tolist()
        near = place - _BYTES_BEFORE
        is_whole = end - first <= MOST_PRE_TOKEN_BYTES or near <= first
        return 0 if is_whole else self._border(near, -1) - first


class CorpusPreparation:
    """Prepares a corpus in a thread while the tokenizer of its run is loaded.

    The compiled loops release the GIL.
    """

    def __init__(self) -> None:
        """Create it; `start` starts the thread."""
        self._future: Future[CompiledCorpus] | None = None

    def start(
        self, history: TrainingHistory, pre_tokens: PreTokenCounts, settings: TrainSettings
    ) -> None:
        """Start the thread, unless the history is invalid."""
        new_numbers = np.arange(N_BYTES, N_BYTES + len(history))
        for ids in (history.left_id, history.right_id):
            numbers = settings.layout.numbers_of(ids)
            if ((numbers < 0) | (numbers >= new_numbers)).any():
                return
        pool = ThreadPoolExecutor(1, thread_name_prefix="replay")
        # In a copy of this context, the work is cancelled together with this thread's.
        run = copy_context().run
        self._future = pool.submit(run, compiled_corpus, pre_tokens, history, settings.layout)
        pool.shutdown(wait=False)

    def result(self) -> CompiledCorpus | None:
        """Wait for the result; None if the thread was not started."""
        return None if self._future is None else self._future.result()


def open_corpus(
    pre_tokens: PreTokenCounts,
    steps: RecordedSteps,
    layout: IdLayout,
    preparation: CorpusPreparation | None,
) -> ReplayCorpus:
    """Compute the join times of a corpus, and check the history against them.

    Args:
        pre_tokens: The pre-tokens of the corpus.
        steps: The merges.
        layout: The ids of the tokens in the history.
        preparation: The preparation that was started for them, if any.

    Raises:
        TokvizError: If the pre-tokens are not those of the history.
    """
    prepared = None if preparation is None else preparation.result()
    times, removed, pairs = prepared or compiled_corpus(pre_tokens, steps.history, layout)
    _check(steps, removed[1 : steps.n_merges + 1], pre_tokens.n_bytes)
    return ReplayCorpus(times, pairs, layout)


def _check(steps: RecordedSteps, removed: npt.NDArray[np.int64], n_bytes: int) -> None:
    """Compare the effect of the merges on the pre-tokens with the history.

    Raises:
        TokvizError: If they differ.
    """
    history = steps.history
    same_tokens = history.n_tokens == n_bytes - np.cumsum(removed)
    # Occurrences of a token followed by itself may overlap; then not all are replaced.
    same_counts = np.where(
        history.left_id == history.right_id, history.count >= removed, history.count == removed
    )
    wrong = np.flatnonzero(~(same_tokens & same_counts))
    if len(wrong):
        raise TokvizError(
            f"the history does not fit the pre-tokens of the corpus, first at merge "
            f"{wrong[0] + 1:,}"
        )
