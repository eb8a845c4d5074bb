"""Tie-breaking rules: the pair to merge when several have the highest count.

All three original programs count every neighboring pair, including overlapping ones: "aaa" contains
the pair ("a", "a") twice although only one of the two can be merged. They differ only in ties.

To add a rule, add an entry to `TIE_BREAKS`, which the command line, the Train screen, Replay and
the comparison of trainings use. Such a rule trains in plain Python, regardless of the size of the
corpus. Compiled loops also need a number below, which the entry names, a sort key in
`tokviz.training.heap_kernels`, and one in `tokviz.training.replay.pairs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tokviz.errors import TokvizError
from tokviz.text.sentences import Sentence

FIRST, LEXICOGRAPHIC, SMALLEST_ID = range(3)
"""The rules that the compiled loops support."""

Pair = tuple[int, int]
"""The ids of a left and a right token, without an offset for special tokens."""

Position = tuple[int, int]
"""The first occurrence of a pair: the index of the pre-token and the byte offset in it."""


class TokenPair(NamedTuple):
    """Two neighboring tokens, with the ids that the user sees."""

    left_id: int
    right_id: int
    left: bytes
    right: bytes

    @property
    def words(self) -> Sentence:
        """The pair as a part of a sentence."""
        return self.left, " + ", self.right


class TieBreak(NamedTuple):
    """A tie-breaking rule.

    Attributes:
        name: Its name in the API.
        title: A short description of the preferred pair.
        source: The program whose merges it reproduces.
        order: Returns a sort key from a pair, the bytes of tokens by id, and the pair's current
            first occurrence. Of the pairs with the highest count, the one with the lowest key is
            merged. No merge may lower the key of a pair.
        why: Explains why the first of two pairs was merged.
        compiled: The number of the rule in the compiled loops; None if they do not support it.
        needs_position: True if `order` needs the position, which then must be searched.
    """

    name: str
    title: str
    source: str
    order: Callable[[Pair, Sequence[bytes], Position], Any]
    why: Callable[[TokenPair, TokenPair], Sentence]
    compiled: int | None = None
    needs_position: bool = False


def _first(pair: Pair, tokens: Sequence[bytes], position: Position) -> Position:
    """Prefer the pair whose first occurrence in the corpus, after the merges so far, comes first.

    minbpe counts the pairs of the whole corpus again at every step into a dict, which keeps the
    order of insertion, and takes `max(stats, key=stats.get)`: the first of the greatest. Every
    neighboring pair is counted (`zip(ids, ids[1:])`), so "aaa" counts ("a", "a") twice.
    Source: karpathy/minbpe `minbpe/base.py` (`get_stats`) and `minbpe/regex.py` (`train`).
    """
    return position


def _why_first(pair: TokenPair, second: TokenPair) -> Sentence:
    return (*pair.words, " first occurs before ", *second.words, ".")


def _lexicographic(
    pair: Pair, tokens: Sequence[bytes], position: Position
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Prefer the greatest pair of byte strings, compared as a tuple.

    CS336 merges `max(pairs, key=lambda pair: (count[pair], pair))` where a pair is a tuple of two
    `bytes`: the left tokens are compared first. Every neighbouring pair of a pre-token is counted.
    Source: Stanford CS336 assignment 1, "BPE tokenizer training" ("deterministically break ties in
    pair frequency by preferring the lexicographically greater pair").
    """
    left, right = pair
    return _descending(tokens[left]), _descending(tokens[right])


def _descending(token: bytes) -> tuple[int, ...]:
    """Return a key that sorts byte strings in descending order, a prefix after longer strings."""
    return (*(255 - byte for byte in token), 256)


def _why_lexicographic(pair: TokenPair, second: TokenPair) -> Sentence:
    side, first, other = "left", pair.left, second.left
    if first == other:
        side, first, other = "right", pair.right, second.right
    comparison = (f": its {side} token ", first, " sorts after ", other, ".")
    return (*pair.words, " is greater than ", *second.words, *comparison)


def _smallest_id(pair: Pair, tokens: Sequence[bytes], position: Position) -> Pair:
    """Prefer the smallest pair of ids: bytes before merged tokens, older tokens before newer ones.

    rustbpe keeps a heap of (count, pair) in which equal counts are ordered by ascending pair of
    ids. Its first count takes every window of two ids, so "aaa" counts ("a", "a") twice, and the
    changes it books later agree with that. Hugging Face's trainer orders ties the same way, but its
    ids of the bytes follow its own alphabet.
    Source: karpathy/rustbpe `src/lib.rs` (`impl Ord for MergeJob`, `count_pairs_parallel`);
    huggingface/tokenizers `tokenizers/src/models/bpe/trainer.rs` (`impl Ord for Merge`).
    """
    return pair


def _why_smallest_id(pair: TokenPair, second: TokenPair) -> Sentence:
    return (*pair.words, f" has the ids {pair[:2]}, before {second[:2]} of ", *second.words, ".")


TIE_BREAKS: dict[str, TieBreak] = {
    rule.name: rule
    for rule in (
        TieBreak(
            "first",
            "the pair that occurs first",
            "karpathy/minbpe",
            _first,
            _why_first,
            FIRST,
            needs_position=True,
        ),
        TieBreak(
            "lexicographic",
            "the greatest pair of byte strings",
            "Stanford CS336 assignment 1",
            _lexicographic,
            _why_lexicographic,
            LEXICOGRAPHIC,
        ),
        TieBreak(
            "smallest_id",
            "the smallest pair of ids",
            "karpathy/rustbpe",
            _smallest_id,
            _why_smallest_id,
            SMALLEST_ID,
        ),
    )
}
"""The rules by name."""


def get_tie_break(name: str) -> TieBreak:
    """Return the rule with this name.

    Raises:
        TokvizError: If no rule has this name.
    """
    if name not in TIE_BREAKS:
        raise TokvizError(f"unknown tie-break rule {name!r}: choose {', '.join(TIE_BREAKS)}")
    return TIE_BREAKS[name]
