"""The columns of a rendering: reasons, messages, truncation, targets, sentences."""

from __future__ import annotations

import random
from array import array
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chat.conversations import nanochat_conversations, plain_conversations, turns
from tests.oracles.edits import BUILTIN, SMALL, random_edit, random_text, tokenizer
from tests.oracles.nanochat import SPECIALS
from tests.profiles import examples
from tokviz.chat.caching_encoder import CachingEncoder, encoder_of
from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.lint import lint
from tokviz.chat.messages import UNTRAINED_KEYS, Message
from tokviz.chat.render import render
from tokviz.chat.rendering import MuchIsNewError, Rendering, rendering_to_json
from tokviz.chat.spans import Reason
from tokviz.chat.templates import TEMPLATES
from tokviz.formats.loader import load
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.byte_text_encoder import ByteTextEncoder
from tokviz.tokenizer.encoding.normalization import Normalizer
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
from tokviz.tokenizer.tokenizer import Tokenizer

BYTES = Tokenizer({i: bytes([i]) for i in range(256)}, [], SPECIALS)
GPT2 = load("gpt2")
PYTHON = [
    {"type": "text", "text": "T"},
    {"type": "python", "text": "P"},
    {"type": "python_output", "text": "O"},
]
CONVERSATION = Conversation.from_json(
    [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "U"},
        {"role": "assistant", "content": PYTHON},
    ]
)


def shown(rendering: Rendering) -> list[tuple[str, str, int, int, int]]:
    return [
        (
            rendering.token_bytes(i).decode(),
            Reason(rendering.reasons[i]).name,
            rendering.mask[i],
            rendering.from_structure[i],
            rendering.message_of[i],
        )
        for i in range(len(rendering))
    ]


def test_every_token_has_its_reason():
    assert shown(render(BYTES, CONVERSATION)) == [
        ("<|bos|>", "HEADER", 0, 1, -1),
        ("<|user_start|>", "HEADER", 0, 1, 1),
        ("S", "SYSTEM_TEXT", 0, 0, 0),
        ("\n", "HEADER", 0, 1, 0),
        ("\n", "HEADER", 0, 1, 0),
        ("U", "USER_TEXT", 0, 0, 1),
        ("<|user_end|>", "HEADER", 0, 1, 1),
        ("<|assistant_start|>", "HEADER", 0, 1, 2),
        ("T", "ASSISTANT_TEXT", 1, 0, 2),
        ("<|python_start|>", "TOOL_CALL", 1, 1, 2),
        ("P", "TOOL_CALL", 1, 0, 2),
        ("<|python_end|>", "TOOL_CALL", 1, 1, 2),
        ("<|output_start|>", "TOOL_OUTPUT", 0, 1, 2),
        ("O", "TOOL_OUTPUT", 0, 0, 2),
        ("<|output_end|>", "TOOL_OUTPUT", 0, 1, 2),
        ("<|assistant_end|>", "END", 1, 1, 2),
    ]


def test_parts_are_numbered():
    assert render(BYTES, CONVERSATION).part_of.tolist() == [
        *(-1, -1, 0, -1, -1, 0, -1, -1),
        *(0, 1, 1, 1, 2, 2, 2, -1),
    ]


def test_what_is_cut_off_is_there_and_marked():
    rendering = render(BYTES, CONVERSATION, max_tokens=10)
    assert (rendering.n_kept, len(rendering)) == (10, 16)
    assert set(rendering.reasons[10:]) == {Reason.TRUNCATED}
    assert not any(rendering.mask[10:])
    assert rendering.n_learned == 2
    assert rendering.supervised_share == 0.2
    assert rendering.token_bytes(10) == b"P"
    assert rendering.reason_sentence(10) == (
        "0: cut off. This is token #10, and only the first 10 are kept; training does not see it."
    )


@given(value=nanochat_conversations())
def test_message_spans_are_where_the_messages_are(value):
    rendering = render(BYTES, Conversation.from_json(value))
    for message, (first, last) in enumerate(rendering.message_spans):
        places = [i for i, m in enumerate(rendering.message_of) if m == message]
        assert (min(places, default=0), max(places, default=-1) + 1) == (first, last)


@examples(60)
@given(
    messages=plain_conversations(), name=st.sampled_from(["chatml", "llama3", "qwen", "gpt-oss"])
)
def test_columns_have_one_item_for_each_token(messages, name):
    rendering = render(GPT2, Conversation.from_json(messages), name)
    columns = rendering.mask, rendering.reasons, rendering.from_structure
    assert {len(column) for column in (*columns, rendering.message_of, rendering.part_of)} == {
        len(rendering.ids)
    }
    text = b"".join(rendering.token_bytes(i) for i in range(len(rendering)))
    for message in messages:
        assert message["content"].strip().encode() in text


