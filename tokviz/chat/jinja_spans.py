"""Spans with reasons and a mask, made from the text that a Jinja template rendered."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.spans import Reason, TemplateSpan, TextPiece, content
from tokviz.tokenizer.encoding.specials import Search, search_for, segments

GIVEN_BESIDE = ("tools", "documents")
"""The keys of a conversation that a Jinja template gets in addition to the messages."""

MOST_TURNS = 64
"""Assistant turns to locate in the rendered text; each takes two to four renderings."""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A rendered text and the character offsets of its parts.

    Attributes:
        text: The rendered text.
        contents: Message contents as (start, end, message, part), ascending; part is -1 for text
            outside the content, such as reasoning.
        lost: Texts not found, or found only in part: (message, key).
        generation: Ranges within generation marks; None if the template has none.
        counted: Ranges that transformers takes for them, in the order of rendering.
        turns: Text that the assistant writes in messages with tool calls or reasoning: (start, end,
            message).
        pieces: Pieces to encode on their own; none unless control tokens are treated as text.
        header: The text that starts the assistant's turns; "" if unknown.
    """

    text: str
    contents: list[tuple[int, int, int, int]]
    lost: list[tuple[int, str]]
    generation: list[tuple[int, int]] | None
    counted: list[tuple[int, int]]
    turns: list[tuple[int, int, int]]
    pieces: list[TextPiece]
    header: str

    @property
    def miscounted(self) -> str | None:
        """A text within generation marks whose place transformers miscounts, or None."""
        counted = {(start, end) for start, end in self.counted if start < end}
        meant = [(start, end) for start, end in self.generation or () if start < end]
        differs = meant and counted != set(meant)
        lost = next((it for it in meant if it not in counted), None) if differs else None
        return None if lost is None else self.text[lost[0] : lost[1]]

    def turns_missed(self, conversation: Conversation) -> int:
        """Count the turns beyond `MOST_TURNS`, which are not located.

        Their contents are found, but not the template text around tool calls and reasoning.
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
            [(start, end) for start, end in body["counted"]],
            [(start, end, message) for start, end, message in body["turns"]],
            [TextPiece(*piece) for piece in body["pieces"]],
            body["header"],
        )


def to_spans(
    marked: MarkedText, conversation: Conversation, special_tokens: Collection[str]
) -> list[TemplateSpan]:
    """Cut the rendered text into spans; special tokens are recognized outside the contents only.

    If the template has generation marks, the text within them is in the loss. Otherwise the loss
    covers the assistant's text, the special token that ends it, turns with tool calls or reasoning,
    and the text between reasoning and content.
    """
    placed_spans = list(_placed_spans(marked, conversation, special_tokens))
    ranges: list[LossRange] = []
    for start, end, message in marked.turns:
        calls = any(part.kind == "tool_call" for part in conversation.messages[message].parts)
        reason = Reason.TOOL_CALL if calls else Reason.ASSISTANT_TEXT
        special_start, special_end = _last_special(placed_spans, start, end)
        ranges += [
            (start, special_start, message, reason),
            (special_start, special_end, message, Reason.END),
        ]
    ranges += _after_headers(marked, conversation)
    for (_, end, message, before), (start, _, other, after) in pairwise(marked.contents):
        is_assistant = conversation.messages[message].role == "assistant"
        if message == other and is_assistant and min(before, after) < 0:
            ranges.append((end, start, message, Reason.ASSISTANT_TEXT))
    spans = list(_cut_and_set(placed_spans, sorted(ranges, key=itemgetter(0)), False))
    if marked.generation is None:
        return spans
    starts = accumulate((len(span.text) for span in spans), initial=0)
    generation: list[LossRange] = [(start, end, -1, None) for start, end in marked.generation]
    return list(_cut_and_set(list(zip(starts, spans, strict=False)), generation, True))


def _after_headers(marked: MarkedText, conversation: Conversation) -> Iterator[LossRange]:
    """Yield the text between the start of an assistant's turn and its content.

    The model writes it too, such as the channels of gpt-oss and Qwen3's empty `<think>` block.
    """
    at, last = 0, -1
    for start, end, message, _ in marked.contents:
        is_assistant = conversation.messages[message].role == "assistant"
        if message != last and is_assistant and marked.header:
            found = marked.text.rfind(marked.header, at, start)
            if 0 <= found < start - len(marked.header):
                yield found + len(marked.header), start, message, Reason.ASSISTANT_TEXT
        at, last = end, message


PlacedSpan = tuple[int, TemplateSpan]
"""The start of a span in the rendered text, in characters, and the span."""
LossRange = tuple[int, int, int, Reason | None]
"""A range in the loss: start, end, message, and the reason to set on its template text; None
keeps the reason."""


def _placed_spans(
    marked: MarkedText, conversation: Conversation, special_tokens: Collection[str]
) -> Iterator[PlacedSpan]:
    """Cut the text at contents and special tokens, and assign each span to a message."""
    contents = marked.contents
    search = search_for(filter(None, special_tokens))
    position = 0
    for number, (start, end, message, part) in enumerate(contents):
        before = contents[number - 1][2] if number else -1
        role = conversation.messages[message].role
        opening = start
        if role == "assistant" and message != before and marked.header:
            found = marked.text.rfind(marked.header, position, start)
            opening = found if found >= 0 else start
        yield from _structure(marked.text, position, opening, before, message, conversation, search)
        yield from _structure(marked.text, opening, start, -1, message, conversation, search)
        parts = conversation.messages[message].parts
        kind = parts[part].kind if 0 <= part < len(parts) else "text"
        yield start, content(marked.text[start:end], role, kind, message, part)
        position = end
    last = contents[-1][2] if contents else -1
    end = len(marked.text)
    prompt = end - len(marked.header) if marked.text.endswith(marked.header) else end
    if prompt < position or not marked.header.strip():
        prompt = end
    yield from _structure(marked.text[:prompt], position, prompt, last, last, conversation, search)
    yield from _structure(marked.text, prompt, end, -1, last, conversation, search)


def _structure(
    text: str,
    start: int,
    end: int,
    before: int,
    after: int,
    conversation: Conversation,
    search: Search,
) -> Iterator[PlacedSpan]:
    """Cut the template text between two contents at its special tokens.

    The text through the first special token and the white space after it belongs to the previous
    message, the rest to the next. A special token right after an assistant's text ends the turn.
    """
    owner = after if before < 0 else before
    ended = before < 0
    is_assistant = before >= 0 and conversation.messages[before].role == "assistant"
    may_end = is_assistant and (before != after or end == len(text))
    position = start
    for part, is_special in segments(text[start:end], search):
        span_start, position = position, position + len(part)
        matters = is_special or not part.isspace()
        if is_special and may_end:
            yield span_start, TemplateSpan(part, Reason.END, True, True, True, before)
        else:
            if ended and matters:
                owner = after
            yield (
                span_start,
                TemplateSpan(part, Reason.HEADER, special=is_special, message=owner),
            )
        ended = ended or is_special
        may_end = may_end and not matters


def _last_special(placed_spans: list[PlacedSpan], start: int, end: int) -> tuple[int, int]:
    """Return the start and end of a range's last special token; the rest is not in the loss."""
    found = [
        (at, at + len(span.text))
        for at, span in placed_spans
        if span.special and start <= at and at + len(span.text) <= end
    ]
    return found[-1] if found else (end, end)


