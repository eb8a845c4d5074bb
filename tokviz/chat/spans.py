"""Spans of text that a template writes for a conversation, each with its reason."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Reason(IntEnum):
    """Origin of a token, which explains its mask."""

    HEADER = 0
    """Template text: roles, starts and ends of turns, and sentences that the template adds."""
    SYSTEM_TEXT = 1
    """Text of a system or developer message."""
    USER_TEXT = 2
    """Text of a user message."""
    ASSISTANT_TEXT = 3
    """Text of an assistant message."""
    TOOL_CALL = 4
    """A tool call, with the special tokens around it."""
    TOOL_OUTPUT = 5
    """A tool's output, with the special tokens around it."""
    END = 6
    """The special token that ends the assistant's turn."""
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
"""Short names of the reasons."""


TRANSFORMERS = "transformers"
CONTENT_AS_TEXT = "content_as_text"
SPECIALS = {
    TRANSFORMERS: "Special tokens are recognized everywhere in the text, in contents too, as by "
    "apply_chat_template of transformers.",
    CONTENT_AS_TEXT: "Special tokens in contents are encoded as text, as by nanochat and by "
    "apply_chat_template with sanitize_control_tokens=True.",
}
"""The policies for special tokens in the contents of a conversation, each in a sentence."""


class TemplateSpan(NamedTuple):
    """A span of a rendered conversation.

    Attributes:
        text: Byte text.
        reason: Its origin.
        learned: Whether its tokens are in the loss (mask 1).
        special: Whether the text is one special token; otherwise it is encoded as plain text, even
            if it is spelled like a special token.
        structure: Whether it is template text, not text of the conversation.
        message: The message it belongs to, counted from 0; -1 for none.
        part: The part of that message; -1 for none.
        apart: Whether it is encoded on its own instead of together with neighboring plain text.
    """

    text: str
    reason: Reason
    learned: bool = False
    special: bool = False
    structure: bool = True
    message: int = -1
    part: int = -1
    apart: bool = False


class TextPiece(NamedTuple):
    """A range of a rendered text that is encoded on its own.

    Attributes:
        start: Its first character.
        end: One past its last.
        as_text: Whether no special token is recognized in it.
    """

    start: int
    end: int
    as_text: bool


def special(text: str, message: int = -1, *, learned: bool = False, part: int = -1) -> TemplateSpan:
    """Return a span for a special token of the template."""
    return TemplateSpan(text, Reason.HEADER, learned, True, True, message, part)


def header(text: str, message: int = -1, *, learned: bool = False) -> TemplateSpan:
    """Return a span of plain template text."""
    return TemplateSpan(text, Reason.HEADER, learned, False, True, message)


def end(text: str, message: int) -> TemplateSpan:
    """Return a span for the special token that ends the assistant's turn."""
    return TemplateSpan(text, Reason.END, True, True, True, message)


def turn_end(token: str, role: str, message: int) -> TemplateSpan:
    """Return a span for the special token that ends the turn of a role."""
    return end(token, message) if role == "assistant" else special(token, message)


def reason_of_role(role: str) -> Reason:
    """Return the reason of a role's text; an unlisted role is a tool."""
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
    """Return a span of a part's text, in the loss if the assistant writes it."""
    reason = _OF_KIND.get(kind) or reason_of_role(role)
    learned = role == "assistant" and reason is not Reason.TOOL_OUTPUT
    return TemplateSpan(text, reason, learned, False, False, message, part, apart)
