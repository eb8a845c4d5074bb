"""Byte pair encoding as in the textbook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise


def encode_by_merges(pre_token: bytes, merges: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    """Apply the listed merges: always the lowest in the list, of equal ones the leftmost."""
    tokens = [bytes([byte]) for byte in pre_token]
    while True:
        candidates = [
            (merges.index(pair), i) for i, pair in enumerate(pairwise(tokens)) if pair in merges
        ]
        if not candidates:
            return tokens
        _, i = min(candidates)
        tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]


def last_merge(
    pre_token: bytes, ranks: Mapping[tuple[bytes, bytes], int]
) -> tuple[bytes, bytes] | None:
    """Encode a pre-token by listed merges: give the last one applied, None if it is not one
    token.
    """
    tokens, last = [bytes([byte]) for byte in pre_token], None
    while found := [(ranks[pair], i) for i, pair in enumerate(pairwise(tokens)) if pair in ranks]:
        _, i = min(found)
        last = tokens[i], tokens[i + 1]
        tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
    return last if len(tokens) == 1 else None


def encode_by_ranks(pre_token: bytes, ranks: Mapping[bytes, int]) -> list[bytes]:
    """Join the neighbors whose concatenation has the lowest rank, of equal ones the leftmost."""
    if pre_token in ranks:
        return [pre_token]
    tokens = [bytes([byte]) for byte in pre_token]
    while True:
        candidates = [
            (ranks[a + b], i) for i, (a, b) in enumerate(pairwise(tokens)) if a + b in ranks
        ]
        if not candidates:
            return tokens
        _, i = min(candidates)
        tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
