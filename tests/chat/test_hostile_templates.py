"""Hostile templates end within their limits with a clear error; the next template works."""

from __future__ import annotations

import threading
import time

import pytest

from tests.process.jobs.conftest import WAIT
from tokviz.chat import jinja_template
from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_spans import MarkedText
from tokviz.chat.jinja_template import ChatTemplateError, JinjaTemplate
from tokviz.process.runner import JobDroppedError

PATIENCE = 0.6
CONVERSATION = Conversation.from_json([{"role": "user", "content": "Hi"}])
NESTED_LOOPS = "{% for i in range(99999) %}" * 6 + "x" + "{% endfor %}" * 6
DOUBLING = (
    "{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}"
)

HOSTILE = {
    "loops for ever": NESTED_LOOPS,
    "loops for ever in silence": NESTED_LOOPS.replace("x", ""),
    "a string that doubles": DOUBLING + "{{ n.s }}",
    "a string that doubles in silence": DOUBLING,
    "a list that doubles": "{% set n = namespace(s=[1]) %}{% for i in range(60) %}"
    "{% set n.s = n.s + n.s %}{% endfor %}",
    "a range that is too long": "{% for i in range(10 ** 9) %}{% endfor %}",
    "a power without end": "{{ 9 ** (9 ** 9) }}",
    "a product without end": "{{ 'a' * 10 ** 11 }}",
    "a number with too many digits": "{{ 10 ** 100000 }}",
    "a wide format": "{{ '%9999999999d' | format(1) }}",
    "a wide format that fits": "{{ '%99999999d' | format(1) }}",
    "a wide format method": "{{ '{:>99999999999}'.format(1) }}",
    "centred far out": "{{ 'a'.center(10 ** 11) }}",
    "much lorem ipsum": "{{ lipsum(n=10 ** 7) }}",
    "a macro that calls itself": "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
    "a loop that calls itself": "{% for a in [[1]] recursive %}{{ loop([[[1]]]) }}"
    "{{ loop(loop.previtem or [[[[1]]]]) }}{{ loop([[1]]) }}{% endfor %}",
    "parentheses in parentheses": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "lists in lists": "{{ " + "[" * 5000 + "]" * 5000 + " }}",
    "blocks in blocks": "{% if 1 %}" * 3000 + "{% endif %}" * 3000,
    "a sum of many": "{{ " + "1+" * 50_000 + "1 }}",
    "classes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals of a function": "{{ raise_exception.__globals__['__builtins__'] }}",
    "globals by a filter": "{{ (cycler | attr('__init__')).__globals__.os.system('id') }}",
    "a format that looks into objects": "{{ '{0.__class__.__init__}'.format(messages).x.y }}",
    "a format map": "{{ '{a.__class__}'.format_map({'a': messages}).x.y }}",
    "changes its messages": "{{ messages.append(1) }}",
    "changes a message": "{{ messages[0].update({'content': 'x'}) }}",
    "includes a file": "{% include '/etc/passwd' %}",
    "imports a file": "{% import '/etc/passwd' as a %}",
    "raises": "{{ raise_exception('no\x1b[31m such roles') }}",
    "divides by zero": "{{ 1 // 0 }}",
    "has no end": "{% for m in messages %}",
    "has no such filter": "{{ messages | nothing }}",
    "has no such name": "{{ nothing.at.all }}",
    "joins strings and numbers": "{{ messages[0].content + 1 }}",
    "a date of a wrong form": "{{ strftime_now(1) }}",
    "much output": "{% for i in range(99999) %}{{ '%200d' | format(1) }}{% endfor %}",
    "a cycle in JSON": "{% set n = namespace() %}{% set n.a = n %}{{ n | tojson }}",
    "a sort of a lot": "{{ (range(99999) | list * 99) | sort | length }}{{ nothing.at.all }}",
    "a slow pattern of replacing": "{{ ('a' * 10 ** 6).replace('a', 'a' * 10 ** 4) | length }}",
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jinja_template, "PATIENCE_SECONDS", PATIENCE)


def test_there_are_enough_of_them():
    assert len(HOSTILE) >= 20


@pytest.mark.parametrize("name", list(HOSTILE))
def test_it_ends_in_an_error_that_says_why(name):
    template = JinjaTemplate("hostile", HOSTILE[name])
    try:
        with pytest.raises(ChatTemplateError) as caught:
            template.marked(CONVERSATION)
    finally:
        template.close()
    assert "the chat template hostile" in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_after_a_hostile_template_the_next_rendering_works():
    template = JinjaTemplate(
        "t", "{% if messages[0].content == 'Hi' %}" + NESTED_LOOPS + "{% endif %}x"
    )
    try:
        good = Conversation.from_json([{"role": "user", "content": "Ho"}])
        first, second, third = template.marked_all([CONVERSATION, good, good])
        assert isinstance(first, ChatTemplateError)
        assert "took longer" in str(first)
        assert isinstance(second, MarkedText)
        assert second == third
        assert second.text == "x"
    finally:
        template.close()


def test_a_template_that_never_ends_is_not_tried_for_every_row():
    template = JinjaTemplate("t", NESTED_LOOPS)
    try:
        results = list(template.marked_all([CONVERSATION] * 1000))
        assert len(results) == 1000
        assert all(isinstance(result, ChatTemplateError) for result in results)
        assert len(set(map(id, results))) == 3  # the third is the last that was waited for
    finally:
        template.close()


def test_errors_name_the_line_and_the_message():
    source = (
        "{% for m in messages %}\n{% if m.role == 'user' %}\n"
        "{{ m.content.nothing.x }}{% endif %}\n{% endfor %}"
    )
    template = JinjaTemplate("t", source)
    messages = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    try:
        with pytest.raises(ChatTemplateError) as caught:
            template.marked(Conversation.from_json(messages))
    finally:
        template.close()
    assert caught.value.line == 3
    assert caught.value.message_index == 1
    assert "message 2: the chat template t, line 3" in str(caught.value)


def test_closing_a_template_ends_the_wait_for_its_rendering(monkeypatch):
    monkeypatch.setattr(jinja_template, "PATIENCE_SECONDS", 60)
    template = JinjaTemplate("t", NESTED_LOOPS)
    errors = []

    def render():
        try:
            template.marked(CONVERSATION)
        except JobDroppedError as error:
            errors.append(error)

    waiting = threading.Thread(target=render, daemon=True)
    waiting.start()
    until = time.monotonic() + WAIT
    while template._jobs.pid is None and time.monotonic() < until:
        time.sleep(0.001)
    template.close()
    waiting.join(WAIT)
    assert not waiting.is_alive()
    assert len(errors) == 1
    with pytest.raises(JobDroppedError, match="is closed"):
        template.marked(CONVERSATION)
