"""Jinja templates: tokens, masks and places of contents in the child's output."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from tests.chat import originals
from tests.chat.conversations import plain_conversations, turns
from tests.chat.test_templates import CALLS, LLAMA3, QWEN, in_short, learned
from tests.profiles import examples
from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import ChatTemplateError, JinjaTemplate
from tokviz.chat.lint import lint
from tokviz.chat.render import render
from tokviz.chat.rendering import GENERATION_MARKS, ROLE_SPANS, Rendering
from tokviz.chat.spans import CONTENT_AS_TEXT, TRANSFORMERS, Reason

CHATML = JinjaTemplate("chatml.jinja", originals.CHATML)
LLAMA3_JINJA = JinjaTemplate(
    "llama3.jinja", originals.LLAMA3, variables={"bos_token": "<|begin_of_text|>"}
)
QWEN_JINJA = JinjaTemplate("qwen.jinja", originals.QWEN)
MARKED = JinjaTemplate("marked.jinja", originals.GENERATION)
MISTRAL = JinjaTemplate(
    "mistral.jinja", originals.MISTRAL, variables={"bos_token": "<s>", "eos_token": "</s>"}
)
THINKING = JinjaTemplate("thinking.jinja", originals.THINKING)


@pytest.fixture(scope="module", autouse=True)
def end_children():
    yield
    for template in (CHATML, LLAMA3_JINJA, QWEN_JINJA, MARKED, MISTRAL, THINKING):
        template.close()


def read(messages) -> Conversation:
    return Conversation.from_json(messages)


@pytest.mark.parametrize(
    ("template", "name", "tokenizer"),
    [(CHATML, "chatml", QWEN), (QWEN_JINJA, "qwen", QWEN), (LLAMA3_JINJA, "llama3", LLAMA3)],
)
@examples(40)
@given(messages=plain_conversations())
def test_the_original_in_jinja_gives_what_the_built_in_gives(template, name, tokenizer, messages):
    """Return ids, mask, reasons and messages without blank contents, which cannot be located."""
    conversation = read(messages)
    ours, theirs = (render(tokenizer, conversation, t, 10_000) for t in (name, template))
    assert theirs.ids == ours.ids
    assert theirs.mask_source == ROLE_SPANS
    blank = any(message.text.isspace() for message in conversation.messages)
    trimmed = any(message.text != message.text.strip() for message in conversation.messages)
    if not blank and not (trimmed and name == "llama3"):
        assert theirs.mask == ours.mask
        assert theirs.reasons == ours.reasons


def test_what_is_null_in_a_message_is_not_there_for_the_template():
    """OpenAI's tool calls have null content, and tables pad their rows with nulls."""
    source = (
        "{% for m in messages %}{{ m.role }}:{{ m.content }}"
        "{% if m.name is defined %}!{% endif %}{{ m.tool_calls | length }}<|im_end|>{% endfor %}"
    )
    template = JinjaTemplate("t", source)
    call = {"function": {"name": "add", "arguments": {"a": None}}}
    conversation = read(
        [
            {"role": "user", "content": "1+1?", "name": None},
            {"role": "assistant", "content": None, "tool_calls": [call]},
        ]
    )
    rendering = render(QWEN, conversation, template)
    template.close()
    text = b"".join(rendering.token_bytes(i) for i in range(len(rendering)))
    assert text == b"user:1+1?0<|im_end|>assistant:1<|im_end|>"


def test_reasoning_and_tools_that_a_template_does_not_write_are_said():
    said = {"role": "assistant", "content": "Hello", "thinking": "Hm.\n", "reasoning": "Oh."}
    tools = [{"type": "function", "function": {"name": "add"}}]
    conversation = read({"messages": [*turns("Hi"), said], "tools": tools})
    source = "{% for m in messages %}{{ m.content }}{{ m.thinking | trim }}<|im_end|>{% endfor %}"
    template = JinjaTemplate("t", source)
    rendering = render(QWEN, conversation, template)
    template.close()
    assert rendering.notes == (
        "t leaves out or changes a part of the conversation: 'tools', 'reasoning'. Changed "
        "text counts as template text.",
    )
    assert left_out(conversation, rendering) == [
        "t leaves out or changes 'tools'",
        "message 2: t leaves out or changes 'reasoning'",
    ]


