"""Vocabularies given as a merge list: two neighbours merge if this very pair is in the list."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import TypeVar

from tokviz.encoding.encoded import Columns
from tokviz.encoding.merging import Merge, PairRank, merge_piece
from tokviz.errors import VocabularyError

Item = TypeVar("Item", bound=Hashable)


class ListedMerges:
    """A vocabulary and its merges, as somebody gave them.

    The merge with the lowest index is applied first, of equal ones the leftmost. This differs from
    ranks of concatenations where two pairs have the same concatenation and only one is listed.
    """

    by_ranks = False

    def __init__(self, vocab: Mapping[int, bytes], merges: Sequence[Merge]) -> None:
        """Take the vocabulary, token id → bytes, and the merges in order."""
        self._tokens = {token_id: vocab[token_id] for token_id in sorted(vocab)}
        latest_first = reversed(self._tokens.values()), reversed(self._tokens)
        self._id_of = dict(zip(*latest_first, strict=True))
        self._merges = [(left, right) for left, right in merges]

    @cached_property
    def _ranks(self) -> dict[Merge, int]:
        return _first_indexes(self._merges)

    @cached_property
    def _products(self) -> list[bytes]:
        """What each merge makes; the vocabulary's own object where it is a token."""
        known = self._tokens
        of = self._id_of.get
        made = (left + right for left, right in self._merges)
        return [known.get(of(token, -1), token) for token in made]

    @cached_property
    def _rank_of_product(self) -> dict[bytes, int]:
        return _first_indexes(self._products)

    @cached_property
    def _listed_again(self) -> set[bytes]:
        """What several merges make: files that were converted from ranks list every pair."""
        first = self._rank_of_product
        return {token for index, token in enumerate(self._products) if first[token] != index}

    def token(self, token_id: int) -> bytes | None:
        """Give a token's bytes, None if there is no such id."""
        return self._tokens.get(token_id)

    def id_of(self, token: bytes) -> int | None:
        """Give a token's id, None if there is no such token."""
        return self._id_of.get(token)

    def ids(self) -> list[int]:
        """List every id, ascending."""
        return list(self._tokens)

    def tokens(self) -> list[bytes]:
        """List the tokens of these ids."""
        return list(self._tokens.values())

    def merges(self) -> list[Merge]:
        """List all merges in order."""
        return list(self._merges)

    def pair_rank(self, left: bytes, right: bytes) -> int | None:
        """Give the index of a merge, the first if it is listed twice; None if it is not listed."""
        return self._ranks.get((left, right))

    def first_rank(self, token_id: int) -> int | None:
        """Give the index of the first merge that makes a token, None if none does."""
        return self._rank_of_product.get(self._tokens.get(token_id, b""))

    def rank(self, token_id: int) -> int | None:
        """Give the index of the merge that makes a token when its bytes are encoded."""
        token = self._tokens.get(token_id, b"")
        is_doubtful = token in self._listed_again
        return applied_rank(token, self.pair_rank) if is_doubtful else self.first_rank(token_id)

    def merge_of(self, token_id: int) -> Merge | None:
        """Give the merge that makes a token, None if no merge does; see `rank`."""
        rank = self.rank(token_id)
        return None if rank is None else self._merges[rank]

    def columns(self) -> Columns:
        """Give the tokens and merges as compiled code takes them."""
        place = {token: place for place, token in enumerate(self._tokens.values())}
        return Columns(
            b"".join(self._tokens.values()),
            array("I", accumulate(map(len, self._tokens.values()), initial=0)),
            array("I", self._tokens),
            array("I", map(place.__getitem__, chain.from_iterable(self._merges))),
        )

    def check(self) -> None:
        """Make sure that the vocabulary and the merges hold together.

        Raises:
            VocabularyError: If two ids have the same bytes, a token is empty, or a merge has a
                part or a product that is no token.
        """
        tokens, id_of = self._tokens, self._id_of
        if len(id_of) < len(tokens):
            first: dict[bytes, int] = {}
            for token_id, token in tokens.items():
                other = first.setdefault(token, token_id)
                if other != token_id:
                    raise VocabularyError(f"tokens {other} and {token_id} are both {token!r}")
        if any(token_id < 0 for token_id in tokens):
            raise VocabularyError(f"token id {min(tokens)} is negative")
        if b"" in id_of:
            raise VocabularyError(f"token {id_of[b'']} is empty: remove it")
        for index, (left, right) in enumerate(self._merges):
            if not (left in id_of and right in id_of and left + right in id_of):
                parts = (left, right, left + right)
                missing = next(token for token in parts if token not in id_of)
                raise VocabularyError(
                    f"merge {index} ({left!r} + {right!r}): {missing!r} is not a token"
                )


def applied_rank(token: bytes, pair_rank: PairRank) -> int | None:
    """Find which of several merges makes a token when its bytes are encoded; None if none does."""
    applied: list[int] = []
    tokens = merge_piece(token, pair_rank, on_merge=lambda _, rank: applied.append(rank))
    return applied[-1] if tokens == [token] else None


def _first_indexes(items: Sequence[Item]) -> dict[Item, int]:
    latest_first = range(len(items) - 1, -1, -1)
    return dict(zip(reversed(items), latest_first, strict=True))
