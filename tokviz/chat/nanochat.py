"""nanochat's chat format.

Source: `render_conversation` in karpathy/nanochat `nanochat/tokenizer.py`.
"""

from __future__ import annotations

from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import ConversationError, Message
from tokviz.chat.spans import Reason, TemplateSpan, content, end, special

BOS = "<|bos|>"
ASSISTANT_START = "<|assistant_start|>"
ASSISTANT_END = "<|assistant_end|>"
USER_START, USER_END = "<|user_start|>", "<|user_end|>"
AROUND = {
    "python": ("<|python_start|>", "<|python_end|>"),
    "python_output": ("<|output_start|>", "<|output_end|>"),
}
SPECIAL_TOKENS = (
    BOS,
    USER_START,
    USER_END,
    ASSISTANT_START,
    ASSISTANT_END,
    *AROUND["python"],
    *AROUND["python_output"],
)
"""nanochat's special tokens, in the order of their ids."""


def write(conversation: Conversation) -> list[TemplateSpan]:
    """Write a conversation.

    Raises:
        ConversationError: If nanochat would fail: no messages, a system message without a user
            message after it, roles that do not alternate, parts in a user message, other parts.
    """
    messages = conversation.messages
    if not messages:
        raise ConversationError("there is no message; start with one from the user")
    spans = [special(BOS)]
    system: Message | None = None
    first = 0
    if messages[0].role == "system":
        first, system = 1, messages[0]
        if len(messages) < 2 or messages[1].role != "user":
            raise ConversationError(
                "nanochat merges a system message into the user message that must follow it; "
                "there is none",
                0,
                "role",
            )
        _plain_text(system, 0)
    for index, message in enumerate(messages[first:], first):
        expected = "assistant" if (index - first) % 2 else "user"
        if message.role != expected:
            raise ConversationError(
                f"is {message.role!r} but must be {expected!r}: in nanochat, user and assistant "
                "take turns, and the user starts",
                index,
                "role",
            )
        if expected == "user":
            spans += _user(message, index, system if index == first else None)
        else:
            spans += _assistant(message, index)
    return spans


def _user(message: Message, index: int, system: Message | None) -> list[TemplateSpan]:
    text = _plain_text(message, index)
    spans = [special(USER_START, index)]
    if system is not None:
        spans.append(content(system.text, "system", "text", 0, 0))
        spans.append(TemplateSpan("\n\n", Reason.HEADER, message=0))
    spans.append(content(text, "user", "text", index, 0))
    spans.append(special(USER_END, index))
    return spans


def _assistant(message: Message, index: int) -> list[TemplateSpan]:
    spans = [special(ASSISTANT_START, index)]
    for number, part in enumerate(message.parts):
        text = content(part.text, "assistant", part.kind, index, number, apart=True)
        if part.kind == "text":
            spans.append(text)
        elif part.kind in AROUND:
            before, after = AROUND[part.kind]
            spans.append(_around(before, text))
            spans.append(text)
            spans.append(_around(after, text))
        else:
            raise ConversationError(
                f"nanochat has no part of the kind {part.kind!r}, only text, python and "
                "python_output; choose another template, such as qwen or gpt-oss",
                index,
                "type",
                number,
            )
    spans.append(end(ASSISTANT_END, index))
    return spans


def _around(token: str, text: TemplateSpan) -> TemplateSpan:
    return TemplateSpan(token, text.reason, text.learned, True, True, text.message, text.part)


def _plain_text(message: Message, index: int) -> str:
    if not isinstance(message.content, str):
        raise ConversationError(
            f"nanochat writes a {message.role} message as one text, not as parts", index, "content"
        )
    return message.content