@pytest.mark.parametrize(
    ("index", "sentence"),
    [
        (0, "0: template text; input only: the model reads it."),
        (2, "0: system text of message 1 (content); input only: the model reads it."),
        (5, "0: user text of message 2 (content); input only: the user writes it."),
        (8, "1: assistant text of message 3 (content); the model learns to write it."),
        (9, "1: tool call of message 3 (structure); the model learns to call the tool."),
        (13, "0: tool output of message 3 (content); input only: the tool returns it."),
    ],
)
def test_the_reason_is_said_in_a_sentence(index, sentence):
    assert render(BYTES, CONVERSATION).reason_sentence(index) == sentence


def test_the_end_tokens_reason_is_that_the_model_stops():
    sentence = render(BYTES, CONVERSATION).reason_sentence(15)
    assert sentence.startswith("1: the token that ends the assistant's turn of message 3; so the")


def test_virtual_special_tokens_are_said():
    rendering = render(GPT2, CONVERSATION)
    assert list(rendering.virtual_specials.items())[:2] == [
        ("<|bos|>", 50257),
        ("<|user_start|>", 50258),
    ]
    assert rendering.is_special(0)
    assert rendering.token_bytes(0) == b"<|bos|>"
    assert not render(BYTES, CONVERSATION).virtual_specials


def test_raw_bytes_of_a_file_are_encoded_exactly():
    conversation = Conversation.from_json(turns("a\udcffb"), byte_text=True)
    assert bytes(render(BYTES, conversation).ids[2:5].tolist()) == b"a\xffb"


