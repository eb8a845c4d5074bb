"""Test whether the text of a message can write control tokens into a rendered conversation.

Every field of a conversation gets hostile text in turn: all control tokens of the tokenizer and the
template, spelled out. A control token counts as injected if the rendering has more of them than
with harmless text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import ConversationError, Json
from tokviz.chat.render import render
from tokviz.chat.rendering import Rendering
from tokviz.chat.spans import SPECIALS, TRANSFORMERS
from tokviz.chat.templates import ChatTemplate
from tokviz.tokenizer.tokenizer import Tokenizer

_WORD = "harmless"
_CALL_ID = "abcdefghi"
"""Mistral's templates require nine characters."""


def _turns(*messages: Json, **beside: Any) -> Json:
    return {"messages": [{"role": "user", "content": "Hi"}, *messages], **beside}


def _answer(text: str, **keys: Any) -> Json:
    return {"role": "assistant", "content": text, **keys}


def _tool(name: str = "add", description: str = "Adds.", parameter: str = "number") -> Json:
    properties = {parameter: {"type": "integer", "description": description}}
    schema = {"type": "object", "properties": properties, "required": [parameter]}
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def _called(name: str = "add", key: str = "number", value: str = "1", result: str = "2") -> Json:
    function = {"name": name, "arguments": {key: value}}
    call = {"id": _CALL_ID, "type": "function", "function": function}
    tool = {"role": "tool", "name": name, "tool_call_id": _CALL_ID, "content": result}
    return _turns(_answer("", tool_calls=[call]), tool, _answer("Done"), tools=[_tool()])


def _started_by(role: str, text: str) -> Json:
    return {"messages": [{"role": role, "content": text}, *_turns(_answer("Hello"))["messages"]]}


FIELDS: dict[str, Callable[[str], Json]] = {
    "system content": lambda text: _started_by("system", text),
    "developer content": lambda text: _started_by("developer", text),
    "user content": lambda text: {
        "messages": [{"role": "user", "content": text}, _answer("Hello")]
    },
    "assistant content": lambda text: _turns(_answer(text)),
    "reasoning": lambda text: _turns(_answer("Hello", reasoning_content=text, thinking=text)),
    "tool call name": lambda text: _called(name=text),
    "tool call argument name": lambda text: _called(key=text),
    "tool call argument": lambda text: _called(value=text),
    "tool result": lambda text: _called(result=text),
    "tool name": lambda text: _turns(_answer("Hello"), tools=[_tool(name=text)]),
    "tool description": lambda text: _turns(_answer("Hello"), tools=[_tool(description=text)]),
    "tool parameter name": lambda text: _turns(_answer("Hello"), tools=[_tool(parameter=text)]),
}
"""The fields by name, each with a function that makes a conversation from its text."""


@dataclass(frozen=True, slots=True)
class InjectionResult:
    """The result for one field and one policy.

    Attributes:
        field: A key of `FIELDS`.
        specials: The policy, a key of `SPECIALS`.
        injected: The control tokens that the field's text became.
        n_tried: The number of control tokens in the text.
        is_written: Whether the template writes the field.
        error: The reason if the template refuses the field, or "".
    """

    field: str
    specials: str
    injected: Sequence[str] = ()
    n_tried: int = 0
    is_written: bool = True
    error: str = ""


def injection_results(
    tokenizer: Tokenizer,
    template: ChatTemplate | JinjaTemplate,
    specials: Sequence[str] = tuple(SPECIALS),
    variables: Mapping[str, Any] | None = None,
) -> Iterator[InjectionResult]:
    """Put hostile text in each field; yield a result for each field and policy.

    Args:
        tokenizer: The tokenizer.
        template: The template.
        specials: The policies to test, keys of `SPECIALS`.
        variables: See `render`.
    """

    def rendered(field: str, text: str, policy: str) -> Rendering:
        conversation = Conversation.from_json(FIELDS[field](text))
        return render(tokenizer, conversation, template, variables=variables, specials=policy)

    for field in FIELDS:
        for policy in specials:
            try:
                harmless = rendered(field, _WORD, policy)
                ids = _control_ids(template, harmless)
                hostile = rendered(field, "".join(f"{_WORD} {text} " for text in ids), policy)
            except ConversationError as error:
                yield InjectionResult(field, policy, error=str(error))
                continue
            more = Counter(hostile.ids)
            more.subtract(harmless.ids)
            injected = [text for text in ids if more[ids[text]] > 0]
            is_written = _WORD in harmless.text
            yield InjectionResult(field, policy, injected, len(ids), is_written)


def policy_in_force(template: ChatTemplate | JinjaTemplate, specials: str | None = None) -> str:
    """Return the policy that `render` follows: the given one, or that of the template."""
    if specials is not None:
        return specials
    return template.specials if isinstance(template, ChatTemplate) else TRANSFORMERS


def _control_ids(template: ChatTemplate | JinjaTemplate, rendering: Rendering) -> dict[str, int]:
    """Return the control tokens of the tokenizer and the template, with their ids."""
    known = rendering.tokenizer.specials
    ids = {**rendering.tokenizer.special_tokens, **rendering.virtual_specials}
    if isinstance(template, JinjaTemplate):
        texts = template.control_tokens(rendering.tokenizer)
    else:
        texts = [it for it in ids if it not in known.non_special or it in template.special_tokens]
    return {text: ids[text] for text in texts if text in ids and not text.isspace()}
