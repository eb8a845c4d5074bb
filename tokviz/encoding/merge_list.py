"""Vocabularies given as a merge list: two neighbours merge if this very pair is in the list."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TypeVar

from tokviz import bytetext
from tokviz.encoding.merging import merge_piece
from tokviz.encoding.model import Merge
from tokviz.errors import VocabularyError
from tokviz.pretokenize.patterns import SplitPattern
from tokviz.pretokenize.split import split

Item = TypeVar("Item", bound=Hashable)

_CACHED_PIECES = 65_536
_LONGEST_CACHED_PIECE = 64


class MergeListModel:
    """Byte pair encoding by an ordered list of merges.

    The merge with the lowest index is applied first, of equal ones the leftmost. This differs from
    ranks of concatenations where two pairs have the same concatenation and only one is listed.
    """

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Sequence[Merge],
        split_pattern: SplitPattern,
        *,
        ignore_merges: bool = False,
    ) -> None:
        """Take the vocabulary, the merges in order, and the split pattern.

        Args:
            vocab: Token id → bytes.
            merges: The merges.
            split_pattern: How text is cut into pieces.
            ignore_merges: A piece that is a token becomes it, whatever the merges make of it.
        """
        self._tokens = {token_id: vocab[token_id] for token_id in sorted(vocab)}
        latest_first = reversed(self._tokens.values()), reversed(self._tokens)
        self._id_of = dict(zip(*latest_first, strict=True))
        self._merges = [(left, right) for left, right in merges]
        self._products = [left + right for left, right in self._merges]
        self._pattern = split_pattern
        self._ignore_merges = ignore_merges
        self._pieces: dict[bytes, list[int]] = {}

    @cached_property
    def _ranks(self) -> dict[Merge, int]:
        """The index of each merge; of those that are listed twice the first counts."""
        return _first_indexes(self._merges)

    @cached_property
    def _rank_of_product(self) -> dict[bytes, int]:
        """The index of the first merge that makes a token."""
        return _first_indexes(self._products)

    @cached_property
    def _listed_again(self) -> set[bytes]:
        """The tokens of more than one merge: files converted from ranks list every pair."""
        first = self._rank_of_product
        return {token for index, token in enumerate(self._products) if first[token] != index}

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
        made = zip(self._merges, self._products, strict=True)
        for index, ((left, right), product) in enumerate(made):
            if not (left in id_of and right in id_of and product in id_of):
                missing = next(token for token in (left, right, product) if token not in id_of)
                raise VocabularyError(
                    f"merge {index} ({left!r} + {right!r}): {missing!r} is not a token"
                )

    def token(self, token_id: int) -> bytes | None:
        """Give a token's bytes, None if there is no such id."""
        return self._tokens.get(token_id)

    def id_of(self, token: bytes) -> int | None:
        """Give a token's id, None if there is no such token."""
        return self._id_of.get(token)

    def ids(self) -> list[int]:
        """List every id, ascending."""
        return list(self._tokens)

    def rank(self, token_id: int) -> int | None:
        """Give the index of the merge that makes a token, None if no merge does.

        Of several that are listed it is the one that happens when the token's bytes are encoded.
        """
        token = self._tokens.get(token_id, b"")
        if token not in self._listed_again:
            return self._rank_of_product.get(token)
        applied: list[int] = []
        tokens = merge_piece(token, self.pair_rank, on_merge=lambda _, rank: applied.append(rank))
        return applied[-1] if tokens == [token] else None

    def first_rank(self, token_id: int) -> int | None:
        """Give the index of the first merge that is listed for a token, None if none is."""
        return self._rank_of_product.get(self._tokens.get(token_id, b""))

    def pair_rank(self, left: bytes, right: bytes) -> int | None:
        """Give the index of a merge in the list, None if it is not listed."""
        return self._ranks.get((left, right))

    def merge_of(self, token_id: int) -> Merge | None:
        """Give the merge that makes a token, None if no merge does; see `rank`."""
        rank = self.rank(token_id)
        return None if rank is None else self._merges[rank]

    def merges(self) -> list[Merge]:
        """List all merges in order."""
        return list(self._merges)

    def encode(self, text: str) -> list[int]:
        """Encode byte text that holds no special token.

        Raises:
            VocabularyError: If the text holds a byte that has no token.
        """
        ids: list[int] = []
        for start, end in split(self._pattern, text).spans():
            ids.extend(self._encode_piece(bytetext.to_bytes(text[start:end])))
        return ids

    def prepare(self) -> None:
        """Nothing takes long here."""

    def _encode_piece(self, piece: bytes) -> list[int]:
        known = self._pieces.get(piece)
        if known is not None:
            return known
        ids: list[int] = []
        whole = self._ignore_merges and piece in self._id_of
        for token in [piece] if whole else merge_piece(piece, self.pair_rank):
            token_id = self._id_of.get(token)
            if token_id is None:
                raise VocabularyError(f"the byte 0x{token[0]:02x} has no token in this vocabulary")
            ids.append(token_id)
        if len(piece) <= _LONGEST_CACHED_PIECE:
            if len(self._pieces) >= _CACHED_PIECES:
                for old in list(islice(self._pieces, _CACHED_PIECES // 2)):
                    self._pieces.pop(old, None)
            self._pieces[piece] = ids
        return ids


def _first_indexes(items: Sequence[Item]) -> dict[Item, int]:
    latest_first = range(len(items) - 1, -1, -1)
    return dict(zip(reversed(items), latest_first, strict=True))
