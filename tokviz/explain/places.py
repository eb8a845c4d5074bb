"""Places to explain: a token or selection with the text around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize.patterns import compiled_cut

if TYPE_CHECKING:
    from tokviz.chat.rendering import Rendering
    from tokviz.live.document import LiveDocument
    from tokviz.tokenizer.tokenizer import Tokenizer

MOST_BYTES = 16_384
"""Maximum length of a selection that is explained."""
WINDOW = 4096
"""Number of characters considered on either side in a long text."""
ELSEWHERE = -1
"""The id of a token that another tokenizer than its own explains."""
_TEXT_ENDS = "the text ends there"


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a text to explain.

    Attributes:
        text: Byte text around it, starting at a pre-token.
        start: Its first byte in `text`.
        end: The byte after it.
        is_end: Whether `text` ends where the user may continue writing.
        ends: A description of what ends at the end of `text`; empty if `text` is only a window.
        parse_specials: Whether special tokens in `text` are recognized.
        is_alone: Whether there is no surrounding text, as on a token's page.
        id: The id of the token to explain, None for a selection; `ELSEWHERE` for a token of
            another tokenizer.
        is_point: Whether to explain whichever token is at `start`.
        note: An additional note.
        cursor: The byte at which the cursor is, None if unknown.
    """

    text: str
    start: int
    end: int
    is_end: bool = True
    ends: str = _TEXT_ENDS
    parse_specials: bool = True
    is_alone: bool = False
    id: int | None = None
    is_point: bool = False
    note: str = ""
    cursor: int | None = None

    @property
    def data(self) -> bytes:
        """The bytes of the stretch."""
        return bytetext.to_bytes(self.text)[self.start : self.end]

    def is_in(self, tok: Tokenizer) -> bool:
        """Return whether a tokenizer produces this token at this place of the text."""
        tokenization = tok.byte_text.tokenize(self.text, self.parse_specials)
        spans = zip(tokenization.byte_spans.tolist(), tokenization.ids, strict=True)
        return any(
            (start, end, token_id) == (self.start, self.end, self.id)
            for (start, end), token_id in spans
        )


def token_place(live: LiveDocument, index: int) -> Place:
    """Return the place of a token of a document."""
    token = live.token(index)
    place = _place(live, token.start, token.end, token.byte_start, token.byte_end)
    return replace(place, id=token.id)


def selected_place(live: LiveDocument, start: int, end: int) -> Place:
    """Return the place of the characters of a document from `start` to `end`."""
    near_end = min(end, start + MOST_BYTES)
    return _place(live, start, near_end, live.byte_offset(start), live.byte_offset(end))


def bytes_place(data: bytes, token_id: int | None = None) -> Place:
    """Return a place for bytes without surrounding text, such as a token of a vocabulary."""
    text = bytetext.from_bytes(data)
    return Place(text, 0, len(data), False, "no text follows", is_alone=True, id=token_id)


def rendered_place(rendering: Rendering, index: int) -> Place:
    """Return the place of a token of a rendered conversation.

    The text between two special tokens is taken as a whole if encoding it yields the same token;
    otherwise only the token's part of the conversation is.
    """
    tok = rendering.tokenizer
    if rendering.is_special(index):
        place = _among(rendering, index, index, index + 1, specials=True)
        return place if place.is_in(tok) else replace(place, note=_VIRTUAL)
    start, stop = (_reach(rendering, index, step, lambda number: ()) for step in (-1, 1))
    place = _among(rendering, index, start, stop + 1)
    if place.is_in(tok):
        return place
    columns = rendering.from_structure, rendering.message_of, rendering.part_of
    start, stop = (
        _reach(rendering, index, step, lambda number: tuple(column[number] for column in columns))
        for step in (-1, 1)
    )
    return _among(rendering, index, start, stop + 1)


_VIRTUAL = (
    "The template uses this special token, but the vocabulary lacks it. This is the encoding of "
    "its text."
)
_NEAR = 2000
"""Number of tokens of a conversation considered on either side."""


def _reach(
    rendering: Rendering, index: int, step: int, origin: Callable[[int], tuple[int, ...]]
) -> int:
    """Return the last token in a direction before a special token or another origin."""
    here = index
    while 0 <= here + step < len(rendering) and abs(here + step - index) < _NEAR:
        if rendering.is_special(here + step) or origin(here + step) != origin(index):
            break
        here += step
    return here


def _among(
    rendering: Rendering, index: int, start: int, stop: int, *, specials: bool = False
) -> Place:
    """Return the place of a token among the tokens from `start` to `stop`."""
    data = [rendering.token_bytes(number) for number in range(start, stop)]
    first = sum(map(len, data[: index - start]))
    ends = "its part of the conversation ends there"
    if stop == len(rendering):
        ends = "the conversation ends there"
    elif rendering.is_special(stop):
        ends = "a special token comes next"
    return Place(
        bytetext.from_bytes(b"".join(data)),
        first,
        first + len(data[index - start]),
        False,
        ends,
        specials,
        id=rendering.ids[index],
    )


def _place(live: LiveDocument, start: int, end: int, byte_start: int, byte_end: int) -> Place:
    """Return a place with the text around the characters from `start` to `end`."""
    first, last = max(0, start - WINDOW), min(end + WINDOW, live.n_chars)
    if first:
        before = live.text_in(first, start)
        safe = None if live.tokenizer is None else live.tokenizer.split_pattern.safe_cut
        cut = compiled_cut(safe).search(before, 2) if safe else None
        first += max(0, before.find("\n") + 1) if cut is None else cut.start()
    byte, is_end = live.byte_offset(first), last == live.n_chars
    span = byte_start - byte, byte_end - byte
    ends = _TEXT_ENDS if is_end else ""
    return Place(live.text_in(first, last), *span, is_end, ends, live.parse_specials)
