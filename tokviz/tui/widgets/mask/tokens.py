"""What the mask's widgets need to know of a rendering, and the labels of its tokens."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Protocol

from rich.cells import cell_len

from tokviz.glyphs import token_label

_KEPT = 65_536


class MaskedTokens(Protocol):
    """Tokens with their mask, as `tokviz.chat` makes them. All columns have one entry per token."""

    @property
    def ids(self) -> array[int]:
        """The token ids."""
        ...

    @property
    def mask(self) -> Sequence[int]:
        """1 for a token that is learned."""
        ...

    @property
    def message_of(self) -> Sequence[int]:
        """The index of the message that a token belongs to, -1 for none."""
        ...

    @property
    def n_kept(self) -> int:
        """How many tokens are trained on; the others are cut off."""
        ...

    def token_bytes(self, index: int) -> bytes:
        """Give the bytes of a token."""
        ...

    def is_special(self, index: int) -> bool:
        """Tell whether a token is a special one."""
        ...


class Labels:
    """The labels of tokens and their widths, worked out once per id.

    They are forgotten when another tokenizer or template gives the ids other meanings.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self._labels: dict[int, tuple[str, int, bool]] = {}

    def clear(self) -> None:
        """Forget all: the ids mean something else from now on."""
        self._labels.clear()

    def of(self, tokens: MaskedTokens, index: int) -> tuple[str, int, bool]:
        """Give a token's label, its width in cells, and whether the token is special."""
        token_id = tokens.ids[index]
        found = self._labels.get(token_id)
        if found is None:
            if len(self._labels) > _KEPT:
                self._labels.clear()
            label = token_label(tokens.token_bytes(index))
            found = self._labels[token_id] = (label, cell_len(label), tokens.is_special(index))
        return found
