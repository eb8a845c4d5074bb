"""Vocabularies given as a merge list: two neighbours merge if this very pair is in the list."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, islice
from typing import Protocol, TypeVar

from tokviz import bytetext
from tokviz.encoding.encoded import Bulk, Columns
from tokviz.encoding.merging import merge_piece
from tokviz.encoding.model import Merge
from tokviz.errors import VocabularyError
from tokviz.pretokenize.patterns import SplitPattern
from tokviz.pretokenize.split import split

Item = TypeVar("Item", bound=Hashable)

_CACHED_PIECES = 65_536
_LONGEST_CACHED_PIECE = 64


class MergeSource(Protocol):
    """Where a vocabulary and its merges come from."""

    def token(self, token_id: int) -> bytes | None:
        """Give a token's bytes, None if there is no such id."""
        ...

    def id_of(self, token: bytes) -> int | None:
        """Give a token's id, None if there is no such token."""
        ...

    def ids(self) -> Sequence[int]:
        """List every id, ascending."""
        ...

    def merge(self, rank: int) -> Merge:
        """Give a merge by its index."""
        ...

    def merges(self) -> list[Merge]:
        """List all merges in order."""
        ...

    def pair_rank(self, left: bytes, right: bytes) -> int | None:
        """Give the index of a merge, the first if it is listed twice; None if it is not listed."""
        ...

    def first_rank(self, token: bytes) -> int | None:
        """Give the index of the first merge that makes a token, None if none does."""
        ...

    def is_listed_again(self, token: bytes) -> bool:
        """Tell whether several merges make a token: files converted from ranks list every pair."""
        ...

    def columns(self) -> Columns:
        """Give the tokens and merges as compiled code takes them."""
        ...


class ListedMerges:
    """A vocabulary and its merges, as somebody gave them."""

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

    def merge(self, rank: int) -> Merge:
        """Give a merge by its index."""
        return self._merges[rank]

    def merges(self) -> list[Merge]:
        """List all merges in order."""
        return list(self._merges)

    def pair_rank(self, left: bytes, right: bytes) -> int | None:
        """Give the index of a merge, the first if it is listed twice; None if it is not listed."""
        return self._ranks.get((left, right))

    def first_rank(self, token: bytes) -> int | None:
        """Give the index of the first merge that makes a token, None if none does."""
        return self._rank_of_product.get(token)

    def is_listed_again(self, token: bytes) -> bool:
        """Tell whether several merges make a token."""
        return token in self._listed_again

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


class MergeListModel:
    """Byte pair encoding by an ordered list of merges.

    The merge with the lowest index is applied first, of equal ones the leftmost. This differs from
    ranks of concatenations where two pairs have the same concatenation and only one is listed.
    """

    def __init__(
        self,
        source: MergeSource,
        split_pattern: SplitPattern,
        *,
        ignore_merges: bool = False,
    ) -> None:
        """Take the vocabulary with its merges, and the split pattern.

        Args:
            source: The vocabulary and the merges.
            split_pattern: How text is cut into pieces.
            ignore_merges: A piece that is a token becomes it, whatever the merges make of it.
        """
        self.source = source
        self.token, self.id_of, self.ids = source.token, source.id_of, source.ids
        self.pair_rank, self.merges = source.pair_rank, source.merges
        self._pattern = split_pattern
        self._ignore_merges = ignore_merges
        self.bulk = Bulk(source, whole=ignore_merges)
        self._pieces: dict[bytes, list[int]] = {}

    def rank(self, token_id: int) -> int | None:
        """Give the index of the merge that makes a token, None if no merge does.

        Of several that are listed it is the one that happens when the token's bytes are encoded.
        """
        token = self.token(token_id) or b""
        if not self.source.is_listed_again(token):
            return self.source.first_rank(token)
        applied: list[int] = []
        tokens = merge_piece(token, self.pair_rank, on_merge=lambda _, rank: applied.append(rank))
        return applied[-1] if tokens == [token] else None

    def first_rank(self, token_id: int) -> int | None:
        """Give the index of the first merge that is listed for a token, None if none is."""
        return self.source.first_rank(self.token(token_id) or b"")

    def merge_of(self, token_id: int) -> Merge | None:
        """Give the merge that makes a token, None if no merge does; see `rank`."""
        rank = self.rank(token_id)
        return None if rank is None else self.source.merge(rank)

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
        """Build tables now."""
        self.bulk.prepare()

    def with_pattern(self, split_pattern: SplitPattern) -> MergeListModel:
        """Make a model of the same vocabulary and merges that cuts text by another pattern."""
        made = MergeListModel(self.source, split_pattern, ignore_merges=self._ignore_merges)
        made._pieces, made.bulk = self._pieces, self.bulk
        return made

    def _encode_piece(self, piece: bytes) -> list[int]:
        known = self._pieces.get(piece)
        if known is not None:
            return known
        ids: list[int] = []
        whole = self._ignore_merges and self.id_of(piece) is not None
        for token in [piece] if whole else merge_piece(piece, self.pair_rank):
            token_id = self.id_of(token)
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
