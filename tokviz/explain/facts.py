"""What the token card tells, gathered from the document and the tokenizer. Knows no screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokviz import bytetext
from tokviz.explain.describe import CutCharacter, cut_characters, kind, look_alikes
from tokviz.explain.trace import LineageNode, lineage

if TYPE_CHECKING:
    from tokviz.live.document import LiveDocument
    from tokviz.tokenizer import Tokenizer

MAX_SELECTED_TOKENS = 4096
"""A selection of more tokens is not explained."""
_EDGE = 3
"""Bytes of a neighbour that may belong to the same character."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the vocabulary knows about one token.

    Attributes:
        id: Its id.
        token: Its bytes.
        special: Whether it is a special token.
        merge: The number of the merge that makes it, from 1; None if no merge does.
        kind: What sort of text it is.
        lineage: The merges that made it.
        before: The bytes of the token with the id before, None if there is none.
        after: The bytes of the token with the id after, None if there is none.
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
        """Its characters, None if some are not whole."""
        text = bytetext.from_bytes(self.token)
        return None if bytetext.has_raw_bytes(text) else len(text)


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """Where a token stands in the document.

    Attributes:
        index: Its index among the tokens.
        n_tokens: How many tokens there are so far.
        hue: Its colour.
        chars: Its character span.
        bytes: Its byte span.
        row: Its line, from 0.
        column: The character in its line, from 0.
        cut: The characters at its edges of which it holds only some bytes.
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
    """Where a token occurs in the document: how often, and its first indexes."""

    count: int
    first: tuple[int, ...]


def entry_of(tok: Tokenizer, token_id: int) -> Entry:
    """Look a token up in the vocabulary."""
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
    """Look up where a token stands."""
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
    """Find the characters that a token shares with its neighbours."""
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
        tokens: The id and the hue of every token, cut to `MAX_SELECTED_TOKENS`.
        n_tokens: How many there are.
        data: The selected bytes; empty if there are too many tokens.
        whole: Whether the selection begins and ends where tokens do.
    """

    first: int
    tokens: tuple[tuple[int, int], ...]
    n_tokens: int
    data: bytes
    whole: bool


def selected_tokens(
    live: LiveDocument, tok: Tokenizer, span: tuple[int, int]
) -> SelectedTokens | None:
    """Look up the tokens of a character span; None for fewer than two, or if some are unknown."""
    start, end = span
    if start >= end:
        return None
    # Asking may encode what was not known, which moves the indexes behind it: ask twice.
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
