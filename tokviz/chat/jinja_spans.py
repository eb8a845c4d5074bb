"""From a text that a Jinja template rendered to spans with reasons and a mask."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.spans import Reason, TemplateSpan, content
from tokviz.tokenizer.encoding.specials import Search, search_for, segments

GIVEN_BESIDE = ("tools", "documents")
"""What a template is given of a conversation beside its messages."""

MOST_TURNS = 64
"""Of so many messages the whole turn is found, which takes two to four renderings each."""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A rendered text and where things are in it, in characters.

    Attributes:
        text: What the template gives.
        contents: Contents found: (start, end, message, part), ascending; part -1 for what stands
            beside the content, such as reasoning.
        lost: What was not found, or not whole: (message, key).
        generation: Stretches within generation marks; None if the template has none.
        turns: What the assistant writes in messages with tool calls or with something beside the
            content: (start, end, message).
    """

    text: str
    contents: list[tuple[int, int, int, int]]
    lost: list[tuple[int, str]]
    generation: list[tuple[int, int]] | None
    turns: list[tuple[int, int, int]]

    def turns_missed(self, conversation: Conversation) -> int:
        """Count the turns that were not looked for, since there are too many.

        Of these the content is found, but not what the template writes around a call or reasoning.
        """
        if self.generation is not None:
            return 0
        wanted = {message for _, _, message, part in self.contents if part < 0}
        for index, message in enumerate(conversation.messages):
            if any(part.kind == "tool_call" for part in message.parts):
                wanted.add(index)
        return max(0, len(wanted) - MOST_TURNS)

    @classmethod
    def from_answer(cls, body: dict[str, Any]) -> MarkedText:
        """Read an answer of the job `chat_template`."""
        generation = body["generation"]
        return cls(
            body["text"],
            [(start, end, message, part) for start, end, message, part in body["contents"]],
            [(message, key) for message, key in body["lost"]],
            None if generation is None else [(start, end) for start, end in generation],
            [(start, end, message) for start, end, message in body["turns"]],
        )


def to_spans(
    marked: MarkedText, conversation: Conversation, special_tokens: Collection[str]
) -> list[TemplateSpan]:
    """Make spans: special tokens are recognised outside the contents only.

    With generation marks, what is within them is learned. Without, it is the assistant's text, the
    special token that ends it, what it writes in a turn with tool calls or reasoning, and what
    stands between its reasoning and its content.
    """
    pieces = list(_pieces(marked, conversation, special_tokens))
    if marked.generation is not None:
        return list(_cut_and_set(pieces, [(a, b, -1, None) for a, b in marked.generation], True))
    stretches: list[Stretch] = []
    for start, end, message in marked.turns:
        calls = any(part.kind == "tool_call" for part in conversation.messages[message].parts)
        reason = Reason.TOOL_CALL if calls else Reason.ASSISTANT_TEXT
        at, behind = _last_special(pieces, start, end)
        stretches += [(start, at, message, reason), (at, behind, message, Reason.END)]
    for (_, end, message, before), (start, _, other, after) in pairwise(marked.contents):
        is_assistant = conversation.messages[message].role == "assistant"
        if message == other and is_assistant and min(before, after) < 0:
            stretches.append((end, start, message, Reason.ASSISTANT_TEXT))
    return list(_cut_and_set(pieces, sorted(stretches, key=itemgetter(0)), False))


Piece = tuple[int, TemplateSpan]
"""Where a span starts, and the span."""
Stretch = tuple[int, int, int, Reason | None]
"""What is learned: start, end, message, and the reason of the structure within; None keeps it."""


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
        kind = parts[part].kind if 0 <= part < len(parts) else "text"
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
            yield stretch_start, TemplateSpan(stretch, Reason.END, True, True, True, before)
        else:
            if ended and matters:
                owner = after
            yield (
                stretch_start,
                TemplateSpan(stretch, Reason.HEADER, special=is_special, message=owner),
            )
        ended = ended or is_special
        may_end = may_end and not matters


def _last_special(pieces: list[Piece], start: int, end: int) -> tuple[int, int]:
    """Give where the last special token of a stretch is: what follows it is not written."""
    found = [
        (at, at + len(span.text))
        for at, span in pieces
        if span.special and start <= at and at + len(span.text) <= end
    ]
    return found[-1] if found else (end, end)


def _cut_and_set(
    pieces: list[Piece], stretches: list[Stretch], only_these: bool
) -> Iterator[TemplateSpan]:
    """Set what is learned by stretches of the text.

    Args:
        pieces: The pieces, side by side.
        stretches: What is learned, ascending.
        only_these: Whether nothing else is learned.
    """
    for at, span in pieces:
        position, end = at, at + len(span.text)
        overlapping = [s for s in stretches if s[0] < end and s[1] > at]
        if span.special or not overlapping:
            yield _set(span, overlapping, only_these)
            continue
        for stretch in overlapping:
            start, stop = stretch[:2]
            if start > position:
                yield _set(_part(span, at, position, start), [], only_these)
                position = start
            cut = min(stop, end)
            if cut > position:
                yield _set(_part(span, at, position, cut), [stretch], only_these)
                position = cut
        if position < end:
            yield _set(_part(span, at, position, end), [], only_these)


def _part(span: TemplateSpan, at: int, start: int, end: int) -> TemplateSpan:
    return span._replace(text=span.text[start - at : end - at])


def _set(span: TemplateSpan, within: list[Stretch], only_these: bool) -> TemplateSpan:
    if not within:
        return span._replace(learned=False) if only_these else span
    _, _, message, reason = within[0]
    if reason is None or span.reason is not Reason.HEADER:
        return span._replace(learned=True)
    return span._replace(reason=reason, learned=True, message=message)
