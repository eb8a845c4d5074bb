r"""Conversion between merge lists and ranks of concatenations that give the same tokens.

With ranks, two neighbors x, y merge if x + y is a token, lowest rank first. Let (l, r) be the two
tokens that all other ranks merge the bytes of a token t to. Wherever t's bytes lie between two
final token borders, lower ranks have made l and r of them before t's turn, as in t alone. So no
other pair merges to t, and the list of these pairs by rank is equivalent to the ranks.

>>> last_merge(b"abc", {b"ab": 0, b"bc": 1, b"abc": 2}.get)
(b'ab', b'c')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tokviz.tokenizer.encoding.merging import Merge, merge_pre_token
from tokviz.tokenizer.tokenizer import Tokenizer


def last_merge(token: bytes, rank_of: Callable[[bytes], int | None]) -> Merge | None:
    """Return the two tokens that ranks merge to a token, or None if they never do."""
    # Include ranks above the token's own: some vocabularies learn a part after the whole.
    parts = merge_pre_token(
        token,
        lambda left, right: None if len(left) + len(right) == len(token) else rank_of(left + right),
    )
    return (parts[0], parts[1]) if len(parts) == 2 else None


def listed_merges(tokenizer: Tokenizer) -> list[Merge]:
    """List merges that give the same tokens as the tokenizer, its ranks or its own merges."""
    if not tokenizer.by_ranks:
        return tokenizer.merges
    ranks = ranks_of(tokenizer)
    merges = [last_merge(token, ranks.get) for token in ranks if len(token) > 1]
    return [merge for merge in merges if merge is not None]


def first_unmerged(tokenizer: Tokenizer) -> bytes | None:
    """Find a token that the merges do not make from its bytes; None if they make all tokens.

    Only for such tokens does it matter whether a whole pre-token is looked up before merging.
    """
    return next(unmerged(tokenizer), None)


def unmerged(tokenizer: Tokenizer) -> Iterator[bytes]:
    """Yield the tokens of several bytes that the merges do not make from them, by id."""
    for token in ranks_of(tokenizer):
        if len(token) > 1 and merge_pre_token(token, tokenizer.pair_rank) != [token]:
            yield token


def why_no_ranks(tokenizer: Tokenizer) -> str | None:
    """Explain why ranks would give other tokens than the merges; None if they would not."""
    if tokenizer.by_ranks:
        return None
    ranks = ranks_of(tokenizer)
    # A file that was converted from ranks lists every pair that makes each token.
    listed: dict[bytes, dict[Merge, int]] = {}
    for index, (left, right) in enumerate(tokenizer.merges):
        listed.setdefault(left + right, {}).setdefault((left, right), index)
    last_index = -1
    for token in ranks:
        if len(token) == 1:
            continue
        ways, merge = listed.get(token, {}), last_merge(token, ranks.get)
        if merge is None and tokenizer.ignore_merges and not ways:
            continue
        if not ways:
            return f"no merge makes the token {token[:40]!r}, yet by its rank one would"
        (left, right), first_index = next(iter(ways.items()))
        if first_index < last_index:
            return f"its ids are not in the order of its merges: {token[:40]!r} is merged earlier"
        if merge not in ways:
            return f"by ranks, other tokens than {left[:40]!r} + {right[:40]!r} would merge"
        last_index = ways[merge]
    return None


def ranks_of(tokenizer: Tokenizer) -> dict[bytes, int]:
    """Return the ordinary tokens and their ids, ascending."""
    return dict(zip(tokenizer.tables.tokens(), tokenizer.tables.ids(), strict=True))
