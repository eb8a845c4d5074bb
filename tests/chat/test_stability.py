"""Stability: earlier tokens change only where a template writes them differently, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given

from tests.chat import originals
from tests.chat.conversations import WITH_SPECIALS, plain_conversations, turns
from tests.profiles import examples
from tokviz.chat import stability
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset
from tokviz.chat.dataset_lint import DatasetLinter
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.stability import instabilities
from tokviz.formats.loader import load

QWEN = load("qwen2")
START = "{% for m in messages %}<|im_start|>{{ m.role }}\n"
END = "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
THINKING = """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.reasoning_content and loop.last %}
<think>{{ m.reasoning_content }}</think>
{% endif %}
{{ m.content }}<|im_end|>
{% endfor %}"""
SYSTEM_LAST = (
    "{% for m in messages if m.role != 'system' %}{% if loop.last %}{{ messages[0].content }}"
    "{% endif %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}"
)


def found(source: str, messages: list[dict[str, str]]) -> list[stability.Instability]:
    template = JinjaTemplate("t", source)
    try:
        return instabilities(QWEN, Conversation.from_json(messages), template)
    finally:
        template.close()


def test_reasoning_that_is_left_out_later_is_found_with_its_line():
    answer = {"role": "assistant", "content": "Hello", "reasoning_content": "Hm."}
    (only,) = found(THINKING, [*turns("Hi"), answer, *turns("So?")])
    assert (only.n_messages, only.cause) == (2, stability.REASONING)
    assert only.before.startswith("<think>Hm.</think>")
    assert only.after.startswith("Hello<|im_end|>")
    assert (only.lines[0].number, only.lines[0].condition) == (
        3,
        "{% if m.reasoning_content and loop.last %}",
    )
    text = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert only.token_index == len(QWEN.encode(text))
    assert only.n_lost == len(QWEN.encode(f"{text}<think>Hm.</think>\nHello<|im_end|>\n")) - 9


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (START + "{{ m.content | trim if not loop.last else m.content }}" + END, stability.SPACE),
        (SYSTEM_LAST, stability.MOVED),
        (START + "{{ m.content }}" + END.replace("assistant\n", "bot\n"), stability.PROMPT),
        (START + "{{ loop.length }}{{ m.content }}" + END, stability.OTHER),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", stability.MERGED),
    ],
)
def test_each_cause_is_named(source, cause):
    system = {"role": "system", "content": "Be kind."}
    messages = [system, *turns("a", " Hello ", "ain", "b")]
    assert cause in {each.cause for each in found(source, messages)}


@examples(40)
@given(messages=plain_conversations())
def test_nothing_is_found_where_every_message_is_written_by_itself(messages):
    causes = {each.cause for each in found(START + "{{ m.content }}" + END, messages)}
    assert causes <= {stability.MERGED}  # "\n" of the prompt and "\n" of the answer


def test_generation_marks_do_not_hide_the_line():
    source = THINKING.replace("\n{{ m.content }}<|im_end|>", "\n{{ m.content }}<|im_end|>")
    marked = source.replace("{% if m", "{% generation %}{% if m").replace(
        "<|im_end|>\n", "<|im_end|>{% endgeneration %}\n"
    )
    answer = {"role": "assistant", "content": "Hello", "reasoning_content": "Hm."}
    (only,) = found(marked, [*turns("Hi"), answer, *turns("So?")])
    assert only.lines[0].number == 3


def keeps_prefixes(source: str) -> bool:
    """Return what TRL's check says, on three messages of its own.

    Source: `is_chat_template_prefix_preserving` in huggingface/trl `chat_template_utils.py`.
    """
    messages = turns("What color is the sky?", "It is blue.", "And at night?")
    template = JinjaTemplate("t", source)
    texts = [
        template.marked(
            Conversation.from_json({
                "messages": messages[:n],
                "chat_template_kwargs": {"add_generation_prompt": n == 1},
            })
        ).text
        for n in (1, 2, 3)
    ]  # fmt: skip
    template.close()
    return texts[1].startswith(texts[0]) and texts[2].startswith(texts[1])


@pytest.mark.parametrize(
    "source",
    [
        START + "{{ m.content }}" + END,
        START + "{{ m.content }}" + END.replace("assistant\n", "bot\n"),
        START + "{{ loop.length }}{{ m.content }}" + END,
        THINKING,
        originals.LLAMA3.replace("bos_token", "'<s>'"),
        originals.GENERATION,
    ],
)
def test_it_agrees_with_the_check_of_trl(source):
    messages = turns("What color is the sky?", "It is blue.", "And at night?")
    text_changes = [it for it in found(source, messages) if it.cause != stability.MERGED]
    assert (text_changes == []) == keeps_prefixes(source)


def test_a_system_message_alone_may_be_refused():
    source = "{{ raise_exception('no question') if messages | length < 2 }}" + START
    source += "{{ m.content }}" + END
    system = {"role": "system", "content": "Be kind."}
    assert found(source, [system, *turns("a", "b")]) == []


@pytest.mark.parametrize("template", ["nanochat", "chatml", "qwen", "llama3"])
def test_built_in_templates_are_stable(template):
    from tokviz.chat.templates import TEMPLATES

    conversation = Conversation.from_json(turns("Hi", " Hello\n", "So?", "Yes"))
    assert instabilities(WITH_SPECIALS, conversation, TEMPLATES[template]) == []


def test_lint_reports_each_cause(tmp_path: Path):
    answer = {"role": "assistant", "content": "Hello", "reasoning_content": "Hm."}
    row = [*turns("Hi"), answer, *turns("So?", "Yes")]
    dataset = Dataset.from_bytes("a.jsonl", json.dumps(row).encode())
    template = JinjaTemplate("t", THINKING)
    (report,) = DatasetLinter(QWEN, template, 2048).reports(dataset)
    template.close()
    (finding,) = [it for it in report.findings if it.code == "turns-unstable"]
    assert finding.cause == f"turns-unstable: {stability.REASONING}"
    assert finding.message == (
        "message 3 changes 10 earlier tokens from #9 on: reasoning of earlier messages is left "
        "out; line 3 of the template"
    )


def test_the_line_under_an_else_is_told_from_the_line_under_the_condition():
    source = (
        "{% for m in messages %}{% if loop.last %}\n<|im_start|>{{ m.role }}\n{% else %}\n"
        "<|im_end|>{{ m.role }}\n{% endif %}{{ m.content }}{% endfor %}"
    )
    first = found(source, turns("Hi", "Hello"))[0]
    condition = "{% for m in messages %}{% if loop.last %}"
    assert {line.condition for line in first.lines} == {condition, f"{{% else %}} of {condition}"}
