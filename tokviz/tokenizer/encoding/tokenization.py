"""The tokens of a text with their positions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokviz.text import bytetext
from tokviz.text.notebooks import displayed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@displayed("tokenization")
class Tokenization:
    """The tokens of one text.

    Attributes:
        text: The text, in which lone surrogates are replaced. Bytes that are not UTF-8 are escaped
            as by Python's `surrogateescape`.
        ids: The token ids, n of them.
        byte_spans: Start and end of every token in the text's bytes; shape (n, 2), int64. The spans
            tile the bytes.
        pre_tokens: Start and end of every pre-token or special token in bytes; shape (m, 2),
            int64. They tile the bytes too.
        special: Whether each token is a special token; shape (n,), bool.
        n_replaced: Number of lone surrogates in the text that became U+FFFD; the spans refer to the
            text after that replacement.
    """

    def __init__(
        self,
        text: str,
        ids: list[int],
        byte_spans: npt.NDArray[np.int64],
        pre_tokens: npt.NDArray[np.int64],
        special: npt.NDArray[np.bool_],
        n_replaced: int,
        bytes_of: Callable[[int], bytes | None],
    ) -> None:
        """Create from the attributes, and the function that returns the bytes of a token."""
        self.text, self.ids, self.n_replaced = text, ids, n_replaced
        self.byte_spans, self.pre_tokens, self.special = byte_spans, pre_tokens, special
        self._bytes_of: Callable[[int], bytes | None] | None = bytes_of

    def __repr__(self) -> str:
        """Return the start of the text, and the number of tokens."""
        return f"<Tokenization of {self.text[:40]!r}: {len(self.ids):,} tokens>"

    @cached_property
    def tokens(self) -> list[bytes]:
        """The bytes of each token in the vocabulary; normalization can make the text differ."""
        assert self._bytes_of is not None
        known = {token_id: self._bytes_of(token_id) or b"" for token_id in {*self.ids}}
        return [known[token_id] for token_id in self.ids]

    @cached_property
    def char_spans(self) -> npt.NDArray[np.int64]:
        """Start and end of the characters of which each token has bytes; shape (n, 2), int64.

        Tokens that share the bytes of a character have spans that overlap.
        """
        import numpy as np

        return np.stack(char_offsets(self.text, *self.byte_spans.T), axis=1)

    def __eq__(self, other: object) -> bool:
        """Return whether all attributes are equal."""
        return isinstance(other, Tokenization) and self._content == other._content

    def __hash__(self) -> int:
        """Return a hash of the text."""
        return hash(self.text)

    @property
    def _content(self) -> tuple[object, ...]:
        arrays = (it.tolist() for it in (self.byte_spans, self.pre_tokens, self.special))
        return self.text, self.tokens, self.ids, self.n_replaced, *arrays

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, with the tokens instead of the function for them."""
        return {**vars(self), "tokens": self.tokens, "_bytes_of": None}


def char_offsets(
    text: str, firsts: npt.NDArray[np.int64], lasts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Convert starts and ends in bytes of byte text to characters; parts of one count as it."""
    import numpy as np

    if not text.isascii():
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        starts = np.append(0, np.cumsum(bytetext.utf8_sizes(codes)))
        firsts = np.searchsorted(starts, firsts, "right") - 1
        lasts = np.searchsorted(starts, lasts, "left")
    return firsts, lasts


def spans_between(borders: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the spans between n + 1 borders, shape (n, 2), as a view of the borders."""
    import numpy as np

    spans: npt.NDArray[np.int64] = np.ndarray((len(borders) - 1, 2), np.int64, borders, 0, (8, 8))
    spans.flags.writeable = False
    return spans
