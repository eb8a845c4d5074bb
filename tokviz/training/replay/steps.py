"""The merges of a tokenizer, one by one: from a training's history, a merge list, or from ranks.

Merges are numbered from 1; "after k merges" means that the merges 1 … k were made.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokviz.tokenizer.encoding.byte_rows import ByteRows
from tokviz.tokenizer.encoding.packed import PackedMerges
from tokviz.training.history import NO_TOKEN
from tokviz.training.ties import TokenPair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokviz.tokenizer.encoding.merging import Merge
    from tokviz.tokenizer.tokenizer import Tokenizer
    from tokviz.training.history import TrainingHistory


@dataclass(frozen=True, slots=True)
class MergeStep:
    """One merge, and what else could have been merged.

    What only the history of a training knows is None for a vocabulary without one.

    Attributes:
        k: Its number, from 1 on.
        left_id: The id of the left token; -1 for a token that no merge makes (some vocabularies of
            ranks hold such), whose `left` is empty and whose `right` is the whole token.
        right_id: The id of the right token, or -1.
        new_id: The id of the token that is made.
        left: The bytes of the left token.
        right: The bytes of the right token.
        count: How often the pair occurs just before, overlapping occurrences too.
        n_tied: How many pairs have this count, this one included: 1 means no tie.
        runner_up: The pair that would have been merged instead; None if there is no other.
        runner_up_count: How often it occurs; 0 if there is none.
        n_tokens_before: The tokens of the whole corpus before the merge.
        n_tokens_after: Those after it.
    """

    k: int
    left_id: int
    right_id: int
    new_id: int
    left: bytes
    right: bytes
    count: int | None = None
    n_tied: int | None = None
    runner_up: TokenPair | None = None
    runner_up_count: int | None = None
    n_tokens_before: int | None = None
    n_tokens_after: int | None = None

    @property
    def pair(self) -> TokenPair:
        """The pair that is merged."""
        return TokenPair(self.left_id, self.right_id, self.left, self.right)

    @property
    def token(self) -> bytes:
        """The bytes of the token that is made."""
        return self.left + self.right

    @property
    def is_reached(self) -> bool:
        """Whether a merge makes the token."""
        return self.left_id != NO_TOKEN

    @property
    def margin(self) -> int | None:
        """How much more often the pair occurs than the runner-up; None without counts."""
        if self.count is None or self.runner_up_count is None:
            return None
        return self.count - self.runner_up_count

    @property
    def n_replaced(self) -> int | None:
        """How often the merge replaces the pair: less than `count` where occurrences overlap.

        In "aaa" the pair a + a occurs twice and is replaced once. None without counts.
        """
        if self.n_tokens_before is None or self.n_tokens_after is None:
            return None
        return self.n_tokens_before - self.n_tokens_after


class ListedSteps:
    """The merges of a merge list, numbered by `PackedMerges.numbered`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take the tokenizer, whose merges are listed."""
        self._tokenizer = tokenizer
        self._merges = tokenizer.merges
        assert isinstance(tokenizer.tables, PackedMerges)
        starts = tokenizer.tables.numbered
        self.tokens: Sequence[bytes] = [b"".join(self._merges[at]) for at in starts]
        self.n_merges = len(self.tokens)
        self._starts = [*starts, len(self._merges)]

    def merge(self, k: int) -> Merge | None:
        """Give the two tokens of the merge with the number k; None if it never happens."""
        start, end = self._starts[k - 1 : k + 1]
        merge = self._tokenizer.merge_of(_id(self._tokenizer, self.tokens[k - 1]))
        return merge if merge in self._merges[start:end] else None

    def step(self, k: int) -> MergeStep:
        """Give the merge with the number k."""
        return _uncounted(self, self._tokenizer, k)

    def new_ids(self) -> Sequence[int]:
        """List the ids of the tokens that the merges make."""
        return [_id(self._tokenizer, token) for token in self.tokens]


class RecordedSteps(ListedSteps):
    """The merges of a training, with the counts of its history."""

    def __init__(self, tokenizer: Tokenizer, history: TrainingHistory, n_bytes: int) -> None:
        """Take what belongs together: the history uses the tokenizer's ids.

        Args:
            tokenizer: The tokenizer that was learned.
            history: Its merges.
            n_bytes: The bytes of the corpus: its tokens before the first merge.
        """
        super().__init__(tokenizer)
        self.history = history
        self._n_bytes = n_bytes

    def step(self, k: int) -> MergeStep:
        """Give the merge with the number k."""
        history, at = self.history, k - 1
        left_id, right_id = int(history.left_id[at]), int(history.right_id[at])
        runner_up = None
        if history.runner_up_left[at] != NO_TOKEN:
            ids = int(history.runner_up_left[at]), int(history.runner_up_right[at])
            runner_up = TokenPair(*ids, *map(self._tokenizer.token_bytes, ids))
        return MergeStep(
            k,
            left_id,
            right_id,
            int(history.new_id[at]),
            *self._merges[at],
            count=int(history.count[at]),
            n_tied=int(history.n_tied[at]),
            runner_up=runner_up,
            runner_up_count=int(history.runner_up_count[at]),
            n_tokens_before=int(history.n_tokens[at - 1]) if at else self._n_bytes,
            n_tokens_after=int(history.n_tokens[at]),
        )


class RankedSteps:
    """The merges of a vocabulary of ranks, recovered one by one when they are looked at.

    Every token of two bytes and more counts as a merge, lowest rank first. So the number of merges
    is known at once, while recovering all of them takes seconds.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take a tokenizer whose tokens' ids are their ranks."""
        self._tokenizer = tokenizer
        import numpy as np

        tokens = ByteRows.of(tokenizer.tables)
        merged = np.flatnonzero(tokens.lengths > 1)
        self.tokens: Sequence[bytes] = tokens.take(merged)
        self._ranks = array("I", np.array(tokenizer.tables.ids(), np.uint32)[merged].tobytes())
        self.n_merges = len(self.tokens)

    def merge(self, k: int) -> Merge | None:
        """Give the two tokens of the merge with the number k; None if it never happens."""
        return self._tokenizer.merge_of(self._ranks[k - 1])

    def step(self, k: int) -> MergeStep:
        """Give the merge with the number k."""
        return _uncounted(self, self._tokenizer, k)

    def new_ids(self) -> Sequence[int]:
        """List the ids of the tokens that the merges make."""
        return self._ranks


MergeSteps = ListedSteps | RankedSteps
"""All merges of a tokenizer in their order."""


def _uncounted(steps: MergeSteps, tokenizer: Tokenizer, k: int) -> MergeStep:
    token, merge = steps.tokens[k - 1], steps.merge(k)
    new_id = _id(tokenizer, token)
    if merge is None:
        return MergeStep(k, NO_TOKEN, NO_TOKEN, new_id, b"", token)
    left, right = merge
    return MergeStep(k, _id(tokenizer, left), _id(tokenizer, right), new_id, left, right)


def _id(tokenizer: Tokenizer, token: bytes) -> int:
    token_id = tokenizer.token_id(token)
    assert token_id is not None, "a tokenizer's merges are of its tokens"
    return token_id