# As Qwen3's: omits reasoning before the user's last turn, and separates reasoning from content.
QWEN3 = (
    "{% set ns = namespace(last=-1) %}"
    "{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}"
    "{% endfor %}{% for m in messages %}<|im_start|>{{ m.role + '\n' }}"
    "{% if m.role == 'assistant' %}{% set content = m.content %}"
    "{% set thought = m.reasoning_content | default('') %}"
    "{% if '</think>' in content %}{% set thought = content.split('</think>')[0] | trim %}"
    "{% set content = content.split('</think>')[-1].lstrip('\n') %}{% endif %}"
    "{% if thought and loop.index0 > ns.last %}"
    "{{ '<think>\n' + thought.strip('\n') + '\n</think>\n\n' + content }}"
    "{% else %}{{ content }}{% endif %}{% else %}{{ m.content }}{% endif %}"
    "<|im_end|>{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant{{ '\n' }}{% endif %}"
)


def left_out(conversation: Conversation, rendering: Rendering) -> list[str]:
    return [f.message for f in lint(conversation, rendering) if f.code == "left-out"]


def rendered_by(source: str, conversation: Conversation, specials=TRANSFORMERS) -> Rendering:
    template = JinjaTemplate("t", source)
    try:
        return render(QWEN, conversation, template, 10_000, specials=specials)
    finally:
        template.close()


def thinking(text: str, content: str = "Hello", key: str = "reasoning_content") -> dict[str, str]:
    return {"role": "assistant", "content": content, key: text}


def test_reasoning_is_learned_with_what_the_model_writes_around_it():
    conversation = read([*turns("Hi"), thinking("\nHm. <|im_end|>\n")])
    rendering = rendered_by(QWEN3, conversation, CONTENT_AS_TEXT)
    assert in_short(learned(rendering)).decode() == (
        "|<think>\nHm. <|im_end|>\n</think>\n\nHello<|im_end|>|"
    )
    assert rendering.ids.tolist().count(QWEN.special_tokens["<|im_end|>"]) == 2
    said = rendering.ids.tolist().index(QWEN.encode("think")[0])
    assert [rendering.reason_sentence(i) for i in (said, said + 2)] == [
        "1: assistant text of message 2 (structure); the model learns to write it.",
        "1: assistant text of message 2 (content); the model learns to write it.",
    ]
    assert left_out(conversation, rendering) == []


def test_reasoning_that_is_written_of_the_last_turn_only_is_said_of_the_others():
    conversation = read([*turns("Hi"), thinking("Hm."), *turns("So?"), thinking("Oh.", "Yes")])
    rendering = rendered_by(QWEN3, conversation)
    assert in_short(learned(rendering)).decode() == (
        "|Hello<|im_end|>|<think>\nOh.\n</think>\n\nYes<|im_end|>|"
    )
    assert left_out(conversation, rendering) == [
        "message 2: t leaves out or changes 'reasoning_content'"
    ]


def test_tool_calls_are_learned_of_turns_whose_reasoning_is_not_written():
    source = QWEN3.replace("<|im_end|>", "{{ m.tool_calls | tojson if m.tool_calls }}<|im_end|>")
    call = thinking("Hm.", "") | {"tool_calls": [{"function": {"name": "now"}}]}
    answer = {"role": "assistant", "content": "Noon"}
    asked = [*turns("Hi"), call, {"role": "tool", "content": "12"}, answer]
    conversation = read([*asked, *asked])
    rendering = rendered_by(source, conversation)
    written = '[{"function": {"name": "now"}}]<|im_end|>|Noon<|im_end|>'
    assert in_short(learned(rendering)).decode() == (
        f"|{written}|<think>\nHm.\n</think>\n\n{written}|"
    )
    assert left_out(conversation, rendering) == [
        "message 2: t leaves out or changes 'reasoning_content'"
    ]


def test_reasoning_is_found_beside_contents_that_the_template_looks_into():
    """The content is searched for outside the reasoning, which has the same words."""
    messages = [
        *turns("Hi", "<think>\nHm.\n</think>\n\nHello", "So?"),
        thinking("Yes, yes.", "Yes"),
    ]
    conversation = read(messages)
    rendering = rendered_by(QWEN3, conversation)
    assert in_short(learned(rendering)).decode() == (
        "|Hello<|im_end|>|<think>\nYes, yes.\n</think>\n\nYes<|im_end|>|"
    )
    assert left_out(conversation, rendering) == ["message 2: t leaves out or changes 'content'"]


