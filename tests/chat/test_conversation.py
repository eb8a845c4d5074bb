"""Conversations read from every dataset shape, and written back."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given

import tokviz
from tests.chat.conversations import nanochat_conversations
from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import REASONING_KEYS, ConversationError, Message, Part
from tokviz.chat.render import render

OPENAI = {
    "messages": [
        {"role": "developer", "content": "Be brief.", "name": "dev"},
        {"role": "user", "content": [{"type": "text", "text": "1+1?"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
        {"role": "assistant", "content": "2", "weight": 0},
    ],
    "tools": [{"type": "function", "function": {"name": "add"}}],
    "parallel_tool_calls": False,
}
SHAREGPT = {
    "id": "x1",
    "conversations": [
        {"from": "system", "value": "S"},
        {"from": "human", "value": "Hi"},
        {"from": "gpt", "value": "Hello"},
        {"from": "chatgpt", "value": "Hello"},
        {"from": "function_call", "value": '{"name": "f", "arguments": {}}'},
        {"from": "observation", "value": "out"},
    ],
}
SHAPES = [
    {"messages": [{"role": "user", "content": "Hi"}]},
    [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": ""}],
    OPENAI,
    SHAREGPT,
    {"conversations": [{"role": "user", "content": "Hi"}], "n": 1},
    {"messages": [{"role": "assistant", "content": "a", "tool_calls": [{"name": "f", "x": 1}]}]},
    {"messages": [{"role": "assistant", "content": None, "function_call": {"name": "f"}}]},
    {"messages": [{"role": "user", "content": [{"type": "input_text", "text": "a", "k": 1}]}]},
    {"messages": []},
    {"instruction": "Add", "input": "1 2", "output": "3", "system": "S", "id": 7},
    {"instruction": "Hi", "input": "", "output": "Hello"},
    {"prompt": "Hi", "completion": " there"},
]


@pytest.mark.parametrize("value", SHAPES)
def test_writing_gives_back_what_was_read(value):
    before = copy.deepcopy(value)
    conversation = Conversation.from_json(value)
    assert conversation.to_json() == value == before
    assert Conversation.from_json(conversation.to_json()) == conversation
    json.dumps(conversation.to_json())


@given(value=nanochat_conversations())
def test_nanochats_conversations_survive(value):
    assert Conversation.from_json(value).to_json() == value


def test_roles_of_sharegpt_are_the_usual_ones():
    roles = [message.role for message in Conversation.from_json(SHAREGPT).messages]
    assert roles == ["system", "user", "assistant", "assistant", "assistant", "tool"]


def test_a_system_text_beside_the_messages_is_a_message():
    value = {"system": "S", "conversations": [{"from": "human", "value": "Hi"}]}
    conversation = Conversation.from_json(value)
    assert [message.text for message in conversation.messages] == ["S", "Hi"]
    assert conversation.to_json()["conversations"][0] == {"from": "system", "value": "S"}


def test_of_an_instruction_and_its_input_only_the_output_is_learned():
    row = {"instruction": "Add", "input": "1 2", "output": "three", "history": [["a", "b"]]}
    conversation = Conversation.from_json(row)
    assert [message.text for message in conversation.messages] == ["Add\n\n1 2", "three"]
    for value in (row, {"prompt": "Add", "completion": "three"}):
        rendering = render(tokviz.load("gpt2"), Conversation.from_json(value), "nanochat")
        learned = zip(rendering.ids, rendering.mask, strict=True)
        assert rendering.tokenizer.decode([i for i, mask in learned if mask][:1]) == "three"
        assert rendering.n_learned == 2  # with the end of the turn
    assert [aside.key for aside in conversation.extra_fields()] == ["history"]


@pytest.mark.parametrize("key", REASONING_KEYS)
@pytest.mark.parametrize("template", ["nanochat", "gpt-oss"])
def test_thoughts_beside_what_is_learned_are_left_out_with_a_note(key, template):
    row = {"prompt": "Add", "completion": "three", key: "One and two."}
    rendering = render(tokviz.load("gpt2"), Conversation.from_json(row), template)
    assert [(aside.key, aside.message) for aside in rendering.left_out] == [(key, None)]


def test_what_an_instruction_with_an_output_cannot_hold_is_written_as_messages():
    conversation = Conversation.from_json({"instruction": "Add", "input": "1", "output": "2"})
    asked, answered = conversation.messages
    shorter = replace(conversation, messages=(Message("user", "Hi"), answered))
    assert shorter.to_json() == {"instruction": "Hi", "input": "", "output": "2"}
    longer = replace(conversation, messages=(asked, answered, asked))
    assert [*longer.to_json()] == ["messages"]
    assert Conversation.from_json(longer.to_json()).messages == longer.messages
    assert replace(conversation, messages=()).to_json() == {"messages": []}


def test_tool_calls_are_parts_that_can_be_edited():
    parts = Conversation.from_json(OPENAI).messages[2].parts
    assert parts[0].kind == "tool_call"
    assert json.loads(parts[0].text) == {"name": "add", "arguments": "{}"}
    assert parts[0].extra == {"id": "c1", "type": "function"}


def test_a_tool_call_that_is_being_typed_is_not_lost():
    message = Conversation.from_json(OPENAI).messages[2]
    edited = type(message)(message.role, (Part("tool_call", '{"na', message.parts[0].extra),))
    call = edited.to_json()["tool_calls"][0]
    assert call == {"id": "c1", "type": "function", "function": {"name": "", "arguments": '{"na'}}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1, "a conversation is an object or a list, not a number"),
        ({"msgs": []}, "there is no key 'messages' (keys: 'msgs')"),
        ({"messages": "a"}, "key 'messages': must be a list of messages, not a text"),
        (["a"], "message 1: must be an object with 'role' and 'content', not a text"),
        ([{"content": "a"}], "message 1, key 'role': is missing"),
        ([{"role": 1, "content": "a"}], "message 1, key 'role': must be a text"),
        ([{"role": "asistant", "content": "a"}], "did you mean 'assistant'?"),
        ([{"role": "user"}], "message 1, key 'content': is missing"),
        ([{"from": "human"}], "message 1, key 'value': is missing"),
        ([{"role": "user", "content": {}}], "must be a text or a list of parts, not an object"),
        ([{"role": "user", "content": [1]}], "message 1, part 1: must be an object with 'type'"),
        ([{"role": "user", "content": [{"text": "a"}]}], "part 1, key 'type': is missing"),
        (
            [{"role": "user", "content": [{"type": "drawing", "url": "x"}]}],
            "'drawing' is not a known kind of part",
        ),
        ([{"role": "user", "content": [{"type": "text"}]}], "part 1, key 'text': is missing"),
        ([{"role": "assistant", "tool_calls": [{}]}], "every call needs a 'function'"),
        ([{"role": "assistant", "tool_calls": "x"}], "key 'tool_calls': must be a list"),
        ({"prompt": [], "completion": "a"}, "key 'prompt': must be a text, not a list"),
    ],
)
def test_what_is_no_conversation_is_named(value, said):
    with pytest.raises(ConversationError) as caught:
        Conversation.from_json(value)
    assert said in str(caught.value)


def test_errors_carry_the_place():
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "x"}]}]
    with pytest.raises(ConversationError) as caught:
        Conversation.from_json(messages)
    error = caught.value
    assert (error.message_index, error.part_index, error.key) == (1, 0, "type")
    assert str(error.at("line 3")).startswith("line 3: message 2, part 1, key 'type'")


def test_raw_bytes_stay_in_byte_text_only():
    value = [{"role": "user", "content": "a\udcff"}]
    assert Conversation.from_json(value).messages[0].text == "a\ufffd"
    assert Conversation.from_json(value, byte_text=True).messages[0].text == "a\udcff"


def test_the_kind_of_a_part_that_is_no_text_is_refused_in_our_words() -> None:
    for kind in (["text"], {"a": 1}, 3):
        message = {"role": "user", "content": [{"type": kind, "text": "x"}]}
        with pytest.raises(ConversationError, match="is not a known kind of part"):
            Conversation.from_json({"messages": [message]})


@pytest.mark.parametrize("nameless", [3, "0"])
def test_a_column_without_a_name_is_no_part_of_a_prompt(nameless: object) -> None:
    """Many tables have an unnamed column of row numbers."""
    row = {"": nameless, "prompt": "a", "completion": "b"}
    conversation = Conversation.from_json(row)
    assert [message.text for message in conversation.messages] == ["a", "b"]
    assert conversation.to_json() == row
    asked = replace(conversation, messages=conversation.messages[:1])
    assert asked.to_json()[""] == nameless
