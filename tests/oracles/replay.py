"""A slow Replay that computes every state from the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tests.oracles.train import Pair, count_pairs, replace_pair


def corpus_after(pre_tokens: Sequence[bytes], merges: Sequence[Pair]) -> list[list[int]]:
    """Apply the merges one after another, everywhere; new tokens have the ids from 256."""
    corpus = [list(pre_token) for pre_token in pre_tokens]
    for new, pair in enumerate(merges, 256):
        corpus = [replace_pair(pre_token, pair, new) for pre_token in corpus]
    return corpus


def ranking(
    corpus: Sequence[Sequence[int]], counts: Sequence[int], rule: str, tokens: Sequence[bytes]
) -> list[tuple[Pair, int]]:
    """Order all pairs with their counts as the rule would merge them."""
    stats = count_pairs(corpus, counts)
    pairs = list(stats)  # in the order of their first occurrence
    if rule == "lexicographic":
        pairs.sort(key=lambda pair: (tokens[pair[0]], tokens[pair[1]]), reverse=True)
    elif rule == "smallest_id":
        pairs.sort()
    pairs.sort(key=lambda pair: -stats[pair])
    return [(pair, stats[pair]) for pair in pairs]


def encode_by_ranks_below(pre_token: bytes, ranks: Mapping[bytes, int], limit: int) -> list[bytes]:
    """Encode as tiktoken does with only the ranks below a limit."""

    def rank(token: bytes) -> int | None:
        found = ranks.get(token)
        return found if found is not None and found < limit else None

    if rank(pre_token) is not None:
        return [pre_token]
    tokens = [bytes([byte]) for byte in pre_token]
    while True:
        candidates = [
            (found, i)
            for i, (a, b) in enumerate(pairwise(tokens))
            if (found := rank(a + b)) is not None
        ]
        if not candidates:
            return tokens
        _, i = min(candidates)
        tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
