"""The injection test: each field is tried under both policies."""

from __future__ import annotations

import pytest

from tests.chat import originals
from tests.chat.conversations import turns
from tests.chat.test_templates import QWEN
from tokviz.chat.injection import FIELDS, InjectionResult, injection_results
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.render import render
from tokviz.chat.spans import CONTENT_AS_TEXT, TRANSFORMERS
from tokviz.chat.template_files import load_template

CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# Writes the name of a tool without looking for special tokens, and escapes all else.
ESCAPING = JinjaTemplate(
    "escaping.jinja",
    "{% for tool in tools or [] %}{{ tool.function.name }}{% endfor %}"
    "{% for it in messages %}<|im_start|>{{ it.content | replace('<|', '< |') }}<|im_end|>"
    "{% endfor %}",
)
QWEN_JINJA = JinjaTemplate("qwen.jinja", originals.QWEN)
STRICT = JinjaTemplate(
    "strict.jinja",
    "{% for it in messages %}{% if it.role == 'developer' %}{{ raise_exception('no developer') }}"
    "{% endif %}{{ it.content }}{% endfor %}",
)


@pytest.fixture(scope="module", autouse=True)
def end_children():
    yield
    for template in (ESCAPING, QWEN_JINJA, STRICT):
        template.close()


def results(template, **options) -> dict[tuple[str, str], InjectionResult]:
    chosen = load_template(template) if isinstance(template, str) else template
    found = injection_results(QWEN, chosen, **options)
    return {(result.field, result.specials): result for result in found}


def injecting(template, policy: str) -> set[str]:
    found = results(template).items()
    return {field for (field, specials), it in found if specials == policy and it.injected}


def test_every_field_is_tried_under_both_policies():
    policies = (TRANSFORMERS, CONTENT_AS_TEXT)
    assert [*results("qwen")] == [(field, policy) for field in FIELDS for policy in policies]


@pytest.mark.parametrize("template", ["qwen", QWEN_JINJA])
def test_transformers_recognizes_control_tokens_in_every_field_that_is_written(template):
    found = results(template)
    for field in FIELDS:
        result = found[field, TRANSFORMERS]
        is_written = field not in ("reasoning", "developer content")
        assert {*result.injected} == ({*CONTROL} if is_written else set())
        assert result.n_tried == (len(CONTROL) if is_written else 0)


@pytest.mark.parametrize("template", ["chatml", "llama3", "qwen", "gpt-oss", "nanochat"])
def test_no_built_in_template_lets_content_as_text_through(template):
    assert injecting(template, CONTENT_AS_TEXT) == set()


def test_the_keys_of_json_are_not_treated_as_text_by_transformers_either():
    assert injecting(QWEN_JINJA, CONTENT_AS_TEXT) == {
        "tool parameter name",
        "tool call argument name",
    }


def test_a_template_may_escape_control_tokens():
    assert injecting(ESCAPING, TRANSFORMERS) == {"tool name"}
    assert injecting(ESCAPING, CONTENT_AS_TEXT) == set()


def test_a_field_that_the_template_refuses_has_the_reason():
    result = results(STRICT)["developer content", TRANSFORMERS]
    assert "no developer" in result.error
    assert not result.injected and not result.n_tried


def test_special_tokens_with_made_up_ids_are_tried_too():
    result = results("nanochat")["user content", TRANSFORMERS]
    assert result.n_tried == len(CONTROL) + 9
    assert {*result.injected} == {*CONTROL}


def test_variables_of_the_template_are_given_to_it():
    template = JinjaTemplate(
        "variable.jinja", "{% for it in messages %}{{ it.content if is_open else '' }}{% endfor %}"
    )
    try:
        assert injecting(template, TRANSFORMERS) == set()
        found = results(template, variables={"is_open": True})
        assert {*found["user content", TRANSFORMERS].injected} == {*CONTROL}
    finally:
        template.close()


def test_the_policy_in_force_is_the_given_one_or_that_of_the_template():
    assert load_template("llama3").specials == CONTENT_AS_TEXT
    assert load_template("chatml").specials == TRANSFORMERS
    assert QWEN_JINJA.specials == TRANSFORMERS
    rendering = render(QWEN, turns("Hi", "Hello"), QWEN_JINJA, specials=CONTENT_AS_TEXT)
    assert rendering.specials == CONTENT_AS_TEXT


def test_a_system_message_that_only_the_last_question_shows_is_tried_there():
    template = JinjaTemplate(
        "like mistral",
        "{% for m in messages %}{% if m.role == 'user' and loop.last %}[{{ messages[0].content }}]"
        "{% endif %}{% if m.role != 'system' %}{{ m.content }}<|im_end|>{% endif %}{% endfor %}",
    )
    found = results(template)
    template.close()
    assert found["system content", TRANSFORMERS].injected


def test_arguments_are_tried_as_text_where_a_template_joins_them_as_text():
    template = JinjaTemplate(
        "joins",
        "{% for m in messages %}{{ m.content }}{% for call in m.tool_calls or [] %}"
        "{{ '<|im_start|>' + call.function.arguments }}{% endfor %}<|im_end|>{% endfor %}",
    )
    found = results(template)
    template.close()
    assert found["tool call argument", TRANSFORMERS].injected
    assert not found["tool call argument", CONTENT_AS_TEXT].injected
