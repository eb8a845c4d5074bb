"""From a text that a Jinja template rendered to spans with reasons and a mask."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.spans import Reason, Span, content
from tokviz.encoding.specials import Search, search_for, segments


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A rendered text and where things are in it, in characters.

    Attributes:
        text: What the template gives.
        contents: Contents found: (start, end, message, part), ascending.
        n_lost: Contents that were not found.
        generation: Stretches within generation marks; None if the template has none.
        turns: What the assistant writes in messages with tool calls: (start, end, message).
    """

    text: str
    contents: list[tuple[int, int, int, int]]
    n_lost: int
    generation: list[tuple[int, int]] | None
    turns: list[tuple[int, int, int]]

    @classmethod
    def from_answer(cls, body: dict[str, Any]) -> MarkedText:
        """Read an answer of the job `chat_template`."""
        generation = body["generation"]
        return cls(
            body["text"],
            [(start, end, message, part) for start, end, message, part in body["contents"]],
            body["n_lost"],
            None if generation is None else [(start, end) for start, end in generation],
            [(start, end, message) for start, end, message in body["turns"]],
        )


def to_spans(
    marked: MarkedText, conversation: Conversation, special_tokens: Collection[str]
) -> list[Span]:
    """Make spans: special tokens are recognised outside the contents only.

    With generation marks, what is within them is learned. Without, it is the assistant's text, the
    special token that ends it, and what it writes in a turn with tool calls.
    """
    pieces = list(_pieces(marked, conversation, special_tokens))
    if marked.generation is not None:
        return list(_cut_and_set(pieces, [(a, b, -1) for a, b in marked.generation], True))
    turns = [(start, _last_special_end(pieces, start, end), m) for start, end, m in marked.turns]
    return list(_cut_and_set(pieces, turns, False))


Piece = tuple[int, Span]
"""Where a span starts, and the span."""


def _pieces(
    marked: MarkedText, conversation: Conversation, special_tokens: Collection[str]
) -> Iterator[Piece]:
    """Cut the text at contents and special tokens, and say whose each stretch is."""
    contents = marked.contents
    search = search_for(filter(None, special_tokens))
    position = 0
    for number, (start, end, message, part) in enumerate(contents):
        before = contents[number - 1][2] if number else -1
        yield from _structure(marked.text, position, start, before, message, conversation, search)
        role = conversation.messages[message].role
        parts = conversation.messages[message].parts
        kind = parts[part].kind if part < len(parts) else "text"
        yield start, content(marked.text[start:end], role, kind, message, part)
        position = end
    last = contents[-1][2] if contents else -1
    yield from _structure(marked.text, position, len(marked.text), last, last, conversation, search)


def _structure(
    text: str,
    start: int,
    end: int,
    before: int,
    after: int,
    conversation: Conversation,
    search: Search,
) -> Iterator[Piece]:
    """Cut structure between two contents at its special tokens.

    Up to the first special token and the white space behind it, it ends the message before; the
    rest begins the message after. An assistant's text that a special token follows is ended by it.
    """
    owner = after if before < 0 else before
    ended = before < 0
    is_assistant = before >= 0 and conversation.messages[before].role == "assistant"
    may_end = is_assistant and (before != after or end == len(text))
    position = start
    for stretch, is_special in segments(text[start:end], search):
        stretch_start, position = position, position + len(stretch)
        matters = is_special or not stretch.isspace()
        if is_special and may_end:
            yield stretch_start, Span(stretch, Reason.END, True, True, True, before)
        else:
            if ended and matters:
                owner = after
            yield stretch_start, Span(stretch, Reason.HEADER, special=is_special, message=owner)
        ended = ended or is_special
        may_end = may_end and not matters


def _last_special_end(pieces: list[Piece], start: int, end: int) -> int:
    """Give where the last special token of a stretch ends: what follows it is not written."""
    ends = [
        at + len(span.text)
        for at, span in pieces
        if span.special and start <= at and at + len(span.text) <= end
    ]
    return ends[-1] if ends else end


def _cut_and_set(
    pieces: list[Piece], stretches: list[tuple[int, int, int]], only_these: bool
) -> Iterator[Span]:
    """Set what is learned by stretches of the text.

    Args:
        pieces: The pieces, side by side.
        stretches: (start, end, message) of what is learned, ascending; message -1 keeps the
            reasons, any other makes tool calls of the structure within.
        only_these: Whether nothing else is learned.
    """
    for at, span in pieces:
        position, end = at, at + len(span.text)
        overlapping = [s for s in stretches if s[0] < end and s[1] > at]
        if span.special or not overlapping:
            yield _set(span, overlapping, only_these, end)
            continue
        for start, stop, message in overlapping:
            if start > position:
                yield _set(_part(span, at, position, start), [], only_these, start)
                position = start
            cut = min(stop, end)
            if cut > position:
                part = _part(span, at, position, cut)
                yield _set(part, [(start, stop, message)], only_these, cut)
                position = cut
        if position < end:
            yield _set(_part(span, at, position, end), [], only_these, end)


def _part(span: Span, at: int, start: int, end: int) -> Span:
    return span._replace(text=span.text[start - at : end - at])


def _set(span: Span, within: list[tuple[int, int, int]], only_these: bool, end: int) -> Span:
    if not within:
        return span._replace(learned=False) if only_these else span
    message = within[0][2]
    if message < 0 or span.reason is not Reason.HEADER:
        return span._replace(learned=True)
    reason = Reason.END if span.special and end == within[0][1] else Reason.TOOL_CALL
    return span._replace(reason=reason, learned=True, message=message)
