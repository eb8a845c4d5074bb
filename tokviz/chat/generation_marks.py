"""Add `{% generation %}` marks to a Jinja template, so that trainers find the assistant's text."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import ConversationError
from tokviz.chat.rendering import GENERATION_MARKS, Rendering
from tokviz.chat.spans import Reason
from tokviz.errors import TokvizError
from tokviz.tokenizer.tokenizer import Tokenizer

_TURNS = [("user", "One?"), ("assistant", "One."), ("user", "Two?"), ("assistant", "Two.")]
SAMPLES: Sequence[Conversation] = [
    Conversation.from_json([{"role": role, "content": text} for role, text in turns])
    for turns in (
        _TURNS,
        [("system", "Be brief."), *_TURNS[:2]],
        [*_TURNS[:1], ("assistant", "")],
        [*_TURNS[:3], ("assistant", " a\n\nb ")],
    )
]
"""Conversations to check a template with, for use without a dataset."""


class UnmarkableError(TokvizError):
    """A template that cannot be given marks."""


@dataclass(frozen=True, slots=True)
class MarkedTemplate:
    """A template with marks.

    Attributes:
        source: Its source.
        n_checked: The number of conversations whose text is the same as before.
        n_refused: The number of conversations that both templates refuse.
        n_same_mask: The number of conversations whose mask is the one inferred from the roles.
        example: The rendering of the first conversation, with the new mask.
    """

    source: str
    n_checked: int
    n_refused: int
    n_same_mask: int
    example: Rendering


def with_generation_marks(
    template: JinjaTemplate, tokenizer: Tokenizer, conversations: Iterable[Conversation] = SAMPLES
) -> MarkedTemplate:
    """Put the marks around the assistant's text, through the token that ends its turn.

    The loop over the messages collects the text of an assistant's message, and cuts it after the
    text that starts the turn and after the token that ends it.

    Args:
        template: A template without marks.
        tokenizer: The tokenizer.
        conversations: Conversations whose text must not change.

    Raises:
        UnmarkableError: If all ways to do this change the text of a conversation.
    """
    rows = [*conversations]
    plain = _rendered(template, tokenizer, rows)
    first = next((it for it in plain if isinstance(it, Rendering)), None)
    if first is None:
        raise UnmarkableError(f"{template.name} refuses every conversation: {plain[0]}")
    if first.mask_source == GENERATION_MARKS:
        raise UnmarkableError(f"{template.name} has generation marks already")
    end = first.reasons.find(Reason.END)
    if end < 0:
        raise UnmarkableError(f"no token ends the assistant's turns in {template.name}")
    ending = first.token_bytes(end).decode()
    for source in _candidates(template, first.generation_header, ending):
        candidate = replace(template, source=source)
        made = _rendered(candidate, tokenizer, rows)
        candidate.close()
        if [*map(_text, made)] == [*map(_text, plain)] and any(map(_is_marked, made)):
            pairs = [(a, b) for a, b in zip(plain, made, strict=True)
                     if isinstance(a, Rendering) and isinstance(b, Rendering)]  # fmt: skip
            n_same = sum(a.mask == b.mask for a, b in pairs)
            n_refused = len(rows) - len(pairs)
            return MarkedTemplate(source, len(pairs), n_refused, n_same, pairs[0][1])
    raise UnmarkableError(
        f"{template.name} has no loop over the messages that writes each of them in one go"
    )


def _rendered(
    template: JinjaTemplate, tokenizer: Tokenizer, rows: Sequence[Conversation]
) -> list[Rendering | ConversationError]:
    made: list[Rendering | ConversationError] = []
    for row, marked in zip(rows, template.marked_all(rows, tokenizer), strict=True):
        if isinstance(marked, ConversationError):
            made.append(marked)
        else:
            made.append(template.rendering(tokenizer, row, marked, sys.maxsize))
    return made


def _text(made: Rendering | ConversationError) -> str | None:
    return made.text if isinstance(made, Rendering) else None


def _is_marked(made: Rendering | ConversationError) -> bool:
    return isinstance(made, Rendering) and made.n_learned > 0 and made.miscounted is None


def _candidates(template: JinjaTemplate, header: str, ending: str) -> Iterator[str]:
    """Yield the source with marks in each of the loops over messages."""
    source, (start, stop) = template.source, map(json.dumps, (header, ending))
    for loop in template.message_loops():
        opening, closing = loop["opening"], loop["closing"]
        head = f"tokviz_turn.partition({start})" if header else "('', '', tokviz_turn)"
        yield "".join(
            [
                source[: loop["start"]],
                f"{{% set tokviz_turn {opening}",
                source[loop["start"] : loop["end"]],
                f"{closing} endset %}}{{% if {loop['name']}['role'] == 'assistant' %}}",
                f"{{% set tokviz_head = {head} %}}",
                f"{{% set tokviz_tail = tokviz_head[2].rpartition({stop}) %}}",
                "{{ tokviz_head[0] ~ tokviz_head[1] }}{% generation %}",
                "{{ tokviz_tail[0] ~ tokviz_tail[1] }}{% endgeneration %}{{ tokviz_tail[2] }}",
                "{% else %}{{ tokviz_turn }}{% endif %}",
                source[loop["end"] :],
            ]
        )