def test_json_holds_what_training_sees():
    record: dict[str, Any] = rendering_to_json(render(BYTES, CONVERSATION, max_tokens=9))
    assert record["n_tokens"] == 16
    assert record["mask"] == [0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert record["reasons"][-1] == "assistant text"
    assert len(record["ids"]) == len(record["messages"]) == 9


def test_texts_are_encoded_once(monkeypatch):
    tokenizer = Tokenizer({i: bytes([i]) for i in range(256)}, [])
    texts: list[str] = []

    class Counting(ByteTextEncoder):
        def encode(self, text: str, allowed_special: Any = True) -> array[int]:
            texts.append(text)
            return super().encode(text, allowed_special)

    tokenizer.byte_text = Counting(*tokenizer.byte_text)
    messages = turns(*(f"text {i}" for i in range(100)))
    for name in ("nanochat", "chatml"):
        render(tokenizer, Conversation.from_json(messages), name, 10_000)
        texts.clear()
        messages[50]["content"] += "!"
        render(tokenizer, Conversation.from_json(messages), name, 10_000)
        assert len(texts) == 1


@pytest.mark.parametrize("name", [*BUILTIN, *SMALL, "a normalizing one"])
def test_a_conversation_in_parts_is_as_in_one_go(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = load("qwen2") if name == "a normalizing one" else tokenizer(name)
    rng = random.Random(name)
    text = random_text(rng, 100)
    for _ in range(40):
        offset, n_removed, inserted = random_edit(rng, len(text))
        text = text[:offset] + inserted + text[offset + n_removed :]
        text = bytetext.from_bytes(bytetext.to_bytes(text))
        roles = ("system", "user", "assistant", "user")
        contents = (random_text(rng, 2), text, "an answer", text[::-1])
        messages = tuple(map(Message, roles, map(bytetext.as_byte_text, contents)))
        template = rng.choice(("nanochat", "chatml", "llama3"))
        found = []
        for part_chars in (1_000_000, rng.choice((1, 8, 50))):
            monkeypatch.setattr("tokviz.chat.caching_encoder._PART_CHARS", part_chars)
            found.append(render(known, Conversation(messages), template))
        assert columns(found[0]) == columns(found[1])
        if not known.lossy:
            for made in found:
                for run in made.runs:
                    tokens = range(run.first, run.last)
                    assert run.n_bytes == sum(len(made.token_bytes(token)) for token in tokens)


def columns(made: Rendering) -> tuple[object, ...]:
    where = made.message_of, made.part_of, made.stretches, made.message_spans
    return made.ids, made.mask, made.reasons, made.from_structure, where


@pytest.mark.parametrize("template", ["nanochat", "chatml"])
def test_after_a_key_in_a_long_text_little_is_encoded(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"Some {template}, and {number} of them.\n" for number in range(10_000))
    sizes: list[int] = []
    encode = CachingEncoder.encode

    def counting(self: CachingEncoder, text: str) -> array[int]:
        sizes.append(0 if self.knows(text) else len(text))
        return encode(self, text)

    monkeypatch.setattr(CachingEncoder, "encode", counting)
    with pytest.raises(MuchIsNewError):
        render(GPT2, Conversation.from_json(turns(text, "ok")), template, most_new=20_000)
    render(GPT2, Conversation.from_json(turns(text, "ok")), template)
    for place in (0, 5, 100_000, *range(200_000, 200_200), 299_999, len(text)):
        sizes.clear()
        text = f"{text[:place]}x{text[place:]}"
        render(GPT2, Conversation.from_json(turns(text, "ok")), template, most_new=20_000)
        assert 0 < sum(sizes) < 20_000
    assert len(sizes) < 100


@pytest.mark.parametrize("pattern", ["gpt2", r"\w+|\W"])
@pytest.mark.parametrize("form", [Normalizer(), Normalizer("NFC")])
@pytest.mark.parametrize("kept", [50, 4_000_000])
def test_texts_that_are_encoded_together_get_the_ids_of_each(pattern, form, kept, monkeypatch):
    monkeypatch.setattr("tokviz.chat.caching_encoder._KEPT_CHARS", kept)
    monkeypatch.setattr("tokviz.chat.rendering._TOGETHER", 7)
    made = partial(GPT2.with_parts, get_split_pattern(pattern), GPT2.specials, form)
    generator, learned = random.Random(0), []
    conversation = Conversation.from_json(turns(*(random_text(generator, 6) for _ in range(60))))
    learn = CachingEncoder.learn

    def counting(self, texts):
        texts = [*texts]
        learned.extend(texts)
        learn(self, texts)

    monkeypatch.setattr(CachingEncoder, "learn", counting)
    found = {name: render(made(), conversation, name).ids for name in TEMPLATES}
    assert len(learned) > 50
    monkeypatch.setattr(CachingEncoder, "learn", lambda self, texts: None)
    assert found == {name: render(made(), conversation, name).ids for name in TEMPLATES}


def test_the_encoder_forgets_when_it_holds_much(monkeypatch):
    monkeypatch.setattr("tokviz.chat.caching_encoder._KEPT_CHARS", 100)
    tokenizer = Tokenizer({i: bytes([i]) for i in range(256)}, [])
    encoder = encoder_of(tokenizer)
    texts = [f"text {i:>10}" for i in range(50)]
    for text in texts:
        assert len(encoder.encode(text)) == 15
    assert sum(len(text) for text in texts if encoder.knows(text)) <= 100
    assert encoder_of(tokenizer) is encoder


JINJA = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
UNTRAINED = [
    {"role": "user", "content": "U"},
    {"role": "assistant", "content": "bad", "weight": 0},
    {"role": "user", "content": "U"},
    {"role": "assistant", "content": "good", "weight": 1},
]


@pytest.mark.parametrize("template", [*TEMPLATES, "a Jinja template"])
@pytest.mark.parametrize("key", UNTRAINED_KEYS)
def test_a_message_that_says_so_is_not_learned(template: str, key: str) -> None:
    messages = [
        {key if name == "weight" else name: value for name, value in message.items()}
        for message in UNTRAINED
    ]
    conversation = Conversation.from_json({"messages": messages})
    chosen: Any = template if template in TEMPLATES else JinjaTemplate(template, JINJA)
    rendering = render(BYTES, conversation, chosen)
    learned = {rendering.message_of[i] for i in range(len(rendering)) if rendering.mask[i]}
    assert learned == {3}
    assert f"Not learned because of {key!r}: message 2." in rendering.notes
    place = rendering.message_of.index(1)
    sentences = {rendering.reason_sentence(i) for i in range(place, rendering.message_spans[1][1])}
    said = f"0: assistant text of message 2; its key {key!r} keeps it from being learned."
    assert said in sentences
    codes = [finding.code for finding in lint(conversation, rendering)]
    assert "end-unsupervised" not in codes and "nothing-supervised" not in codes


def test_a_weight_of_the_user_changes_nothing() -> None:
    messages = [{"role": "user", "content": "U", "train": True}, UNTRAINED[3]]
    rendering = render(BYTES, Conversation.from_json(messages), "chatml")
    assert not rendering.untrained and not rendering.notes
