"""Every template writes or refuses each field of a conversation, or reports it as left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.chat import originals
from tests.chat.conversations import turns
from tests.oracles.nanochat import SPECIALS
from tokviz.chat.conversation import CONVERSATION_EXTRA_FIELDS, Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.lint import lint
from tokviz.chat.messages import MESSAGE_EXTRA_FIELDS, PART_KINDS, ROLES, ConversationError
from tokviz.chat.render import render
from tokviz.chat.rendering import rendering_to_json
from tokviz.chat.templates import TEMPLATES
from tokviz.tokenizer.tokenizer import Tokenizer

BYTES = Tokenizer({i: bytes([i]) for i in range(256)}, [], SPECIALS)
WORD = "zebra"
JINJA = {
    "ChatML": JinjaTemplate("ChatML", originals.CHATML),
    "Llama 3": JinjaTemplate("Llama 3", originals.LLAMA3, variables={"bos_token": "<s>"}),
    "Qwen": JinjaTemplate("Qwen", originals.QWEN),
    "Mistral": JinjaTemplate(
        "Mistral", originals.MISTRAL, variables={"bos_token": "<s>", "eos_token": "</s>"}
    ),
    "thinking": JinjaTemplate("thinking", originals.THINKING),
    "marked": JinjaTemplate("marked", originals.GENERATION),
}


@pytest.fixture(scope="module", autouse=True)
def end_children():
    yield
    for template in JINJA.values():
        template.close()


def conversations() -> Iterator[tuple[str, Any]]:
    """Generate conversations that hold the word once, each in a different place."""
    message: dict[str, Any]
    calls: dict[str, Any]
    call = {"name": "add", "arguments": {"a": 1}}
    for role in ROLES:
        before = turns("Hi") if role not in ("system", "developer", "user") else []
        after = turns("Hi", "Hello") if role != "user" else turns("Hi", "Hello")[1:]
        for kind in PART_KINDS:
            text = json.dumps({**call, "name": WORD}) if kind == "tool_call" else WORD
            message = {"role": role, "content": [{"type": kind, "text": text}]}
            yield f"{role}, {kind}", [*before, message, *after]
        unfinished = {"role": role, "content": [{"type": "tool_call", "text": f"{{{WORD}"}]}
        yield f"{role}, unfinished call", [*before, unfinished, *after]
        yield role, [*before, {"role": role, "content": WORD}, *after]
        for key in MESSAGE_EXTRA_FIELDS:
            for value in (WORD, [{"text": WORD}]):
                message = {"role": role, "content": "x", key: value}
                yield f"{role}, {key}: {value}", [*before, message, *after]
    for key in CONVERSATION_EXTRA_FIELDS:
        for value in ([WORD], [{"function": {"name": WORD}}]):
            yield f"{key}: {value}", {"messages": turns("Hi", "Hello"), key: value}
    first = {"role": "system", "content": "S"}
    yield "two systems", {"messages": [first, *turns("Hi", "Hello")], "system": WORD}
    for wrong in ({"name": WORD}, {"arguments": {"b": WORD}}, {"parameters": WORD}):
        function = {**call, **wrong}
        for calls in ({"tool_calls": [{"function": function}]}, {"tool_calls": [function]},
                      {"function_call": function}):  # fmt: skip
            message = {"role": "assistant", "content": None, **calls}
            yield f"{calls}", [*turns("Hi"), message]
        calls = {"from": "function_call", "value": json.dumps(function)}
        yield f"{calls}", {"conversations": [{"from": "human", "value": "Hi"}, calls]}


@pytest.mark.parametrize("name", [*TEMPLATES, *JINJA])
def test_nothing_of_a_conversation_disappears_without_a_word(name):
    silent = []
    n_written, n_said = 0, 0
    for place, value in conversations():
        conversation = Conversation.from_json(value)
        try:
            rendering = render(BYTES, conversation, JINJA.get(name, name), 100_000)
        except ConversationError:
            continue
        text = b"".join(rendering.token_bytes(i) for i in range(len(rendering))).decode()
        if WORD in text:
            n_written += 1
            continue
        found = [finding for finding in lint(conversation, rendering) if finding.code == "left-out"]
        is_noted = any("leaves out" in note for note in rendering_to_json(rendering)["notes"])
        if found and is_noted:
            n_said += 1
        else:
            silent.append(place)
    assert silent == []
    assert n_written > 1
    assert n_said > 10
