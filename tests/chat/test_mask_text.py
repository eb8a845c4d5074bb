"""Mask of a text: its detected format, and its tokens in the loss."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from tests.chat.conversations import nanochat_conversations, plain_conversations, turns
from tests.chat.test_templates import HARMONY, LLAMA3, PYTHON, QWEN
from tests.oracles.nanochat import SPECIALS
from tests.profiles import examples
from tokviz.chat.conversation import Conversation
from tokviz.chat.mask_text import EXAMPLE, MaskedText, mask_text
from tokviz.chat.render import render
from tokviz.chat.rendering import Rendering
from tokviz.formats.loader import load
from tokviz.tokenizer.tokenizer import Tokenizer

GPT2 = load("gpt2")
BYTES = Tokenizer({i: bytes([i]) for i in range(256)}, [], SPECIALS)


def kind_of(masked: MaskedText) -> str:
    if masked.conversation is None:
        return "template"
    return "conversation" if masked.rendering.template else "text"


def text_of(rendering: Rendering) -> str:
    return b"".join(rendering.token_bytes(i) for i in range(len(rendering))).decode()


@pytest.mark.parametrize(
    ("name", "tokenizer"), [("chatml", QWEN), ("llama3", LLAMA3), ("gpt-oss", HARMONY)]
)
@examples(40)
@given(messages=plain_conversations())
def test_a_rendered_text_has_the_mask_of_its_rendering(name, tokenizer, messages):
    rendering = render(tokenizer, Conversation.from_json(messages), name, 10_000)
    text = text_of(rendering)
    masked = mask_text(tokenizer, text)
    assert (kind_of(masked), masked.rendering.template, masked.aligned) == ("template", name, True)
    assert masked.rendering.ids == rendering.ids
    assert masked.rendering.mask == rendering.mask
    assert masked.rendering.ids.tolist() == tokenizer.byte_text.encode(text, True).tolist()


@examples(60)
@given(value=nanochat_conversations())
def test_nanochats_text_has_nanochats_mask(value):
    rendering = render(BYTES, Conversation.from_json(value))
    if any(name in text_in(value) for name in SPECIALS):
        return  # written as text, it could not be told from the real ones
    masked = mask_text(BYTES, text_of(rendering))
    assert masked.rendering.template == "nanochat"
    assert masked.rendering.mask == rendering.mask


def text_in(value) -> str:
    return json.dumps(value)


def test_tool_calls_of_harmony_are_learned():
    messages = [*turns("Hi"), {"role": "assistant", "content": PYTHON}, *turns("So?", "Yes.")]
    rendering = render(HARMONY, Conversation.from_json(messages), "gpt-oss")
    assert mask_text(HARMONY, text_of(rendering)).rendering.mask == rendering.mask


def test_json_is_rendered_by_the_template():
    text = json.dumps({"messages": turns("Hi", "Hello")})
    masked = mask_text(BYTES, text)
    assert (kind_of(masked), masked.rendering.template, masked.aligned) == (
        "conversation",
        "nanochat",
        False,
    )
    assert (
        masked.rendering.ids
        == render(BYTES, Conversation.from_json(turns("Hi", "Hello")), "nanochat").ids
    )


def test_of_json_lines_the_first_is_shown_and_said():
    line = json.dumps(turns("Hi", "Hello"))
    masked = mask_text(QWEN, f"{line}\n{line}\n")
    assert kind_of(masked) == "conversation"
    assert "this is the first" in masked.sentence


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"messages": [\n{"role" 1}]}', "line 2, column 9"),
        ('[{"role": "usr", "content": ""}]', "message 1, key 'role'"),
        ("[" * 100_000, "nests too deeply"),
    ],
)
def test_json_that_is_no_conversation_says_why_and_is_text(text, said):
    masked = mask_text(QWEN, text)
    assert kind_of(masked) == "text"
    assert said in masked.sentence
    assert masked.aligned


def test_a_conversation_that_the_template_refuses_says_so():
    masked = mask_text(QWEN, json.dumps([{"role": "assistant", "content": "a"}]))
    assert kind_of(masked) == "text"
    assert "cannot write: message 1" in masked.sentence


def test_any_other_text_is_one_message_and_says_how_to_get_a_mask():
    masked = mask_text(QWEN, "just text")
    assert kind_of(masked) == "text"
    assert not any(masked.rendering.mask)
    assert masked.rendering.ids.tolist() == QWEN.encode("just text")
    assert "Not a conversation" in masked.sentence
    assert any(mask_text(QWEN, EXAMPLE).rendering.mask)


@pytest.mark.parametrize("parsed", [True, False])
def test_any_other_text_has_the_tokens_that_the_text_at_hand_has(parsed):
    text = "a<|endoftext|>b"
    masked = mask_text(GPT2, text, parse_specials=parsed)
    assert masked.rendering.ids.tolist() == GPT2.byte_text.encode(text, parsed).tolist()
    assert masked.aligned


def test_special_tokens_that_the_tokenizer_lacks_are_text():
    text = "<|user_start|>Hi<|user_end|><|assistant_start|>Hello<|assistant_end|>"
    masked = mask_text(QWEN, text)
    assert masked.aligned
    assert masked.rendering.ids.tolist() == QWEN.encode(text)
    learned = zip(masked.rendering.ids, masked.rendering.mask, strict=True)
    assert QWEN.decode([i for i, mask in learned if mask]) == "Hello<|assistant_end|>"


def test_special_tokens_that_the_editor_does_not_parse_make_the_tokens_differ():
    masked = mask_text(QWEN, "<|im_start|>user\nHi<|im_end|>", parse_specials=False)
    assert not masked.aligned
    assert "parsed here, but not in the editor" in masked.sentence


def test_an_unfinished_text_is_masked_as_far_as_it_goes():
    masked = mask_text(QWEN, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHel")
    assert masked.rendering.mask[-1] == 1
    assert mask_text(QWEN, "<|im_start|>").rendering.mask == b"\0"
    assert kind_of(mask_text(QWEN, "")) == "text"
