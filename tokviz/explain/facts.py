"""Content of the token card, collected from the document and the tokenizer, without UI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokviz.explain.describe import CutCharacter, cut_characters, kind, look_alikes
from tokviz.explain.trace import LineageNode, lineage
from tokviz.text import bytetext

if TYPE_CHECKING:
    from tokviz.live.document import LiveDocument
    from tokviz.tokenizer.tokenizer import Tokenizer

MAX_SELECTED_TOKENS = 4096
"""A selection of more tokens is not explained."""
_EDGE = 3
"""Number of bytes of a neighbor that may belong to the same character."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The vocabulary entry of a token.

    Attributes:
        id: Its id.
        token: Its bytes.
        special: Whether it is a special token.
        merge: The number of the merge that makes it, from 1; None if no merge does.
        kind: A description of its text.
        lineage: The merges that made it.
        before: The bytes of the token with the previous id, None if there is none.
        after: The bytes of the token with the next id, None if there is none.
        look_alikes: Tokens that differ by a leading space or by case.
    """

    id: int
    token: bytes
    special: bool
    merge: int | None
    kind: str
    lineage: LineageNode
    before: bytes | None
    after: bytes | None
    look_alikes: tuple[tuple[bytes, int], ...]

    @property
    def n_chars(self) -> int | None:
        """Number of characters, None if some are not whole."""
        text = bytetext.from_bytes(self.token)
        return None if bytetext.has_raw_bytes(text) else len(text)


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """The position of a token in the document.

    Attributes:
        index: Its index among the tokens.
        n_tokens: Number of tokens known so far.
        hue: Its hue.
        chars: Its character span.
        bytes: Its byte span.
        row: Its line, from 0.
        column: The character in its line, from 0.
        cut: The characters at its edges that it contains only partly.
    """

    index: int
    n_tokens: int
    hue: int
    chars: tuple[int, int]
    bytes: tuple[int, int]
    row: int
    column: int
    cut: tuple[CutCharacter, ...]


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The number of occurrences of a token in the document, and its first indexes."""

    count: int
    first: tuple[int, ...]


def entry_of(tok: Tokenizer, token_id: int) -> Entry:
    """Return a token's vocabulary entry."""
    token = tok.token_bytes(token_id)
    special = tok.is_special(token_id)
    return Entry(
        token_id,
        token,
        special,
        tok.merge_number(token_id),
        "special token" if special else kind(token),
        lineage(tok, token_id),
        tok.bytes_of(token_id - 1),
        tok.bytes_of(token_id + 1),
        () if special else tuple(look_alikes(tok, token)),
    )


def place_of(live: LiveDocument, tok: Tokenizer, index: int) -> TokenPlace:
    """Return the position of a token in a document."""
    info = live.token(index)
    row, column = live.location(info.start)
    return TokenPlace(
        index,
        live.n_tokens,
        info.hue,
        (info.start, info.end),
        (info.byte_start, info.byte_end),
        row,
        column,
        _cut(live, tok, index),
    )


def _cut(live: LiveDocument, tok: Tokenizer, index: int) -> tuple[CutCharacter, ...]:
    """Return the characters that a token shares with its neighbors."""
    first = max(0, index - _EDGE)
    past = min(live.n_tokens, index + _EDGE + 1)
    tokens = [tok.token_bytes(token_id) for token_id, _ in live.tokens_slice(first, past)]
    here = index - first
    if tokens[here].isascii():
        return ()
    before = b"".join(tokens[:here])[-_EDGE:]
    after = b"".join(tokens[here + 1 :])[:_EDGE]
    return tuple(cut_characters(before, tokens[here], after))


@dataclass(frozen=True, slots=True)
class SelectedTokens:
    """A selection that touches several tokens.

    Attributes:
        first: Index of the first token.
        tokens: The id and the hue of every token, at most `MAX_SELECTED_TOKENS`.
        n_tokens: Number of tokens.
        data: The selected bytes; empty if there are too many tokens.
        whole: Whether the selection starts and ends at token boundaries.
    """

    first: int
    tokens: tuple[tuple[int, int], ...]
    n_tokens: int
    data: bytes
    whole: bool


def selected_tokens(
    live: LiveDocument, tok: Tokenizer, span: tuple[int, int]
) -> SelectedTokens | None:
    """Return the tokens of a character span; None for fewer than two, or if some are unknown."""
    start, end = span
    if start >= end:
        return None
    # Looking up a token may encode its chunk, which shifts later indexes, so look up twice.
    for offset in (start, end - 1):
        live.token_index_at(offset)
    first, last = live.token_index_at(start), live.token_index_at(end - 1)
    if first is None or last is None or last <= first:
        return None
    n_tokens = last - first + 1
    tokens = tuple(live.tokens_slice(first, min(last + 1, first + MAX_SELECTED_TOKENS)))
    if n_tokens > MAX_SELECTED_TOKENS:
        return SelectedTokens(first, tokens, n_tokens, b"", True)
    data = b"".join(tok.token_bytes(token_id) for token_id, _ in tokens)
    first_byte, last_byte = live.byte_offset(start), live.byte_offset(end)
    head = first_byte - live.token(first).byte_start
    if head < 0 or len(data) < head + last_byte - first_byte:
        return None
    selected = data[head : head + last_byte - first_byte]
    return SelectedTokens(first, tokens, n_tokens, selected, selected == data)
