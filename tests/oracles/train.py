"""Byte pair encoding learned the slow way: all pairs of the corpus are counted at every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tokviz.training.python_trainer import Merge

Pair = tuple[int, int]


def learn(
    pre_tokens: Sequence[bytes],
    counts: Sequence[int],
    rule: str,
    n_merges: int,
    min_count: int = 1,
) -> list[Merge]:
    """Learn merges as the original of each tie-break rule does.

    `first` is minbpe's `max(stats, key=stats.get)` over a dict filled in the order of the corpus,
    `lexicographic` is CS336's maximum of (count, pair of byte strings), `smallest_id` is rustbpe's
    heap order: the highest count, then the smallest pair of ids.
    """
    corpus = [list(pre_token) for pre_token in pre_tokens]
    tokens = [bytes([byte]) for byte in range(256)]
    merges: list[Merge] = []
    while len(merges) < n_merges:
        stats = count_pairs(corpus, counts)
        if rule == "first":
            ranking = sorted(stats, key=lambda pair: -stats[pair])  # stable: keeps the dict's order
        elif rule == "lexicographic":
            ranking = sorted(
                stats,
                key=lambda pair: (stats[pair], (tokens[pair[0]], tokens[pair[1]])),
                reverse=True,
            )
        else:
            ranking = sorted(stats, key=lambda pair: (-stats[pair], pair))
        if not ranking or stats[ranking[0]] < min_count:
            break
        best = ranking[0]
        corpus = [replace_pair(pre_token, best, len(tokens)) for pre_token in corpus]
        tokens.append(tokens[best[0]] + tokens[best[1]])
        runner_up = ranking[1] if len(ranking) > 1 else None
        merges.append(
            Merge(
                best,
                stats[best],
                sum(count == stats[best] for count in stats.values()),
                runner_up,
                0 if runner_up is None else stats[runner_up],
                sum(
                    len(pre_token) * count for pre_token, count in zip(corpus, counts, strict=True)
                ),
            )
        )
    return merges


def count_pairs(corpus: Sequence[Sequence[int]], counts: Sequence[int]) -> dict[Pair, int]:
    """Count every two neighbors, including overlapping pairs, in the order of first occurrence."""
    stats: dict[Pair, int] = {}
    for pre_token, count in zip(corpus, counts, strict=True):
        for pair in pairwise(pre_token):
            stats[pair] = stats.get(pair, 0) + count
    return stats


def replace_pair(pre_token: Sequence[int], pair: Pair, new: int) -> list[int]:
    """Replace a pair from left to right."""
    merged: list[int] = []
    for token in pre_token:
        if merged and (merged[-1], token) == pair:
            merged[-1] = new
        else:
            merged.append(token)
    return merged


def replaced(pre_tokens: Mapping[bytes, int], merges: Sequence[Pair]) -> list[int]:
    """Count how many occurrences each merge replaces in some pre-tokens, by applying all merges."""
    corpus = [list(pre_token) for pre_token in pre_tokens]
    found = []
    for number, pair in enumerate(merges):
        after = [replace_pair(pre_token, pair, 256 + number) for pre_token in corpus]
        counts = zip(corpus, after, pre_tokens.values(), strict=True)
        found.append(sum((len(old) - len(new)) * count for old, new, count in counts))
        corpus = after
    return found
