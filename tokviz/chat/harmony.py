"""Harmony, the format of gpt-oss.

A conversation's system and developer messages become Harmony's developer messages. Harmony's own
system message describes the model and lists the channels; its optional date is left out. Tools are
written as TypeScript after the instructions. The assistant's reasoning goes to the analysis channel
and is kept in every turn (`auto_drop_analysis` is off), because it is in the loss. Its text before
a tool call, a preamble, goes to the commentary channel.

Sources: `render_conversation_for_training` in openai/harmony `src/encoding.rs`; its
`docs/format.md`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tokviz.chat.conversation import Conversation, ExtraField
from tokviz.chat.harmony_tools import tools_section
from tokviz.chat.messages import (
    MEDIA_KINDS,
    REASONING_KEYS,
    TOOL_ROLES,
    ConversationError,
    Message,
    Part,
)
from tokviz.chat.spans import Reason, TemplateSpan, content, end, header, special

START, MESSAGE, CHANNEL = "<|start|>", "<|message|>", "<|channel|>"
END, RETURN, CALL = "<|end|>", "<|return|>", "<|call|>"
SPECIAL_TOKENS = (RETURN, CHANNEL, START, END, MESSAGE, CALL)
"""In the order of gpt-oss's ids."""

SYSTEM = (
    "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n\n"
    "Reasoning: medium\n\n# Valid channels: analysis, commentary, final. "
    "Channel must be included for every message."
)
CALLS_GO = "\nCalls to these tools must go to the commentary channel: 'functions'."
TOOL_CHANNEL = "commentary"
DEVELOPERS = frozenset({"system", "developer"})
_CALLS = frozenset({"python", "tool_call"})
_LATEST = ""
"""The key of the tool that was called last; the other keys are ids of calls."""


def write(conversation: Conversation) -> list[TemplateSpan]:
    """Write a conversation for training: the last answer ends with `<|return|>`.

    Raises:
        ConversationError: If a tool call is not JSON, a tool answers without having been called, or
            the tools are not functions.
    """
    messages = conversation.messages
    tools = conversation.objects("tools")
    section = tools_section(tools) if tools else ""
    system = SYSTEM + (CALLS_GO if section else "")
    spans = [special(START), header("system"), special(MESSAGE), header(system), special(END)]
    if section and not (messages and messages[0].role in DEVELOPERS):
        spans += [special(START), header("developer"), special(MESSAGE), header(section)]
        spans.append(special(END))
        section = ""
    called: dict[str, str] = {}
    last = len(messages) - 1
    for index, message in enumerate(messages):
        if message.role == "assistant":
            spans += _assistant(message, index, called, index == last)
        elif message.role in TOOL_ROLES:
            called[_LATEST] = _tool_of(message, called)
            spans += _tool_output(called[_LATEST], message.text, index, 0)
        else:
            spans += _told(message, index, section if index == 0 else "")
    return spans


def writes(aside: ExtraField) -> bool:
    """Return whether Harmony writes a field: tools, reasoning, the name of an answering tool."""
    if aside.message is None:
        return aside.key == "tools"
    is_reasoning = aside.key in REASONING_KEYS and aside.role == "assistant"
    names_tool = aside.key == "name" and aside.role in TOOL_ROLES
    return (is_reasoning or names_tool) and isinstance(aside.value, str)


def _told(message: Message, index: int, tools: str) -> list[TemplateSpan]:
    """Write a message to the model: the user's, or the developer's with the tools."""
    is_user = message.role == "user"
    spans = [special(START, index), header("user" if is_user else "developer", index)]
    spans.append(special(MESSAGE, index))
    if not is_user:
        spans.append(header("# Instructions\n\n", index))
    for number, part in enumerate(message.parts):
        _only_text(message, part, index, number)
        spans.append(content(part.text, message.role, part.kind, index, number))
    if tools:
        spans.append(header(f"\n\n{tools}", index))
    return [*spans, special(END, index)]


