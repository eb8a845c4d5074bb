"""What a template makes of a conversation: stretches of text, each with its reason."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Reason(IntEnum):
    """Why a token is where it is."""

    HEADER = 0
    """Structure of the template: who speaks, begins, ends; also text that the template adds."""
    SYSTEM_TEXT = 1
    """Text of a system or developer message."""
    USER_TEXT = 2
    """Text of a user message."""
    ASSISTANT_TEXT = 3
    """Text of an assistant message."""
    TOOL_CALL = 4
    """What the assistant sends to a tool, with the tokens around it."""
    TOOL_OUTPUT = 5
    """What a tool answers, with the tokens around it."""
    END = 6
    """The token with which the assistant ends its turn."""
    TRUNCATED = 7
    """Beyond the last token that is kept."""


REASON_NAMES = {
    Reason.HEADER: "template header",
    Reason.SYSTEM_TEXT: "system text",
    Reason.USER_TEXT: "user text",
    Reason.ASSISTANT_TEXT: "assistant text",
    Reason.TOOL_CALL: "tool call",
    Reason.TOOL_OUTPUT: "tool output",
    Reason.END: "end token",
    Reason.TRUNCATED: "truncated",
}
"""The reasons in a word or two."""


class TemplateSpan(NamedTuple):
    """A stretch of a rendered conversation.

    Attributes:
        text: Byte text.
        reason: Why it is there.
        learned: Whether its tokens are trained on (mask 1).
        special: Whether the text is one special token; otherwise it is plain text, whatever it
            looks like.
        structure: Whether it comes from the template, not from the conversation.
        message: The message it belongs to, counted from 0; -1 for none.
        part: The part of that message; -1 for none.
        apart: Whether it is encoded by itself; otherwise in one go with plain text beside it.
    """

    text: str
    reason: Reason
    learned: bool = False
    special: bool = False
    structure: bool = True
    message: int = -1
    part: int = -1
    apart: bool = False


def special(text: str, message: int = -1, *, learned: bool = False, part: int = -1) -> TemplateSpan:
    """Make a special token of the template."""
    return TemplateSpan(text, Reason.HEADER, learned, True, True, message, part)


def header(text: str, message: int = -1, *, learned: bool = False) -> TemplateSpan:
    """Make plain text of the template."""
    return TemplateSpan(text, Reason.HEADER, learned, False, True, message)


def end(text: str, message: int) -> TemplateSpan:
    """Make the special token that ends the assistant's turn."""
    return TemplateSpan(text, Reason.END, True, True, True, message)


def turn_end(token: str, role: str, message: int) -> TemplateSpan:
    """Make the special token that ends anybody's turn."""
    return end(token, message) if role == "assistant" else special(token, message)


def reason_of_role(role: str) -> Reason:
    """Give the reason of a role's text; who is nobody else is a tool."""
    return _OF_ROLE.get(role, Reason.TOOL_OUTPUT)


_OF_ROLE = {
    "system": Reason.SYSTEM_TEXT,
    "developer": Reason.SYSTEM_TEXT,
    "user": Reason.USER_TEXT,
    "assistant": Reason.ASSISTANT_TEXT,
}
_OF_KIND = {
    "python": Reason.TOOL_CALL,
    "tool_call": Reason.TOOL_CALL,
    "python_output": Reason.TOOL_OUTPUT,
}


def content(
    text: str, role: str, kind: str, message: int, part: int, *, apart: bool = False
) -> TemplateSpan:
    """Make the text of a part: learned if the assistant writes it, not if a tool answers it."""
    reason = _OF_KIND.get(kind) or reason_of_role(role)
    learned = role == "assistant" and reason is not Reason.TOOL_OUTPUT
    return TemplateSpan(text, reason, learned, False, False, message, part, apart)
