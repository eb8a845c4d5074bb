"""The merges of a tokenizer in order, from a training history, a merge list or ranks.

Merges are numbered from 1; "after k merges" means after the merges 1 … k.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

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
    """One merge, with its counts and the runner-up.

    Counts are None for a vocabulary without a training history.

    Attributes:
        k: Its number, starting at 1.
        left_id: The id of the left token; -1 for a token that no merge makes, as in some
            vocabularies of ranks; then `left` is empty and `right` is the whole token.
        right_id: The id of the right token, or -1.
        new_id: The id of the new token.
        left: The bytes of the left token.
        right: The bytes of the right token.
        count: Occurrences of the pair just before the merge, including overlapping ones.
        n_tied: Number of pairs with this count, including this one: 1 means no tie.
        runner_up: The pair that would have been merged instead; None if there is no other.
        runner_up_count: Occurrences of the runner-up; 0 if there is none.
        n_tokens_before: Number of tokens of the whole corpus before the merge.
        n_tokens_after: The same after the merge.
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
        """The bytes of the new token."""
        return self.left + self.right

    @property
    def is_reached(self) -> bool:
        """True if a merge makes the token."""
        return self.left_id != NO_TOKEN

    @property
    def margin(self) -> int | None:
        """The difference between the counts of the pair and the runner-up; None without counts."""
        if self.count is None or self.runner_up_count is None:
            return None
        return self.count - self.runner_up_count

    @property
    def n_replaced(self) -> int | None:
        """Number of replacements, less than `count` if occurrences overlap; None without counts.

        In "aaa" the pair a + a occurs twice and is replaced once.
        """
        if self.n_tokens_before is None or self.n_tokens_after is None:
            return None
        return self.n_tokens_before - self.n_tokens_after


class ListedSteps:
    """The merges of a merge list, numbered by `PackedMerges.numbered`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Create from a tokenizer with a merge list."""
        self._tokenizer = tokenizer
        self._merges = tokenizer.merges
        assert isinstance(tokenizer.tables, PackedMerges)
        starts = tokenizer.tables.numbered
        self.tokens: Sequence[bytes] = [b"".join(self._merges[at]) for at in starts]
        self.n_merges = len(self.tokens)
        self._starts = [*starts, len(self._merges)]

    def merge(self, k: int) -> Merge | None:
        """Return the two tokens of merge k; None if it never happens."""
        start, end = self._starts[k - 1 : k + 1]
        merge = self._tokenizer.merge_of(_id(self._tokenizer, self.tokens[k - 1]))
        return merge if merge in self._merges[start:end] else None

    def step(self, k: int) -> MergeStep:
        """Return merge k."""
        return _uncounted(self, self._tokenizer, k)

    def new_ids(self) -> Sequence[int]:
        """Return the ids of the tokens that the merges make."""
        return [_id(self._tokenizer, token) for token in self.tokens]


class RecordedSteps(ListedSteps):
    """The merges of a training, with the counts of its history."""

    def __init__(self, tokenizer: Tokenizer, history: TrainingHistory, n_bytes: int) -> None:
        """Create from a tokenizer and the history of its training.

        Args:
            tokenizer: The trained tokenizer.
            history: Its merges, with the ids of the tokenizer.
            n_bytes: Number of bytes of the corpus, which are its tokens before the first merge.
        """
        super().__init__(tokenizer)
        self.history = history
        self._n_bytes = n_bytes

    def step(self, k: int) -> MergeStep:
        """Return merge k."""
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
    """The merges of a vocabulary of ranks, each recovered on first use.

    Every token of at least two bytes counts as a merge, lowest rank first. So the number of merges
    is known immediately, whereas recovering all of them takes seconds.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Create from a tokenizer whose token ids are its ranks."""
        self._tokenizer = tokenizer
        tokens = ByteRows.of(tokenizer.tables)
        merged = np.flatnonzero(tokens.lengths > 1)
        self.tokens: Sequence[bytes] = tokens.take(merged)
        self._ranks = array("I", np.array(tokenizer.tables.ids(), np.uint32)[merged].tobytes())
        self.n_merges = len(self.tokens)

    def merge(self, k: int) -> Merge | None:
        """Return the two tokens of merge k; None if it never happens."""
        return self._tokenizer.merge_of(self._ranks[k - 1])

    def step(self, k: int) -> MergeStep:
        """Return merge k."""
        return _uncounted(self, self._tokenizer, k)

    def new_ids(self) -> Sequence[int]:
        """Return the ids of the tokens that the merges make."""
        return self._ranks


MergeSteps = ListedSteps | RankedSteps
"""All merges of a tokenizer in order."""


def _uncounted(steps: MergeSteps, tokenizer: Tokenizer, k: int) -> MergeStep:
    token, merge = steps.tokens[k - 1], steps.merge(k)
    new_id = _id(tokenizer, token)
    if merge is None:
        return MergeStep(k, NO_TOKEN, NO_TOKEN, new_id, b"", token)
    left, right = merge
    return MergeStep(k, _id(tokenizer, left), _id(tokenizer, right), new_id, left, right)


def _id(tokenizer: Tokenizer, token: bytes) -> int:
    token_id = tokenizer.token_id(token)
    assert token_id is not None, "the vocabulary contains every token of a merge"
    return token_id
