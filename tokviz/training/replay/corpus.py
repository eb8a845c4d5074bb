"""A corpus at every moment of its training, from its different pre-tokens and the merges alone."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokviz.errors import TokvizError
from tokviz.training.settings import N_BYTES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.training.history import TrainingHistory
    from tokviz.training.pre_token_counts import PreTokenCounts
    from tokviz.training.replay.compiled import CompiledCorpus, CompiledPairs
    from tokviz.training.replay.pairs import CorpusTimes
    from tokviz.training.replay.steps import RecordedSteps
    from tokviz.training.settings import IdLayout, TrainSettings

LADDER_BYTES = 1_000
"""The size of a corpus up to which its pre-tokens are drawn after every merge, one row per
merge.
"""

MOST_PRE_TOKEN_BYTES = 2_000
"""More of a pre-token is not shown: without a split pattern a whole document is one."""

_BYTES_BEFORE = 40
"""So much of it is shown before the place where a merge happens, at least."""


@dataclass(frozen=True, slots=True)
class TokenizedPreToken:
    """One of the different pre-tokens of a corpus, with its tokens, or a part of a long one.

    Attributes:
        index: Its place among the pre-tokens, which are in the order of their first occurrence.
        start: Where in the pre-token the part begins, a border of tokens after any number of
            merges.
        is_cut: Whether the pre-token goes on behind it.
        data: Its bytes.
        count: How often it occurs.
        ids: Its tokens.
        byte_ends: Where each token ends in `data`.
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
        times: When the bytes of the pre-tokens come together.
        pairs: The pairs at one k.
    """

    def __init__(self, times: CorpusTimes, pairs: CompiledPairs, layout: IdLayout) -> None:
        """Take what `open_corpus` has worked out."""
        self.times = times
        self.pairs = pairs
        self._layout = layout

    def __len__(self) -> int:
        """Count the different pre-tokens."""
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
        begun = 0
        for at in range(1, len(data) + 1):
            if at < len(data) and joined[at] <= k:
                latest = max(latest, joined[at])
                continue
            ids.append(self._layout.id_of(255 + latest if latest else data[begun]))
            ends.append(at)
            begun, latest = at, 0
        count, is_cut = int(times.counts[index]), last < end
        return TokenizedPreToken(index, start, is_cut, data, count, tuple(ids), tuple(ends))

    def _border(self, place: int, step: int) -> int:
        """Go on to a byte that no merge ever joins to the one before, or to the end."""
        joined, n_merges = self.times.joined, self.times.n_merges
        while place < len(joined) and joined[place] <= n_merges:
            place += step
        return place

    def pre_tokens(self, first: int, n: int, k: int) -> list[TokenizedPreToken]:
        """Give at most n pre-tokens from an index on, with their tokens after k merges."""
        indexes = range(max(first, 0), min(first + n, len(self)))
        return [self.pre_token(index, k) for index in indexes]

    def pre_tokens_of_merge(self, k: int, n: int) -> list[TokenizedPreToken]:
        """Give pre-tokens in which merge k happens, as they are before it, the most frequent first.

        Of long ones it is the part around the first place.
        """
        import numpy as np

        positions = self.pairs.positions_of(k)
        indexes = np.searchsorted(self.times.offsets, positions, side="right") - 1
        found, firsts = np.unique(indexes, return_index=True)
        order = np.argsort(-self.times.counts[found], kind="stable")[:n]
        places = zip(found[order].tolist(), positions[firsts[order]].tolist(), strict=True)
        return [self.pre_token(index, k - 1, self._start(index, place)) for index, place in places]

    def _start(self, index: int, place: int) -> int:
        """Say where a part begins in which a place of a long pre-token is seen."""
        first, end = self.times.offsets[index : index + 2].tolist()
        near = place - _BYTES_BEFORE
        is_whole = end - first <= MOST_PRE_TOKEN_BYTES or near <= first
        return 0 if is_whole else self._border(near, -1) - first


class CorpusAhead:
    """Works on a corpus in a thread while the tokenizer of its run is read.

    The compiled loops leave the interpreter to others meanwhile.
    """

    def __init__(self) -> None:
        """Begin with nothing to do."""
        self._found: Future[CompiledCorpus] | None = None

    def begin(
        self, history: TrainingHistory, pre_tokens: PreTokenCounts, settings: TrainSettings
    ) -> None:
        """Begin, if the history is sound enough for the loops."""
        import numpy as np

        new_numbers = np.arange(N_BYTES, N_BYTES + len(history))
        for ids in (history.left_id, history.right_id):
            numbers = settings.layout.numbers_of(ids)
            if ((numbers < 0) | (numbers >= new_numbers)).any():
                return
        from tokviz.training.replay.compiled import compiled_corpus

        pool = ThreadPoolExecutor(1, thread_name_prefix="replay")
        # In this context it ends when nobody waits for what this thread does.
        run = copy_context().run
        self._found = pool.submit(run, compiled_corpus, pre_tokens, history, settings.layout)
        pool.shutdown(wait=False)

    def result(self) -> CompiledCorpus | None:
        """Wait for what has been found; None if nothing was begun."""
        return None if self._found is None else self._found.result()


def open_corpus(
    pre_tokens: PreTokenCounts, steps: RecordedSteps, layout: IdLayout, ahead: CorpusAhead | None
) -> ReplayCorpus:
    """Work out when the bytes of a corpus come together, and check the history by it.

    Args:
        pre_tokens: The pre-tokens of the corpus.
        steps: The merges, which are sound.
        layout: The ids of the tokens in the history.
        ahead: What has been begun of that.

    Raises:
        TokvizError: If the pre-tokens are not those of the history.
    """
    from tokviz.training.replay.compiled import compiled_corpus

    found = None if ahead is None else ahead.result()
    times, removed, pairs = found or compiled_corpus(pre_tokens, steps.history, layout)
    _check(steps, removed[1 : steps.n_merges + 1], pre_tokens.n_bytes)
    return ReplayCorpus(times, pairs, layout)


def _check(steps: RecordedSteps, removed: npt.NDArray[np.int64], n_bytes: int) -> None:
    """Compare what the merges do to the pre-tokens with what the history says."""
    import numpy as np

    history = steps.history
    same_tokens = history.n_tokens == n_bytes - np.cumsum(removed)
    # Where a token follows itself, occurrences may overlap: then not all of them are replaced.
    same_counts = np.where(
        history.left_id == history.right_id, history.count >= removed, history.count == removed
    )
    wrong = np.flatnonzero(~(same_tokens & same_counts))
    if len(wrong):
        raise TokvizError(
            f"the history does not fit the pre-tokens of the corpus, first at merge "
            f"{wrong[0] + 1:,}"
        )
