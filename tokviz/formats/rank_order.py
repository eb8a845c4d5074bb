r"""When merge lists and ranks of concatenations give the same tokens, and each as the other.

By ranks, two neighbours x, y merge if x + y is a token, the lowest rank first. Let (l, r) be the
two tokens that the bytes of a token t are merged to by all other ranks. Where t's bytes stand
between two borders that last, lower ranks have made them l and r when t's turn comes, as they do in
t alone; so no other pair of t ever merges, and the list of these pairs, by rank, says the same as
the ranks.

>>> last_merge(b"abc", {b"ab": 0, b"bc": 1, b"abc": 2}.get)
(b'ab', b'c')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tokviz.tokenizer.encoding.merging import Merge, merge_pre_token
from tokviz.tokenizer.tokenizer import Tokenizer


def last_merge(token: bytes, rank_of: Callable[[bytes], int | None]) -> Merge | None:
    """Find the two tokens that ranks merge to a token, None if they never do."""
    # Ranks above the token's own count too: there are vocabularies with a part that is learned
    # after the whole.
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
    """Find a token that its own merges do not make of its bytes, None if they make them all.

    Where a whole pre-token is looked up before it is merged, only such tokens show the difference.
    """
    return next(unmerged(tokenizer), None)


def unmerged(tokenizer: Tokenizer) -> Iterator[bytes]:
    """Find the tokens of several bytes which merges do not make of these bytes, by their ids."""
    for token in ranks_of(tokenizer):
        if len(token) > 1 and merge_pre_token(token, tokenizer.pair_rank) != [token]:
            yield token


def why_no_ranks(tokenizer: Tokenizer) -> str | None:
    """Say why ranks would give other tokens than the tokenizer's merges, None if they do not."""
    if tokenizer.by_ranks:
        return None
    ranks = ranks_of(tokenizer)
    # A file that was converted from ranks lists every pair that makes a token.
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
    """Give the ordinary tokens and their ids, ascending."""
    return dict(zip(tokenizer.tables.tokens(), tokenizer.tables.ids(), strict=True))