def _cut_and_set(
    placed_spans: list[PlacedSpan], ranges: list[LossRange], only_these: bool
) -> Iterator[TemplateSpan]:
    """Set which spans are in the loss, and cut spans at the borders of the ranges.

    Args:
        placed_spans: All spans, in order and without gaps.
        ranges: The ranges in the loss, ascending.
        only_these: Whether to take everything else out of the loss.
    """
    for at, span in placed_spans:
        position, end = at, at + len(span.text)
        overlapping = [s for s in ranges if s[0] < end and s[1] > at]
        if span.special or not overlapping:
            yield _set(span, overlapping, only_these)
            continue
        for loss_range in overlapping:
            start, stop = loss_range[:2]
            if start > position:
                yield _set(_slice(span, at, position, start), [], only_these)
                position = start
            cut = min(stop, end)
            if cut > position:
                yield _set(_slice(span, at, position, cut), [loss_range], only_these)
                position = cut
        if position < end:
            yield _set(_slice(span, at, position, end), [], only_these)


def _slice(span: TemplateSpan, at: int, start: int, end: int) -> TemplateSpan:
    return span._replace(text=span.text[start - at : end - at])


def _set(span: TemplateSpan, within: list[LossRange], only_these: bool) -> TemplateSpan:
    if not within:
        return span._replace(learned=False) if only_these else span
    _, _, message, reason = within[0]
    if reason is None or span.reason is not Reason.HEADER:
        return span._replace(learned=True)
    return span._replace(reason=reason, learned=True, message=message)
