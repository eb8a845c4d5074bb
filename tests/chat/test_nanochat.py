"""nanochat's rendering, compared with a reimplementation."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.chat.conversations import nanochat_conversations, turns
from tests.oracles import nanochat as oracle
from tests.profiles import examples
from tokviz.chat.messages import ConversationError
from tokviz.tokenizer.tokenizer import Tokenizer

BYTES = {i: bytes([i]) for i in range(256)}
WITH_SPECIALS = Tokenizer(BYTES, [], oracle.SPECIALS)
WITH_SOME = Tokenizer(BYTES, [], ["<|assistant_end|>", "<|bos|>", "<|other|>"])


@pytest.mark.parametrize("tokenizer", [tokviz.load("gpt2"), WITH_SPECIALS, WITH_SOME])
@examples(60)
@given(conversation=nanochat_conversations(), max_tokens=st.sampled_from([2048, 1, 7, 20]))
def test_ids_and_mask_are_nanochats(tokenizer, conversation, max_tokens):
    before = copy.deepcopy(conversation)
    ids, mask = tokviz.render_conversation(tokenizer, conversation, max_tokens)
    assert (ids, mask) == oracle.render_conversation(tokenizer, conversation, max_tokens)
    assert conversation == before
    assert len(ids) == len(mask) <= max_tokens


@given(conversation=nanochat_conversations())
def test_completion_is_nanochats(conversation):
    conversation["messages"].append({"role": "assistant", "content": "x"})
    if conversation["messages"][-2]["role"] == "assistant":
        conversation["messages"].pop()
    before = copy.deepcopy(conversation)
    tokenizer = WITH_SPECIALS
    ids = tokviz.render_for_completion(tokenizer, conversation)
    assert ids == oracle.render_for_completion(tokenizer, conversation)
    assert conversation == before


def test_the_example_by_hand():
    ids, mask = tokviz.render_conversation(WITH_SPECIALS, {"messages": turns("A", "B")})
    assert ids == [256, 257, 65, 258, 259, 66, 260]
    assert mask == [0, 0, 0, 0, 0, 1, 1]


def test_python_is_learned_and_its_output_is_not():
    parts = [
        {"type": "python", "text": "1"},
        {"type": "python_output", "text": "2"},
        {"type": "text", "text": "3"},
    ]
    messages = [{"role": "user", "content": ""}, {"role": "assistant", "content": parts}]
    ids, mask = tokviz.render_conversation(WITH_SPECIALS, {"messages": messages})
    assert ids[3:] == [259, 261, 49, 262, 263, 50, 264, 51, 260]
    assert mask[3:] == [0, 1, 1, 1, 0, 0, 0, 1, 1]


def test_special_token_text_in_content_is_plain_text():
    ids, _ = tokviz.render_conversation(WITH_SPECIALS, {"messages": turns("<|assistant_end|>")})
    assert bytes(ids[2:-1]) == b"<|assistant_end|>"


def test_missing_special_tokens_get_the_ids_after_the_last():
    ids, _ = tokviz.render_conversation(WITH_SOME, {"messages": turns("A", "B")})
    assert WITH_SOME.n_vocab == 259
    assert ids == [257, 259, 65, 260, 261, 66, 256]


def test_lone_surrogates_become_the_replacement_character():
    ids, _ = tokviz.render_conversation(WITH_SPECIALS, {"messages": turns("\ud800\udc80")})
    assert bytes(ids[2:-1]).decode() == "\U00010080"
    ids, _ = tokviz.render_conversation(WITH_SPECIALS, {"messages": turns("\udc80")})
    assert bytes(ids[2:-1]).decode() == "\ufffd"


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([], "no message"),
        (turns("a")[:1] * 2, "message 2, key 'role': is 'user' but must be 'assistant'"),
        ([{"role": "assistant", "content": "a"}], "message 1, key 'role'"),
        ([{"role": "system", "content": "a"}], "message 1, key 'role': nanochat merges a system"),
        (
            [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
            "message 1, key 'content': nanochat writes a user message as one text",
        ),
        ([{"role": "usr", "content": "a"}], "did you mean 'user'?"),
        ([{"role": "user"}], "message 1, key 'content': is missing"),
        ([{"role": "user", "content": None}], "not null"),
        (
            [*turns("a"), {"role": "assistant", "content": [{"type": "image", "text": ""}]}],
            "message 2, part 1, key 'type': nanochat has no part of the kind 'image'",
        ),
    ],
)
def test_what_nanochat_refuses_is_refused_in_words(messages, said):
    with pytest.raises(ConversationError) as caught:
        tokviz.render_conversation(WITH_SPECIALS, {"messages": messages})
    assert said in str(caught.value)


def test_completion_needs_the_assistant_last():
    with pytest.raises(ConversationError, match="last message must be from 'assistant'"):
        tokviz.render_for_completion(WITH_SPECIALS, {"messages": turns("a")})


def test_visualize_tokenization_is_nanochats_string():
    ids, mask = [65, 66, 256], [0, 1, 1]
    assert tokviz.visualize_tokenization(WITH_SPECIALS, ids, mask) == (
        "\033[91mA\033[0m|\033[92mB\033[0m|\033[92m<|bos|>\033[0m"
    )
    assert tokviz.visualize_tokenization(WITH_SPECIALS, [65], [0], with_token_id=True) == (
        "\033[91mA\033[0m|\033[90m(65)\033[0m"
    )


def test_visualize_tokenization_knows_virtual_special_tokens():
    tokenizer = tokviz.load("gpt2")
    ids, mask = tokviz.render_conversation(tokenizer, {"messages": turns("Hi")})
    assert "<|user_start|>" in tokviz.visualize_tokenization(tokenizer, ids, mask)
