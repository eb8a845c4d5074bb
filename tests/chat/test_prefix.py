"""The first difference between two prompts, and its cause."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chat.conversations import plain_conversations, turns
from tests.chat.test_templates import QWEN
from tests.profiles import examples
from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.prefix import prefix_diff
from tokviz.chat.render import render

TOOLS = [
    {"type": "function", "function": {"name": name, "description": f"Do {name}."}}
    for name in ("add", "now", "search")
]
rendered = partial(render, QWEN, template="qwen")


def diff(first, second, render=rendered):
    read = Conversation.from_json
    return prefix_diff(read(first), read(second), render)


def request(*texts: str, **keys: Any) -> dict[str, Any]:
    return {"messages": [{"role": "system", "content": texts[0]}, *turns(*texts[1:])], **keys}


@examples(60)
@given(messages=plain_conversations(), data=st.data())
def test_a_request_is_a_prefix_of_the_same_with_more_messages(messages, data):
    more = messages[: data.draw(st.integers(1, len(messages)))]
    found = diff(more, messages)
    assert (found.cause, found.n_common, found.n_lost) == ("", len(found.first), 0)
    assert diff(messages, more).cause == ""


@examples(60)
@given(first=plain_conversations(), second=plain_conversations())
def test_the_common_tokens_are_those_before_the_first_that_differs(first, second):
    found = diff(first, second)
    a, b = found.first.ids.tolist(), found.second.ids.tolist()
    assert a[: found.n_common] == b[: found.n_common]
    if found.cause:
        assert a[found.n_common] != b[found.n_common]
        assert found.n_lost == min(len(a), len(b)) - found.n_common
    else:
        assert found.n_common == min(len(a), len(b))


@examples(40)
@given(messages=plain_conversations(), data=st.data())
def test_an_edited_message_is_the_cause(messages, data):
    index = data.draw(st.integers(0, len(messages) - 1))
    edited = [dict(message) for message in messages]
    edited[index]["content"] = f"Edited: {edited[index]['content']}"
    found = diff(messages, edited)
    assert (found.cause, found.message) == ("history", index)
    assert found.explanation == f"Message {index + 1} ({messages[index]['role']}) is edited."


@pytest.mark.parametrize(
    ("first", "second", "cause", "explanation"),
    [
        (
            request("Help.", "Hi", tools=TOOLS),
            request("Help.", "Hi", tools=TOOLS[::-1]),
            "tool order",
            "The tools are in another order.",
        ),
        (
            request("Help.", "Hi", tools=TOOLS),
            request("Help.", "Hello", tools=TOOLS[1:]),
            "tools",
            "These tools differ: add.",
        ),
        (
            request("It is 2026-11-28, 17:20:01.", "Hi"),
            request("It is 2026-12-01, 9:05:00.", "Hi"),
            "date",
            "Message 1 (system) has another date.",
        ),
        (
            request("Today is Friday, 28 November 2026.", "Hi"),
            request("Today is Monday, 1 December 2026.", "Hi"),
            "date",
            "Message 1 (system) has another date.",
        ),
        (
            request("You have 5 tools.", "Hi"),
            request("You have 6 tools.", "Hi"),
            "history",
            "Message 1 (system) is edited.",
        ),
        (
            request("Help.", "a", "b", "c"),
            {"messages": [*request("Help.")["messages"], *turns("a", "b", "c")[1:]]},
            "history",
            "Message 2 (user) is removed.",
        ),
        (
            request("Help.", "a"),
            {"messages": [{"role": "user", "content": "b"}, *request("Help.", "a")["messages"]]},
            "history",
            "Message 1 (user) is inserted.",
        ),
    ],
)
def test_causes(first, second, cause, explanation):
    found = diff(first, second)
    assert (found.cause, found.explanation) == (cause, explanation)
    assert found.n_lost > 0


def test_of_two_differences_the_earlier_is_the_cause():
    first, second = request("Help.", "Hi", tools=TOOLS), request("Do!", "Hi", tools=TOOLS[::-1])
    assert diff(first, second).cause == "history"  # the tools follow the system message
    second["messages"][0]["content"] = "Help."
    assert diff(first, second).cause == "tool order"


def test_a_template_that_rewrites_earlier_messages_is_the_cause():
    source = (
        "{% for m in messages %}{{ m.role }}\n"
        "{{ m.content if loop.last else m.content | upper }}\n{% endfor %}"
    )
    template = JinjaTemplate("upper", source)
    found = diff(
        turns("hi", "yes"), turns("hi", "yes", "no"), partial(render, QWEN, template=template)
    )
    template.close()
    assert (found.cause, found.message) == ("template", 1)
    assert (
        found.explanation == "The template writes message 2 differently because of later messages."
    )
    assert found.texts(1) == [b"yes", b"YES"]


def test_variables_are_a_cause():
    template = JinjaTemplate("date", "{{ date_string }} {{ mode }}\n{{ messages[0].content }}")
    first, *others = (
        {"messages": turns("hi"), "chat_template_kwargs": {"date_string": date, "mode": mode}}
        for date, mode in (("2026-01-01", "a"), ("2026-01-02", "a"), ("2026-01-01", "b"))
    )
    causes = [
        diff(first, other, partial(render, QWEN, template=template)).cause for other in others
    ]
    template.close()
    assert causes == ["date", "variables"]


def test_a_last_token_that_is_merged_with_the_next_text_is_no_edit():
    template = JinjaTemplate("plain", "{% for m in messages %}{{ m.content }}{% endfor %}")
    found = diff(turns("hel"), turns("hel", "lo"), partial(render, QWEN, template=template))
    template.close()
    assert (found.cause, found.n_common, found.n_lost) == ("tokenization", 0, 1)


def test_tools_as_json_text_are_compared_too():
    first = request("Help.", "Hi", tools=json.dumps(TOOLS))
    assert diff(first, request("Help.", "Hi", tools=TOOLS[::-1])).cause == "tool order"
