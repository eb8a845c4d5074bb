"""The tokens of the parts of a conversation."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chat import originals
from tests.chat.conversations import plain_conversations, turns
from tests.chat.test_templates import QWEN
from tests.profiles import examples
from tokviz.chat.conversation import Conversation
from tokviz.chat.cost import part_tokens, totals
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.render import render

PARAMETERS = {"type": "object", "properties": {"a": {"type": "number", "description": "One."}}}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "add", "description": 'Add "é" to a.', "parameters": PARAMETERS},
    },
    {"type": "function", "function": {"name": "now", "description": "Get the time."}},
]
CALL = {"function": {"name": "add", "arguments": {"a": 1}}}
MESSAGES = [
    {"role": "system", "content": "Help."},
    {"role": "user", "content": "What is 1 + 1?"},
    {"role": "assistant", "content": "Let me see.", "tool_calls": [CALL]},
    {"role": "tool", "content": "2"},
    {"role": "assistant", "content": "It is 2.", "thinking": "Easy."},
]


def counted(value: object, template: object, tokenizer=QWEN) -> Counter:
    conversation = Conversation.from_json(value)
    return part_tokens(conversation, partial(render, tokenizer, template=template))


def n(text: str) -> int:
    return len(QWEN.encode(text))


def test_every_part_has_its_tokens():
    tokens = counted({"messages": MESSAGES, "tools": TOOLS}, "qwen")
    assert tokens["system",] == n("Help.")
    assert tokens["messages", "user"] == n("What is 1 + 1?")
    assert tokens["messages", "assistant", "text"] == n("Let me see.") + n("It is 2.")
    assert tokens["messages", "tool"] == n("2")
    description, parameters = (
        tokens["tools", "add", "description"],
        tokens["tools", "add", "parameters"],
    )
    assert description == pytest.approx(n(r"Add \"é\" to a."), abs=1)
    assert parameters == pytest.approx(n(json.dumps(PARAMETERS)), abs=1)
    whole = n(f"\n{json.dumps(TOOLS[0], ensure_ascii=False)}\n")
    assert description + parameters + tokens["tools", "add", "other"] == pytest.approx(whole, abs=2)
    without = counted({"messages": MESSAGES}, "qwen")
    of_tools = sum(count for path, count in tokens.items() if path[0] == "tools")
    assert of_tools == tokens.total() - without.total()


@pytest.mark.parametrize("template", ["qwen", "gpt-oss", "chatml"])
@examples(25)
@given(messages=plain_conversations(), tools=st.lists(st.sampled_from(TOOLS), max_size=3))
def test_the_parts_together_are_the_whole(template, messages, tools):
    value = {"messages": messages, "tools": tools}
    tokens = counted(value, template)
    assert tokens.total() == len(render(QWEN, value, template))
    assert min(tokens.values()) > 0
    parts = totals(tokens)
    assert parts[()] == tokens.total()
    for path, count in parts.items():
        inner = [parts[each] for each in parts if each[:-1] == path and each]
        assert sum(inner) in (0, count)
    assert [*parts] == sorted(parts, key=lambda path: [[*parts].index(path[:i]) for i in range(4)])


@pytest.mark.parametrize(
    "options",
    ["", "separators=(',', ':')", "indent=2", "indent=4"],
)
def test_tools_are_found_as_the_real_template_writes_them(options):
    source = f"{{% for t in tools or [] %}}{{{{ t | tojson({options}) }}}}\n{{% endfor %}}" + (
        originals.CHATML
    )
    template = JinjaTemplate("t", source)
    tokens = counted({"messages": turns("Hi"), "tools": TOOLS}, template)
    template.close()
    tools = {path[1:] for path in tokens if path[0] == "tools"}
    assert {("add", "description"), ("add", "parameters"), ("add", "other")} <= tools
    assert {("now", "description"), ("now", "other")} <= tools
    assert tokens["tools", "not attributed"] <= 2  # the line breaks


def test_tools_in_another_format_are_shown_as_not_attributed():
    tokens = counted({"messages": turns("Hi"), "tools": TOOLS}, "gpt-oss")
    assert (
        tokens["tools", "now", "description"] == n(" Get the time.") - 1
    )  # "·Get" starts before it
    assert tokens["tools", "not attributed"] > 20
    assert ("tools", "add", "other") not in tokens


def test_a_template_that_ignores_tools_has_none():
    tokens = counted({"messages": turns("Hi", "Get the time."), "tools": TOOLS}, "chatml")
    assert [path for path in tokens if path[0] == "tools"] == []
    assert tokens["messages", "assistant", "text"] == n("Get the time.")


def test_a_template_that_fails_without_tools_still_counts():
    source = "{{ raise_exception('no tools') if not tools }}{{ tools | tojson }}" + originals.CHATML
    template = JinjaTemplate("t", source)
    tokens = counted({"messages": turns("Hi"), "tools": TOOLS}, template)
    template.close()
    assert tokens["tools", "add", "parameters"] > 5
    assert tokens["tools", "not attributed"] == 0


def test_reasoning_is_a_part():
    tokens = counted({"messages": MESSAGES[:2] + MESSAGES[4:]}, "gpt-oss")
    assert tokens["messages", "assistant", "reasoning"] == n("Easy.")
