"""Frames: all facts about one merge, computed in a worker, without widgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokviz.training.python_trainer import merge_pair
from tokviz.training.replay.merge_reasons import effect_on_text
from tokviz.tui.widgets.token_text import TextTokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tokviz.text.sentences import Sentence
    from tokviz.training.replay.corpus import TokenizedPreToken
    from tokviz.training.replay.reference_training import ReferenceTraining
    from tokviz.training.replay.replay import PairCount, Replay
    from tokviz.training.replay.steps import MergeStep
    from tokviz.training.replay.text import ReplayText, TokensAt

N_CANDIDATES = 10
N_PRE_TOKENS = 60
"""Number of pre-tokens shown of a large corpus."""
TINY_PRE_TOKENS = 2_000
"""Number of pre-tokens shown of a tiny corpus, all of them."""

Pair = tuple[int, int, int]
"""The ids of a merged pair and of the new token."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate pair for a merge.

    Attributes:
        pair: The pair and how often it occurs.
        share: Its count relative to the highest one.
        number: The merge of this pair, now or later; None if it is never merged.
        count_width: The digits of the highest count, with separators.
    """

    pair: PairCount
    share: float
    number: int | None
    count_width: int


@dataclass(frozen=True, slots=True)
class ShownPreToken:
    """A pre-token of the corpus before and after a merge.

    Attributes:
        count: The number of its occurrences.
        before: The ids of its tokens before the merge.
        after: Those after it.
        cut: Whether a longer pre-token is cut at the start, and at the end.
    """

    count: int
    before: Sequence[int]
    after: Sequence[int]
    cut: tuple[bool, bool] = (False, False)

    @property
    def is_changed(self) -> bool:
        """True if the merge changes it."""
        return len(self.before) != len(self.after)


@dataclass(frozen=True, slots=True)
class OwnFrame:
    """The user's text before and after a merge, with the merged parts highlighted."""

    before: TextTokens
    after: TextTokens


@dataclass(frozen=True, slots=True)
class Frame:
    """All facts about one merge that take a moment to compute.

    Attributes:
        number: The merge; 0 is the start, where before and after are the same.
        pair: The ids of the merged pair and of the new token; None at the start.
        candidates: The most frequent pairs before it; empty without counts.
        changed: The pre-tokens that it changes, the most frequent first.
        pre_tokens: Pre-tokens of the corpus in the order of their first occurrence.
        own: The user's text; None if there is none.
        revision: The revision of that text.
        reasons: Sentences on its count, or without counts on its effect on the user's text.
    """

    number: int
    pair: Pair | None
    candidates: tuple[Candidate, ...]
    changed: tuple[ShownPreToken, ...]
    pre_tokens: tuple[ShownPreToken, ...]
    own: OwnFrame | None
    revision: int
    reasons: tuple[Sentence, ...] = ()


def make_frame(
    replay: Replay,
    number: int,
    text: ReplayText | None,
    revision: int,
    beside: ReferenceTraining | None = None,
) -> Frame:
    """Compute the frame of a merge. Only for the worker, because it changes the replay's state.

    Args:
        replay: The replay.
        number: The merge, 0 for the start.
        text: The user's text.
        revision: The revision of that text.
        beside: A training for reference if the replay has no counts.
    """
    before = replay.state(max(number - 1, 0))
    pair = pair_of(replay.step(number)) if number else None
    candidates = _candidates(replay, before.top_pairs(N_CANDIDATES))
    holding = before.pre_tokens_of_next(N_PRE_TOKENS) if number else []
    n_shown = TINY_PRE_TOKENS if replay.is_tiny else N_PRE_TOKENS
    own, reasons = None, replay.details(number, holding) if number else ()
    if text is not None:
        own = own_frame(text.at(before.k), text.at(number))
        if number and not replay.has_counts:
            tokens = len(own.before.ids), len(own.after.ids)
            reasons = (
                effect_on_text(replay.step(number), len(own.after.highlight_starts), *tokens),
            )
            if beside is not None:
                reasons = (*reasons, beside.sentence(number))
    return Frame(
        number,
        pair,
        candidates,
        () if replay.is_tiny else tuple(_shown(pre_token, pair) for pre_token in holding),
        tuple(_shown(pre_token, pair) for pre_token in before.pre_tokens(0, n_shown)),
        own,
        revision,
        reasons,
    )


def _candidates(replay: Replay, pairs: Sequence[PairCount]) -> tuple[Candidate, ...]:
    highest = max((pair.count for pair in pairs), default=1)
    return tuple(
        Candidate(
            pair,
            pair.count / max(highest, 1),
            replay.merge_of_pair(pair.left_id, pair.right_id),
            len(f"{highest:,}"),
        )
        for pair in pairs
    )


def pair_of(step: MergeStep) -> Pair:
    """Return the ids of a merge's pair and of its new token."""
    return step.left_id, step.right_id, step.new_id


def _shown(pre_token: TokenizedPreToken, pair: Pair | None) -> ShownPreToken:
    after = pre_token.ids if pair is None else merged(pre_token.ids, pair)
    return ShownPreToken(
        pre_token.count, pre_token.ids, after, (pre_token.start > 0, pre_token.is_cut)
    )


def merged(ids: Sequence[int], pair: Pair) -> list[int]:
    """Merge all occurrences of a pair, from left to right.

    >>> merged([1, 1, 1, 2], (1, 1, 9))
    [9, 1, 2]
    """
    left, right, new = pair
    return merge_pair(list(ids), (left, right), new)


def own_frame(before: TokensAt, after: TokensAt) -> OwnFrame:
    """Return a text's tokens before and after a merge, with the merged parts highlighted."""
    lit = lit_stretches(before.byte_ends, after.byte_ends)
    return OwnFrame(
        TextTokens(before.ids, before.byte_ends, *lit),
        TextTokens(after.ids, after.byte_ends, *lit),
    )


def lit_stretches(
    before: npt.NDArray[np.int64], after: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find the token boundaries that a merge removes, with the start and end of each new token.

    Args:
        before: The token ends before the merge; shape (n,).
        after: The token ends after it, a subset; shape (m,).
    """
    places = np.searchsorted(after, before)
    kept = after[np.minimum(places, max(len(after) - 1, 0))] == before if len(after) else places < 0
    middles = before[~kept]
    last = places[~kept]
    starts = np.where(last > 0, after[np.maximum(last - 1, 0)], 0)
    return starts.astype(np.int64), middles, after[last]
