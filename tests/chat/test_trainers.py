"""Masks of trainers: each learns what its own code puts in the labels."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from tests.chat import originals
from tests.chat.conversations import nanochat_conversations, plain_conversations, turns
from tests.chat.test_templates import LLAMA3, QWEN
from tests.oracles import nanochat
from tests.profiles import examples
from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import UNTRAINED_KEYS
from tokviz.chat.render import render
from tokviz.chat.template_files import load_template
from tokviz.chat.trainers import TRAINERS, Example, TrainerRefusalError, response_parts
from tokviz.guide import page

MARKED = JinjaTemplate("marked.jinja", originals.GENERATION)
CHATML = JinjaTemplate("chatml.jinja", originals.CHATML)
QWEN_JINJA = JinjaTemplate("qwen.jinja", originals.QWEN)
HEADERS = JinjaTemplate(
    "headers.jinja",
    "{% for message in messages %}{% if message.role == 'user' %}### Instruction:\n"
    "{{ message.content }}{{ '\n\n' }}{% else %}### Response:\n{{ message.content }}"
    "{{ eos_token + '\n\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}### Response:\n{% endif %}",
    variables={"eos_token": "<|endoftext|>"},
)
# Removes the reasoning of earlier answers, as the templates of Qwen3 and DeepSeek do.
STRIPPED = JinjaTemplate(
    "stripped.jinja",
    "{% for message in messages %}<|im_start|>{{ message.role + '\n' }}"
    "{{ message.content if loop.last else message.content.split('</think>')[-1] }}"
    "<|im_end|>{{ '\n' }}{% endfor %}",
)
FAR_END = JinjaTemplate(
    "far.jinja",
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n-1-2-3-4-\n"
    "{{ eos_token }}{% endfor %}",
    variables={"eos_token": "<|endoftext|>"},
)
STRICT = JinjaTemplate(
    "strict.jinja",
    "{% if messages|length != 2 %}{{ raise_exception('two messages only') }}{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.content }}<|im_end|>{% endfor %}",
)
TWO = turns("Hi", "Hello", "What?", "That.")


@pytest.fixture(scope="module", autouse=True)
def end_children():
    yield
    for template in (MARKED, CHATML, QWEN_JINJA, HEADERS, STRIPPED, FAR_END, STRICT):
        template.close()


def example(messages, template, tokenizer=QWEN) -> Example:
    conversation = Conversation.from_json(messages)
    chosen = load_template(template) if isinstance(template, str) else template
    return Example(conversation, chosen, render(tokenizer, conversation, chosen))


def learned(trainer: str, messages, template, tokenizer=QWEN) -> list[str]:
    """Return the texts in the loss, one for each range of neighboring tokens."""
    given_example = example(messages, template, tokenizer)
    rendering = given_example.rendering
    mask = TRAINERS[trainer].mask(given_example)
    assert len(mask) == len(rendering)
    texts, before = [], 0
    for token, value in enumerate(mask):
        if value:
            texts += [] if before else [b""]
            texts[-1] += rendering.token_bytes(token)
        before = value
    return [text.decode() for text in texts]


def reason(trainer: str, messages, template, tokenizer=QWEN) -> str:
    with pytest.raises(TrainerRefusalError) as refused:
        TRAINERS[trainer].mask(example(messages, template, tokenizer))
    return str(refused.value)


@pytest.mark.parametrize("name", TRAINERS)
def test_every_trainer_names_its_source_and_what_it_does_with_keys_of_messages(name):
    trainer = TRAINERS[name]
    assert trainer.name == name and trainer.title and trainer.keys
    assert ".py" in trainer.source
    file, _, version = trainer.source.partition(",")[0].partition(" of ")
    row = f"| `{name}` | {trainer.title} | {trainer.keys} | {version}, `{file}` |"
    assert row in page("chat").splitlines()


@examples(20)
@given(messages=plain_conversations())
def test_every_mask_has_one_value_for_each_token(messages):
    for template in (MARKED, CHATML, QWEN_JINJA):
        given_example = example(messages, template)
        for trainer in TRAINERS.values():
            if trainer.name not in ("nanochat", "trl-assistant", "axolotl-field"):
                mask = trainer.mask(given_example)
                assert len(mask) == len(given_example.rendering)
                assert {*mask} <= {0, 1}


def test_trl_without_options_learns_the_whole_row():
    (text,) = learned("trl", TWO, CHATML)
    assert text.startswith("<|im_start|>user\nHi") and text.endswith("That.<|im_end|>\n")


def test_trl_learns_what_is_within_generation_marks():
    assert learned("trl-assistant", TWO, MARKED) == ["Hello<|im_end|>", "That.<|im_end|>"]
    assert reason("trl-assistant", TWO, CHATML) == "the template has no {% generation %} marks"
    assert "within {% generation %} marks" in reason("trl-assistant", turns("Hi"), MARKED)


def test_trl_learns_the_completion_after_the_generation_prompt():
    assert learned("trl-completion", TWO, QWEN_JINJA) == ["That.<|im_end|>\n"]
    assert learned("trl-completion", TWO, "qwen") == ["That.<|im_end|>\n"]
    assert learned("trl-completion", TWO, HEADERS) == ["That.<|endoftext|>\n\n"]
    # This template writes no generation prompt, so that the header is in the loss.
    assert learned("trl-completion", TWO, CHATML) == ["<|im_start|>assistant\nThat.<|im_end|>\n"]
    assert "no message after a message of the user" in reason("trl-completion", TWO[:3], CHATML)


def test_axolotl_learns_contents_and_eos_tokens():
    assert learned("axolotl-turn", TWO, CHATML) == ["Hello<|im_end|>", "That.<|im_end|>"]
    assert learned("axolotl-last", TWO, CHATML) == ["Hello", "That.<|im_end|>"]
    assert learned("axolotl-all", TWO, CHATML) == [
        "<|im_end|>",
        "Hello<|im_end|>",
        "<|im_end|>",
        "That.<|im_end|>",
    ]
    assert learned("axolotl-turn", TWO, HEADERS) == ["Hello<|endoftext|>", "That.<|endoftext|>"]


def test_axolotl_masks_an_eos_token_that_is_far_from_the_content():
    assert learned("axolotl-turn", turns("Hi", "Hello"), FAR_END) == [" Hello"]


def test_axolotl_needs_an_eos_token():
    plain = JinjaTemplate("plain.jinja", "{% for it in messages %}{{ it.content }}{% endfor %}")
    try:
        assert reason("axolotl-turn", TWO, plain) == "the EOS token is unknown"
    finally:
        plain.close()


def test_axolotl_learns_tool_calls():
    call = {"function": {"name": "add", "arguments": {"a": 1}}}
    messages = [
        {"role": "user", "content": "1+1?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "2"},
        {"role": "assistant", "content": "It is 2."},
    ]
    called, said = learned("axolotl-turn", messages, QWEN_JINJA)
    assert "add" in called and called.endswith("</tool_call><|im_end|>")
    assert said == "It is 2.<|im_end|>"


def test_axolotl_finds_turns_that_the_template_changes():
    messages = turns("Hi", "<think>one two three</think>Hello", "What?", "That.")
    expected = ["Hello<|im_end|>", "That.<|im_end|>"]
    assert learned("axolotl-turn", messages, STRIPPED) == expected


def test_axolotl_masks_the_end_of_an_answer_that_is_empty():
    messages = turns("Hi", "<think>one two three</think>", "What?", "")
    assert learned("axolotl-turn", messages, STRIPPED) == []


def test_axolotl_reads_one_key_of_the_messages_for_every_role():
    messages = turns("Hi", "Hello", "What?", "That.")
    messages[0]["train"] = True
    messages[1]["train"] = False
    assert learned("axolotl-field", messages, CHATML) == ["Hi<|im_end|>", "That.<|im_end|>"]
    assert reason("axolotl-field", TWO, CHATML) == "no message has a key such as 'train'"


@pytest.mark.parametrize("key", UNTRAINED_KEYS)
@pytest.mark.parametrize("name", [name for name, it in TRAINERS.items() if it.keys == "ignored"])
def test_other_trainers_ignore_keys_of_messages(name, key):
    marked = turns("Hi", "Hello", "What?", "That.")
    marked[1][key] = 0
    template = "nanochat" if name == "nanochat" else MARKED
    assert learned(name, marked, template) == learned(name, TWO, template)


def test_unsloth_learns_from_the_response_part_to_the_eos_token():
    assert learned("unsloth", TWO, CHATML) == ["Hello<|im_end|>", "That.<|im_end|>"]
    assert learned("unsloth", TWO, HEADERS) == ["Hello<|endoftext|>", "That.<|endoftext|>"]


def test_unsloth_learns_to_the_next_message_if_the_template_writes_no_eos_token():
    other = replace(CHATML, variables={"eos_token": "<|endoftext|>"})
    assert learned("unsloth", TWO, other) == ["Hello<|im_end|>\n", "That.<|im_end|>\n"]
    messages = [*turns("Hi", "Wait."), {"role": "tool", "content": "2"}, *turns("", "Two.")[1:]]
    assert learned("unsloth", messages, other) == ["Wait.<|im_end|>\n", "Two.<|im_end|>\n"]
    assert learned("unsloth", messages[:1], other) == []
    # A header that does not start with a special token ends an answer only if it is the user's.
    headers = replace(HEADERS, variables={"eos_token": "<|im_end|>"})
    messages = turns("Hi", "A", "B", "C") + turns("", "D")[1:]
    assert learned("unsloth", messages, headers) == [
        "A<|im_end|>",
        "C<|im_end|>",
        "D<|im_end|>",
    ]
    other.close()
    headers.close()


@pytest.mark.parametrize(
    ("template", "tokenizer", "parts"),
    [
        (CHATML, QWEN, ("<|im_start|>user\n", "<|im_start|>assistant\n")),
        (QWEN_JINJA, QWEN, ("<|im_start|>user\n", "<|im_start|>assistant\n")),
        (HEADERS, QWEN, ("### Instruction:\n", "### Response:\n")),
        (
            "llama3",
            LLAMA3,
            (
                "<|start_header_id|>user<|end_header_id|>\n\n",
                "<|start_header_id|>assistant<|end_header_id|>\n\n",
            ),
        ),
    ],
)
def test_the_parts_for_unsloth_are_the_headers_of_the_template(template, tokenizer, parts):
    assert response_parts(example(TWO, template, tokenizer)) == parts


def test_unsloth_needs_a_template_that_renders_two_turns_and_its_special_tokens():
    assert "two messages only" in reason("unsloth", turns("Hi", "Hello"), STRICT)
    for name in ("unsloth", "axolotl-turn"):
        assert "lacks special tokens" in reason(name, TWO, "nanochat")


def test_nemo_learns_everything_without_marks():
    assert learned("nemo", TWO, MARKED) == ["Hello<|im_end|>", "That.<|im_end|>"]
    assert learned("nemo", TWO, CHATML) == learned("trl", TWO, CHATML)


@examples(40)
@given(conversation=nanochat_conversations())
def test_nanochat_learns_what_its_own_rendering_does(conversation):
    ids, mask = nanochat.render_conversation(QWEN, conversation, 100_000)
    given_example = example(conversation, "nanochat")
    assert given_example.rendering.ids.tolist() == ids
    assert [*TRAINERS["nanochat"].mask(given_example)] == mask


def test_nanochat_has_its_own_template():
    assert "use --template nanochat" in reason("nanochat", TWO, CHATML)