def _assistant(
    message: Message, index: int, called: dict[str, str], is_last: bool
) -> list[TemplateSpan]:
    """Write an assistant message: Harmony has one message for each part.

    `<|start|>assistant` is the prompt and the model writes the rest; in its second message in a
    row, it writes these two tokens as well. Records the tools called by the ids of the calls.
    """
    spans: list[TemplateSpan] = []
    goes_on = False
    for text in message.reasoning:
        spans += [
            *_assistant_start(index, -1, goes_on),
            *_channel("analysis", index),
            special(MESSAGE, index, learned=True),
            content(text, "assistant", "text", index, -1),
            end(END, index),
        ]
        goes_on = True
    parts = message.parts
    last_call = max((n for n, part in enumerate(parts) if part.kind in _CALLS), default=-1)
    for number, part in enumerate(parts):
        if not part.text and last_call >= 0 and part.kind == "text":
            continue
        if part.kind == "python_output":
            spans += _tool_output("python", part.text, index, number)
            goes_on = False
            continue
        spans += _assistant_start(index, number, goes_on)
        if part.kind == "text":
            is_end = is_last and number == len(parts) - 1
            spans += [
                *_channel(TOOL_CHANNEL if number < last_call else "final", index),
                special(MESSAGE, index, learned=True),
                content(part.text, "assistant", part.kind, index, number),
                end(RETURN if is_end else END, index),
            ]
            goes_on = True
            continue
        recipient, channel, kind, body = _call(part, index, number)
        called[_LATEST] = called[str(part.extra.get("id"))] = recipient
        spans += [
            header(f" to={recipient}", index, learned=True),
            *_channel(channel, index),
            header(f" {kind}", index, learned=True),
            special(MESSAGE, index, learned=True),
            content(body, "assistant", part.kind, index, number),
            end(CALL, index),
        ]
        goes_on = False
    return spans


def _call(part: Part, index: int, number: int) -> tuple[str, str, str, str]:
    """Return a call's recipient, channel, content type and text."""
    if part.kind == "python":
        return "python", "analysis", "code", part.text
    if part.kind not in _CALLS:
        raise ConversationError(_no_kind(part), index, "type", number)
    call = part.call(index, number)
    arguments = call.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"functions.{call['name']}", TOOL_CHANNEL, "json", text


def _tool_of(message: Message, called: Mapping[str, str]) -> str:
    """Return the name of the tool that answers: its own, that of the call's id, or the last one."""
    name = message.extra.get("name")
    if isinstance(name, str):
        return f"functions.{name}"
    latest = called.get(_LATEST, "")
    return called.get(str(message.extra.get("tool_call_id", _LATEST)), latest)


def _tool_output(called: str, text: str, index: int, number: int) -> list[TemplateSpan]:
    if not called:
        raise ConversationError(
            "no tool was called before; give the message the 'name' of its tool", index, "name"
        )
    channel = "analysis" if called == "python" else TOOL_CHANNEL
    return [
        special(START, index, part=number),
        header(called, index),
        header(" to=assistant", index),
        special(CHANNEL, index, part=number),
        header(channel, index),
        special(MESSAGE, index, part=number),
        TemplateSpan(text, Reason.TOOL_OUTPUT, False, False, False, index, number),
        special(END, index, part=number),
    ]


def _assistant_start(index: int, number: int, learned: bool) -> list[TemplateSpan]:
    return [
        special(START, index, learned=learned, part=number),
        header("assistant", index, learned=learned),
    ]


def _channel(name: str, index: int) -> list[TemplateSpan]:
    return [special(CHANNEL, index, learned=True), header(name, index, learned=True)]


def _only_text(message: Message, part: Part, index: int, number: int) -> None:
    if part.kind in MEDIA_KINDS:
        raise ConversationError(_no_kind(part), index, "type", number)
    if part.kind != "text":
        raise ConversationError(
            f"only an assistant message has parts of the kind {part.kind!r}; this one is from "
            f"{message.role!r}",
            index,
            "type",
            number,
        )


def _no_kind(part: Part) -> str:
    return f"gpt-oss cannot write a part of the kind {part.kind!r}"
