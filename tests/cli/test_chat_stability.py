"""`tokviz chat --stability` and `--matrix`."""

from __future__ import annotations

import json

import pytest

from tests.chat.conversations import turns

THINKING = """{% for m in messages %}
{% if m.role == 'user' %}{% set content = m.content %}
{% else %}{% set content = m.content | trim %}{% endif %}
<|im_start|>{{ m.role }}
{% if enable_thinking and loop.last %}
<think></think>
{% endif %}
{{ content }}<|im_end|>
{% endfor %}"""


@pytest.fixture
def options(tmp_path):
    def write(source: str) -> list[object]:
        template = tmp_path / "thinking.jinja"
        template.write_text(source)
        rows = tmp_path / "rows.jsonl"
        rows.write_text(json.dumps({"messages": turns("Hi", "Hello", "So?", "Yes")}) + "\n")
        return [rows, "--template", template, "-t", "qwen2"]

    return write


def test_each_combination_of_boolean_variables_is_a_line(tokviz, options):
    done = tokviz("chat", "--matrix", *options(THINKING))
    lines = done.text.splitlines()
    found = [line.partition("line 1: ")[2].partition(":")[0] for line in lines]
    assert [name for name in found if name] == ["enable_thinking=false", "enable_thinking=true"]
    assert done.code == 1  # A combination has findings that the other does not have.


def test_a_row_that_no_combination_renders_is_a_failure(tokviz, options):
    source = "{% if a %}{% endif %}{{ raise_exception('no') }}"
    done = tokviz("chat", "--matrix", *options(source))
    assert (done.code, done.text.count("it raises: no")) == (2, 2)


def test_unstable_tokens_are_shown_with_the_line_that_writes_them(tokviz, options):
    given = "--set", "enable_thinking=true"
    done = tokviz("chat", "--stability", *given, *options(THINKING))
    assert done.code == 1
    assert "line 6: <think></think>" in done.text
    assert "under {% if enable_thinking and loop.last %}" in done.text
