"""What a tokenizer asks of its vocabulary and merges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tokviz.encoding.encoded import Columns

Merge = tuple[bytes, bytes]
"""The left and the right token of a merge."""


class Tables(Protocol):
    """A vocabulary without its special tokens, and what merges its tokens.

    Attributes:
        by_ranks: Whether any two neighbours merge whose concatenation has a rank; a token's id is
            its rank then. Otherwise two neighbours merge if this very pair is listed.
    """

    by_ranks: bool

    def ids(self) -> Sequence[int]:
        """List every id, ascending."""
        ...

    def tokens(self) -> list[bytes]:
        """List the tokens of these ids."""
        ...

    def token(self, token_id: int) -> bytes | None:
        """Give a token's bytes, None if there is no such id."""
        ...

    def id_of(self, token: bytes) -> int | None:
        """Give a token's id, None if there is no such token."""
        ...

    def rank(self, token_id: int) -> int | None:
        """Give the rank of the merge that makes a token, None if no merge does."""
        ...

    def first_rank(self, token_id: int) -> int | None:
        """Give a rank that is found at once and sorts as `rank` does; None if no merge is known."""
        ...

    def pair_rank(self, left: bytes, right: bytes) -> int | None:
        """Give the rank at which two neighbouring tokens merge, None if they never do."""
        ...

    def merge_of(self, token_id: int) -> Merge | None:
        """Give the merge that makes a token, None if no merge does."""
        ...

    def merges(self) -> list[Merge]:
        """List all merges, lowest rank first."""
        ...

    def columns(self) -> Columns:
        """Give the tokens and merges as compiled code takes them."""
        ...
