"""Requests in Anthropic's format are read as the same requests in OpenAI's."""

from __future__ import annotations

import json

import pytest

from tokviz.chat.dataset import Dataset
from tokviz.chat.messages import ConversationError
from tokviz.chat.requests import request_row

SCHEMA = {"type": "object", "properties": {"a": {"type": "number"}}}
CACHE = {"cache_control": {"type": "ephemeral"}}
ANTHROPIC = {
    "model": "m",
    "system": [{"type": "text", "text": "Help.", **CACHE}, {"type": "text", "text": "Be brief."}],
    "tools": [{"name": "add", "description": "Add.", "input_schema": SCHEMA, **CACHE}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "1+1?", **CACHE}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Use add.", "signature": "x"},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "text", "text": "2"}],
                },
                {"type": "text", "text": "And?"},
            ],
        },
    ],
}
FUNCTION = {"name": "add", "description": "Add.", "parameters": SCHEMA}
OPENAI = {
    "model": "m",
    "tools": [{"type": "function", "function": FUNCTION}],
    "messages": [
        {"role": "system", "content": "Help.\nBe brief."},
        {"role": "user", "content": [{"type": "text", "text": "1+1?"}]},
        {
            "role": "assistant",
            "content": "Let me see.",
            "reasoning_content": "Use add.",
            "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "2"},
        {"role": "user", "content": [{"type": "text", "text": "And?"}]},
    ],
}


def read(value: object):
    return request_row(Dataset.from_bytes("a.json", json.dumps(value).encode()), 0)


def test_a_request_of_anthropic_is_the_same_as_that_of_openai():
    assert read(ANTHROPIC) == read(OPENAI)
    assert read(ANTHROPIC).extra == read(OPENAI).extra


@pytest.mark.parametrize(
    "value",
    [
        OPENAI,
        [{"role": "user", "content": "Hi"}],
        {"messages": [{"role": "user", "content": ["a", {"type": "text", "text": "b"}]}]},
        {"messages": [{"role": "user", "content": []}]},
        {"messages": [], "system": "Help.", "tools": '[{"name": "add"}]'},
        {"prompt": "a", "completion": "b"},
    ],
)
def test_other_shapes_are_read_as_by_the_dataset(value):
    dataset = Dataset.from_bytes("a.json", json.dumps(value).encode())
    conversation = dataset.row(0)
    assert request_row(dataset, 0) == conversation
    assert request_row(dataset, 0).extra == conversation.extra


def test_an_error_names_the_row():
    wrong = {**ANTHROPIC, "messages": [{"role": "usr", "content": []}]}
    with pytest.raises(ConversationError, match=r"^row 1: message 1, key 'role': 'usr'"):
        read({**wrong, "system": None})
    with pytest.raises(ConversationError, match=r"^row 1: message 1: must be an object"):
        read({"messages": [1]})
