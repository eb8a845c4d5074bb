"""What a tokenizer asks of its vocabulary and merges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tokviz.encoding.encoded import Bulk
from tokviz.pretokenize.patterns import SplitPattern

Merge = tuple[bytes, bytes]
"""The left and the right token of a merge."""


class Model(Protocol):
    """A vocabulary without its special tokens, and how pieces of text become its tokens."""

    source: Any
    """What looks up its tokens and merges: a `RankSource` or a `MergeSource`."""

    bulk: Bulk
    """Its compiled encoder, if there is one."""

    def token(self, token_id: int) -> bytes | None:
        """Give a token's bytes, None if there is no such id."""
        ...

    def id_of(self, token: bytes) -> int | None:
        """Give a token's id, None if there is no such token."""
        ...

    def ids(self) -> Sequence[int]:
        """List every id, ascending."""
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

    def encode(self, text: str) -> list[int]:
        """Encode byte text that holds no special token."""
        ...

    def prepare(self) -> None:
        """Do now what would otherwise delay the first long text."""
        ...

    def with_pattern(self, split_pattern: SplitPattern) -> Model:
        """Make a model of the same vocabulary and merges that cuts text by another pattern."""
        ...
