"""Findings: each rule finds only its case, and names message and token."""

from __future__ import annotations

import pytest

import tokviz
from tests.chat.conversations import WITH_SPECIALS, turns
from tokviz.chat.conversation import Conversation
from tokviz.chat.json_text import loads
from tokviz.chat.lint import RULES, Finding, lint
from tokviz.chat.messages import ConversationError
from tokviz.chat.render import render
from tokviz.formats.loader import load

GPT2 = load("gpt2")
SYSTEM = {"role": "system", "content": "S"}


def findings(
    messages, template="nanochat", max_tokens=2048, tokenizer=WITH_SPECIALS
) -> list[Finding]:
    conversation = Conversation.from_json(messages)
    try:
        rendering = render(tokenizer, conversation, template, max_tokens)
    except ConversationError as error:
        return lint(conversation, None, error)
    return lint(conversation, rendering)


def codes(messages, template="nanochat", max_tokens=2048) -> list[str]:
    return [finding.code for finding in findings(messages, template, max_tokens)]


@pytest.mark.parametrize("template", ["nanochat", "chatml", "llama3", "qwen", "gpt-oss"])
def test_a_good_conversation_has_no_findings(template):
    assert codes([SYSTEM, *turns("Hi", "Hello", "What?", "That.")], template) == []


def test_nothing_supervised():
    assert codes(turns("Hi")) == ["nothing-supervised"]


def test_an_answer_that_is_cut_off():
    (found,) = findings(turns("Hi", "one two three four"), max_tokens=8)
    assert found.code == "answer-cut"
    assert (found.message_index, found.token_index) == (1, 7)
    assert found.message == (
        "message 2: the answer is truncated after token #7; 2 of its 6 tokens are lost"
    )


def test_answers_that_are_lost():
    found = findings(turns("Hi", "Hello", "a b c d e f g h", "x", "y", "z"), max_tokens=9)
    assert [f.code for f in found] == ["answer-cut"]
    assert found[0].message == (
        "message 4: the answer starts after token #8, the last one kept, and is lost; so is 1 more "
        "after it"
    )
    assert found[0].message_index == 3


def test_a_newline_behind_the_last_end_token_is_no_loss():
    rendering = render(WITH_SPECIALS, Conversation.from_json(turns("Hi", "Hello")), "chatml")
    assert codes(turns("Hi", "Hello"), "chatml", len(rendering) - 1) == []
    assert codes(turns("Hi", "Hello"), "chatml", len(rendering) - 2) == ["answer-cut"]


def test_special_token_text_in_content_names_its_token():
    (found,) = findings(turns("Hi you <|endoftext|>", "Hello"))
    assert found.code == "special-in-content"
    assert (found.message_index, found.token_index) == (0, 4)
    assert found.message.endswith("(from token #4)")
    assert "'<|endoftext|>', encoded as text here" in found.message
    (found,) = findings(turns("a <|endoftext|>", "Hello"), "chatml")
    assert "'<|endoftext|>', which becomes the special token" in found.message
    text = "a <|im_end|> <|endoftext|> <|im_end|>"
    (found,) = findings(turns(text, "Hello"), "chatml")
    assert "'<|im_end|>', '<|endoftext|>', which become special tokens" in found.message


@pytest.mark.parametrize(
    ("roles", "wrong"),
    [
        ("user assistant", []),
        ("system user assistant user assistant", []),
        ("system developer user assistant", []),
        ("user assistant tool assistant user", []),
        ("user assistant tool tool assistant", []),
        ("assistant user", [0]),
        ("system assistant", [1]),
        ("assistant assistant", [0, 1]),
        ("tool user", [0]),
        ("user user assistant assistant", [1, 3]),
        ("user system assistant", [1]),
        ("user tool assistant", [1]),
    ],
)
def test_roles_out_of_order(roles, wrong):
    messages = [{"role": role, "content": "x", "name": "f"} for role in roles.split()]
    found = [f for f in findings(messages, "chatml") if f.code == "roles-out-of-order"]
    assert [finding.message_index for finding in found] == wrong
    assert sum("starts with" in finding.message for finding in found) <= 1


def test_what_a_template_cannot_write_is_a_finding():
    found = findings(turns("a", "b") + turns("a", "b")[1:])
    assert {f.code for f in found} == {"not-rendered", "roles-out-of-order"}
    assert {f.message_index for f in found} == {2}


def test_bytes_that_are_not_utf8_are_found():
    value, byte_text = loads('[{"role": "user", "content": "größe"}]'.encode("latin-1"))
    said = lint(Conversation.from_json(value, byte_text=byte_text), None)
    assert [(finding.code, finding.message_index) for finding in said] == [("not-utf8", 0)]


@pytest.mark.parametrize("text", ["", " \n"])
def test_empty_turns(text):
    found = [f for f in findings(turns("Hi", text)) if f.code == "empty-turn"]
    assert [f.message_index for f in found] == [1]


def test_no_messages_at_all():
    assert set(codes([], "chatml")) == {"empty-turn", "nothing-supervised"}


def test_a_turn_that_nothing_ends():
    outputs = [{"type": "python_output", "text": "2"}]
    messages = [*turns("Hi"), {"role": "assistant", "content": outputs}, *turns("Oh", "Yes")]
    (found,) = findings(messages, "gpt-oss")
    assert found.code == "end-unsupervised"
    assert found.message_index == 1
    assert "no token ends the assistant's turn after token #" in found.message


def test_findings_come_with_the_worst_first():
    found = findings([*turns(""), *turns("a")], "chatml")
    severities = [finding.severity for finding in found]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)


def test_every_rule_is_documented_where_the_command_is():
    from tokviz.cli.command import command_parser, load_command

    assert all(code in command_parser(load_command("chat")).format_help() for code in RULES)


def test_the_public_names_are_there():
    assert tokviz.Finding is Finding