def test_what_stands_between_reasoning_and_content_is_learned_without_a_prompt_to_go_by():
    source = (
        "{% for m in messages %}{% if m.role == 'assistant' %}A: <think> {{ m.reasoning }}</think>"
        "{{ m.content }}<|im_end|>{% else %}{{ m.content }}<|im_end|>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}A:<think>{% endif %}"
    )
    conversation = read([*turns("Hi"), thinking("Hm.", key="reasoning")])
    rendering = rendered_by(source, conversation)
    assert in_short(learned(rendering)) == b"| Hm.</think>Hello<|im_end|>"


@pytest.mark.parametrize(
    ("content", "expected"),
    [("Hello", b"|[Hm.]Hello<|im_end|>"), ("Hm. Hello", b"|Hm. Hello<|im_end|>")],
    ids=["once", "twice"],
)
def test_reasoning_that_a_template_looks_into_is_found_only_where_it_is_there_once(
    content, expected
):
    source = (
        "{% for m in messages %}{% if m.thinking and m.thinking | length < 5 %}[{{ m.thinking }}]"
        "{% endif %}{{ m.content }}<|im_end|>{% endfor %}"
    )
    conversation = read([*turns("Hi"), thinking("Hm.", content, "thinking")])
    rendering = rendered_by(source, conversation)
    assert in_short(learned(rendering)) == expected
    assert len(left_out(conversation, rendering)) == (content != "Hello")


def test_tool_calls_that_a_template_does_not_write_are_said():
    conversation = read(CALLS)
    without = originals.QWEN.replace("tool_calls %}", "nothing %}")
    assert left_out(conversation, rendered_by(without, conversation)) == [
        "message 2: t leaves out or changes 'tool_calls'",
        "message 5: t leaves out or changes 'tool_calls'",
    ]
    assert left_out(conversation, rendered_by(originals.QWEN, conversation)) == []


@pytest.mark.parametrize("end", ["<|im_end|>\n", "\n"])
def test_a_generation_prompt_changes_no_earlier_token_of_the_mask(end):
    source = originals.QWEN.replace("<|im_end|>\\n", end.replace("\n", "\\n"))
    without = read([*CALLS, *turns("So?", "Yes")])
    found = rendered_by(source, without)
    asked = rendered_by(source, without.with_variables({"add_generation_prompt": True}))
    n_tokens = len(found.ids)
    assert (asked.ids[:n_tokens], asked.mask[:n_tokens]) == (found.ids, found.mask)
    assert asked.reasons[:n_tokens] == found.reasons
    assert asked.n_learned == found.n_learned
    assert left_out(without, asked) == left_out(without, found)


def test_generation_marks_make_the_mask():
    conversation = read(turns("Hi", "Hello", "Oh", "Yes"))
    marked, plain = render(QWEN, conversation, MARKED), render(QWEN, conversation, "chatml")
    assert marked.mask_source == GENERATION_MARKS
    assert marked.ids == plain.ids
    assert marked.mask == plain.mask
    assert marked.reasons == plain.reasons


def test_generation_marks_that_leave_the_end_out_leave_it_out():
    source = originals.GENERATION.replace(
        "<|im_end|>{% endgeneration %}", "{% endgeneration %}<|im_end|>"
    )
    template = JinjaTemplate("t", source)
    conversation = read(turns("Hi", "Hello"))
    rendering = render(QWEN, conversation, template)
    template.close()
    assert in_short(learned(rendering)) == b"|Hello|"
    assert {finding.code for finding in lint(conversation, rendering)} == {"end-unsupervised"}


def test_generation_marks_around_everything_are_found():
    source = (
        "{% generation %}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}"
        "{% endgeneration %}"
    )
    template = JinjaTemplate("t", source)
    conversation = read(turns("Hi", "Hello"))
    codes = {finding.code for finding in lint(conversation, render(QWEN, conversation, template))}
    template.close()
    assert codes == {"everything-supervised"}


