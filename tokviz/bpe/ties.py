"""Which pair is merged when several have the highest count: one entry per rule.

All three originals count every neighbouring pair, overlapping ones too: "aaa" holds the pair
("a", "a") twice although only one of the two can be merged. They differ in ties alone.

To add a rule, add an entry to `TIE_BREAKS`; the compiled merge loop (`tokviz.bpe.kernels`) needs
its order too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from tokviz.errors import TokvizError

TieBreakName = Literal["first", "lexicographic", "smallest_id"]

Pair = tuple[int, int]
"""The ids of a left and a right token, without any offset for special tokens."""

Position = tuple[int, int]
"""Where a pair first occurs: the index of the piece and the byte offset in it."""


class TieBreak(NamedTuple):
    """A rule for ties.

    Attributes:
        name: Its name in the API.
        title: What it prefers, in a few words.
        source: The program whose merges it reproduces.
        order: Makes a sort key of a pair, of its tokens' bytes (by id) and of where it first occurs
            now. Of the pairs with the highest count the one with the lowest key is merged.
        looks_at_positions: Whether `order` needs the position, which then has to be searched for.
    """

    name: TieBreakName
    title: str
    source: str
    order: Callable[[Pair, Sequence[bytes], Position], Any]
    looks_at_positions: bool = False


def _first(pair: Pair, tokens: Sequence[bytes], position: Position) -> Position:
    """Prefer the pair whose first occurrence in the corpus, as it stands now, comes first.

    minbpe counts the pairs of the whole corpus anew at every step into a dict, which keeps the
    order of insertion, and takes `max(stats, key=stats.get)`: the first of the greatest. Every
    neighbouring pair is counted (`zip(ids, ids[1:])`), so "aaa" counts ("a", "a") twice.
    Source: karpathy/minbpe `minbpe/base.py` (`get_stats`) and `minbpe/regex.py` (`train`).
    """
    return position


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
    """Make a key that sorts byte strings from the greatest down; a prefix comes behind."""
    return (*(255 - byte for byte in token), 256)


def _smallest_id(pair: Pair, tokens: Sequence[bytes], position: Position) -> Pair:
    """Prefer the smallest pair of ids: bytes before merged tokens, older ones before younger.

    rustbpe keeps a heap of (count, pair) in which equal counts are ordered by ascending pair of
    ids. Its first count takes every window of two ids, so "aaa" counts ("a", "a") twice, and the
    changes it books later agree with that. Hugging Face's trainer orders ties the same way, but its
    ids of the bytes follow its own alphabet.
    Source: karpathy/rustbpe `src/lib.rs` (`impl Ord for MergeJob`, `count_pairs_parallel`);
    huggingface/tokenizers `tokenizers/src/models/bpe/trainer.rs` (`impl Ord for Merge`).
    """
    return pair


TIE_BREAKS: dict[str, TieBreak] = {
    rule.name: rule
    for rule in (
        TieBreak(
            "first",
            "the pair that occurs first",
            "karpathy/minbpe",
            _first,
            looks_at_positions=True,
        ),
        TieBreak(
            "lexicographic",
            "the greatest pair of byte strings",
            "Stanford CS336 assignment 1",
            _lexicographic,
        ),
        TieBreak("smallest_id", "the smallest pair of ids", "karpathy/rustbpe", _smallest_id),
    )
}
"""Every rule by name."""


def get_tie_break(name: str) -> TieBreak:
    """Find a rule by its name.

    Raises:
        TokvizError: If there is no such rule.
    """
    if name not in TIE_BREAKS:
        raise TokvizError(f"unknown tie-break rule {name!r}: choose {', '.join(TIE_BREAKS)}")
    return TIE_BREAKS[name]
