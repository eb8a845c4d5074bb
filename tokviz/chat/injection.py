"""Test whether the text of a field can write control tokens into a rendered conversation.

Each field of a conversation gets hostile text in turn: all control tokens of the tokenizer and the
template, spelled out. A control token counts as injected if the rendering has more of them than
with harmless text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import ConversationError, Json
from tokviz.chat.render import render
from tokviz.chat.rendering import Rendering
from tokviz.chat.spans import SPECIALS
from tokviz.chat.templates import ChatTemplate
from tokviz.tokenizer.tokenizer import Tokenizer

_WORD = "harmless"
_CALL_ID = "abcdefghi"
"""Mistral's templates require nine characters."""

FIELDS = (
    *("system content", "developer content", "user content", "assistant content", "reasoning"),
    *("tool name", "tool description", "tool parameter name"),
    *("tool call name", "tool call argument name", "tool call argument", "tool result"),
)
"""The fields of a conversation that are tested."""


@dataclass(frozen=True, slots=True)
class InjectionResult:
    """The result for one field and one policy.

    Attributes:
        field: One of `FIELDS`.
        specials: The policy, a key of `SPECIALS`.
        injected: The control tokens that the field's text became.
        n_tried: The number of control tokens in the text; 0 if the template does not write it.
        error: The reason if the template refuses the conversation, or "".
    """

    field: str
    specials: str
    injected: Sequence[str] = ()
    n_tried: int = 0
    error: str = ""


def injection_results(
    tokenizer: Tokenizer,
    template: ChatTemplate | JinjaTemplate,
    variables: Mapping[str, Any] | None = None,
) -> Iterator[InjectionResult]:
    """Put hostile text in each field; yield a result for each field and each policy.

    Args:
        tokenizer: The tokenizer.
        template: The template.
        variables: See `render`.
    """

    def tried(field: str, policy: str, variant: str) -> InjectionResult:
        def rendered(text: str) -> Rendering:
            conversation = Conversation.from_json(_conversation(field, text, variant))
            return render(tokenizer, conversation, template, variables=variables, specials=policy)

        try:
            harmless = rendered(_WORD)
            ids = _control_ids(template, harmless)
            hostile = rendered("".join(f"{_WORD} {text} " for text in ids))
        except ConversationError as error:
            return InjectionResult(field, policy, error=str(error))
        added = Counter(hostile.ids) - Counter(harmless.ids)
        injected = [text for text in ids if added[ids[text]]]
        n_tried = len(ids) if injected or _WORD in harmless.text else 0
        return InjectionResult(field, policy, injected, n_tried)

    for field, policy in ((field, policy) for field in FIELDS for policy in SPECIALS):
        usual = tried(field, policy, "")
        variants = (tried(field, policy, it) for it in _VARIANTS if not usual.n_tried)
        yield next((result for result in variants if result.n_tried), usual)


_VARIANTS = ("question last", "arguments as text")
"""Other forms of the conversation, for templates that leave the field out or refuse it.

Mistral's templates write the system message into the last question, if no answer follows.
"""


def _conversation(field: str, text: str, variant: str) -> Json:
    """Return a conversation with a text in a field and harmless texts in the others."""

    def of(name: str, default: str) -> str:
        return text if name == field else default

    user = {"role": "user", "content": of("user content", "Hi")}
    answer = {"role": "assistant", "content": of("assistant content", "Hello")}
    role, _, kind = field.partition(" ")
    if role != "tool":
        first = [{"role": role, "content": text}] if role in ("system", "developer") else []
        reasoning = {} if kind else {"reasoning_content": text, "thinking": text}
        last = [] if variant == "question last" and first else [answer | reasoning]
        return {"messages": [*first, user, *last]}
    key = of("tool parameter name", "number")
    schema = {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}
    tool = {"name": of("tool name", "add"), "description": of("tool description", "Adds.")}
    value = {of("tool call argument name", "number"): of("tool call argument", "1")}
    arguments = json.dumps(value) if variant == "arguments as text" else value
    call = {"name": of("tool call name", "add"), "arguments": arguments}
    calls = [{"id": _CALL_ID, "type": "function", "function": call}]
    result = {"role": "tool", "tool_call_id": _CALL_ID, "content": of("tool result", "2")}
    return {
        "messages": [user, {**answer, "content": "", "tool_calls": calls}, result, answer],
        "tools": [{"type": "function", "function": {**tool, "parameters": schema}}],
    }


def _control_ids(template: ChatTemplate | JinjaTemplate, rendering: Rendering) -> dict[str, int]:
    """Return the control tokens of the tokenizer and the template, with their ids."""
    known = rendering.tokenizer.specials
    ids = {**rendering.tokenizer.special_tokens, **rendering.virtual_specials}
    if isinstance(template, JinjaTemplate):
        texts = template.control_tokens(rendering.tokenizer)
    else:
        texts = [it for it in ids if it not in known.non_special or it in template.special_tokens]
    return {text: ids[text] for text in texts if not text.isspace()}