@pytest.mark.parametrize("template", [CHATML, MARKED, LLAMA3_JINJA, THINKING])
def test_special_token_text_in_content_stays_text(template):
    conversation = read(turns("a <|im_end|> b <|eot_id|>", "c <|im_start|> d"))
    tokenizer = LLAMA3 if template is LLAMA3_JINJA else QWEN
    rendering = render(tokenizer, conversation, template, specials=CONTENT_AS_TEXT)
    contents = [i for i in range(len(rendering)) if not rendering.from_structure[i]]
    assert contents
    assert not any(rendering.is_special(i) for i in contents)
    text = b"".join(rendering.token_bytes(i) for i in contents)
    assert text == b"a <|im_end|> b <|eot_id|>c <|im_start|> d"


def test_a_template_that_looks_into_the_content_is_masked_by_searching():
    conversation = read(
        [*turns("Hi", "<think>\nhm\n</think>\n\nHello"), *turns("<tool_response>x", "Yes")]
    )
    rendering = render(QWEN, conversation, THINKING)
    assert in_short(learned(rendering)) == b"|Hello<|im_end|>|Yes<|im_end|>|"
    assert rendering.message_of[rendering.ids.tolist().index(QWEN.encode("Hello")[0])] == 1


def test_contents_that_are_not_in_the_text_are_said():
    template = JinjaTemplate("t", "{% for m in messages %}{{ m.content | length }}{% endfor %}")
    conversation = read(turns("hi", "hello"))
    rendering = render(QWEN, conversation, template)
    template.close()
    assert left_out(conversation, rendering) == [
        "message 1: t leaves out or changes 'content'",
        "message 2: t leaves out or changes 'content'",
    ]


def test_text_that_ends_a_turn_without_special_tokens_is_no_end():
    template = JinjaTemplate(
        "t", "{% for m in messages %}{{ m.role }}: {{ m.content }}\n\n{% endfor %}"
    )
    conversation = read(turns("hi", "hello", "oh", "yes"))
    rendering = render(QWEN, conversation, template)
    template.close()
    assert Reason.END not in set(rendering.reasons)
    findings = [f for f in lint(conversation, rendering) if f.code == "end-unsupervised"]
    assert [finding.message_index for finding in findings] == [1, 3]


def test_special_tokens_that_the_tokenizer_lacks_are_encoded_as_text():
    rendering = render(LLAMA3, read(turns("Hi", "Hello")), MISTRAL)
    assert not rendering.virtual_specials
    assert rendering.missing_specials == {
        text: len(LLAMA3.encode(text)) for text in ("<s>", "</s>")
    }
    assert rendering.ids.tolist() == LLAMA3.encode(rendering.text)


def test_qwens_tool_calls_are_learned_whole():
    conversation = read(CALLS)
    jinja, ours = render(QWEN, conversation, QWEN_JINJA), render(QWEN, conversation, "qwen")
    assert jinja.ids == ours.ids
    assert jinja.mask == ours.mask


@pytest.mark.parametrize("place", range(4))
def test_tool_calls_are_learned_wherever_the_tools_stand(place):
    """At the start, before the last question as Mistral has it, and at the end."""
    tools = ["" if n != place else "{{ 'Tools: ' ~ tools | tojson if tools }}" for n in range(4)]
    source = (
        "{% set ns = namespace(last=0) %}{% for m in messages %}{% if m.role == 'user' %}"
        "{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
        f"{tools[0]}{{% for m in messages %}}"
        f"{{% if loop.index0 == ns.last %}}{tools[1]}{{% endif %}}"
        "<|im_start|>{{ m.role }}\n{{ m.content }}"
        "{{ m.tool_calls | tojson if m.tool_calls }}<|im_end|>{% endfor %}"
        f"{tools[2]}{{% if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}{tools[3]}"
    )
    call = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "now"}}]}
    asked = [*turns("Hi"), call, {"role": "tool", "content": "12"}, *turns("So?", "Noon")]
    written = ['[{"function": {"name": "now"}}]<|im_end|>', "Noon<|im_end|>"] * 2
    # The call is the last of all, too.
    for messages, said in (([*asked, *asked], written), ([*asked, *asked[:2]], written[:3])):
        conversation = read({"messages": messages, "tools": [{"name": "now"}]})
        rendering = rendered_by(source, conversation)
        assert in_short(learned(rendering)).decode().strip("|") == "|".join(said)
        assert left_out(conversation, rendering) == []


def test_templates_are_given_tools_and_further_keys():
    template = JinjaTemplate(
        "t", "{{ tools | tojson }}{{ messages[0].name }}{{ x }}", variables={"x": 1}
    )
    value = {"messages": [{"role": "user", "content": "a", "name": "Bo"}], "tools": [{"ä": 1}]}
    assert template.marked(read(value)).text == '[{"ä": 1}]Bo1'
    template.close()


@pytest.mark.parametrize(
    ("before", "roles", "blamed"),
    [
        ("", "uau", None),
        ("", "uaau", 2),
        ("{{ messages[0]['role'] }}", "uaau", 2),
        ("{{ messages[1]['role'] }}", "uauuu", 3),
        ("{{ raise_exception('never') }}", "ua", None),
    ],
)
def test_the_message_with_which_a_template_begins_to_fail_is_named(before, roles, blamed):
    template = JinjaTemplate(
        "t",
        before + "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}{{ m['content'] }}{% endfor %}",
    )
    names = {"u": "user", "a": "assistant"}
    conversation = read([{"role": names[role], "content": role} for role in roles])
    try:
        template.marked(conversation)
        assert blamed is None
    except ChatTemplateError as error:
        assert error.message_index == blamed
    finally:
        template.close()


@pytest.mark.parametrize(
    ("source", "variables"), [(r"{{ '\ud800' }}", {}), ("{{ bos_token }}", {"bos_token": "\ud800"})]
)
def test_a_template_that_writes_half_a_surrogate_pair_is_refused(source, variables):
    template = JinjaTemplate("t", source, variables=variables)
    with pytest.raises(ChatTemplateError, match=r"U\+D800, half of a UTF-16 surrogate pair"):
        template.marked(read(turns("Hi")))
    template.close()


@pytest.mark.parametrize("tojson", ["tojson", "tojson(false, 1)"])
def test_loop_controls_and_tojson_are_those_of_transformers(tojson):
    source = (
        "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}"
        f"{{{{ m | {tojson} }}}}{{% break %}}{{% endfor %}}"
    )
    template = JinjaTemplate("t", source)
    text = template.marked(read(turns("a", "ü", "b"))).text
    template.close()
    assert json.loads(text) == {"role": "assistant", "content": "ü"}
    assert "ü" in text


def test_raising_templates_name_the_message():
    messages = [*turns("a", "b"), {"role": "system", "content": "c"}]
    with pytest.raises(ChatTemplateError, match="Only user and assistant roles") as caught:
        render(QWEN, read(messages), MISTRAL)
    assert caught.value.message_index == 2


def test_noncharacters_in_contents_are_contents():
    texts = "\ufdd0a\ufdd1", "\ufdd2" + "".join(map(chr, range(0xFDD0, 0xFDF0)))
    for text in texts:
        rendering = render(QWEN, read(turns(text, text)), CHATML)
        plain = render(QWEN, read(turns(text, text)), "chatml")
        assert rendering.ids == plain.ids
        assert rendering.mask == plain.mask


def test_parts_are_found():
    source = (
        "{% for m in messages %}{% for p in m.content %}"
        "<|im_start|>{{ p.text }}<|im_end|>{% endfor %}{% endfor %}"
    )
    template = JinjaTemplate("t", source)
    parts = [{"type": "text", "text": "a"}, {"type": "python_output", "text": "b"}]
    rendering = render(QWEN, read([{"role": "assistant", "content": parts}]), template)
    template.close()
    assert rendering.part_of.tolist() == [-1, 0, -1, -1, 1, -1]
    assert rendering.reasons[4] == Reason.TOOL_OUTPUT
    assert rendering.mask[4] == 0


@pytest.mark.parametrize(("n_turns", "n_missed"), [(64, 0), (66, 2)])
def test_turns_with_reasoning_beyond_those_that_are_looked_for_are_said(n_turns, n_missed):
    source = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.reasoning_content %}"
        "<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}<|im_end|>{% endfor %}"
    )
    conversation = read([m for _ in range(n_turns) for m in (*turns("Hi"), thinking("Hm."))])
    said = [note for note in rendered_by(source, conversation).notes if "not learned here" in note]
    assert len(said) == bool(n_missed)
    assert not n_missed or said[0].startswith(f"In {n_missed} of the assistant's messages")
