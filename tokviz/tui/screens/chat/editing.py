"""Changes of a conversation, as functions from one to the next. Nothing is changed in place."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from dataclasses import replace

from tokviz.chat.conversation import Conversation
from tokviz.chat.json_text import loads
from tokviz.chat.messages import Message, Part
from tokviz.text import bytetext
from tokviz.tui.widgets.conversation.rows import MessageBlock, MessageBlocks, PartBlock, PartPlace
from tokviz.tui.widgets.mask.counts import NOTHING, MaskCounts, PartCounts, message_note

OFFERED_ROLES = ("user", "assistant", "system", "tool")
"""The roles that can be added with one click."""

EMPTY = Conversation((Message("user", ""),))
"""What a new conversation is."""

RAW = "unreadable row"
"""The role of a text that is to become a conversation: a row of a file that cannot be read."""


def place_in(conversation: Conversation, place: PartPlace | None) -> PartPlace | None:
    """Give a place that exists, the one nearest to the one wanted; None if there is no message."""
    messages = conversation.messages
    if not messages:
        return None
    message, part = place or (0, 0)
    message = max(0, min(message, len(messages) - 1))
    return PartPlace(message, max(0, min(part, max(1, len(messages[message].parts)) - 1)))


def text_at(conversation: Conversation, place: PartPlace) -> str:
    """Give the text of a part; a message without parts has an empty one."""
    parts = conversation.messages[place.message].parts
    return parts[place.part].text if parts else ""


def with_text(conversation: Conversation, place: PartPlace, text: str) -> Conversation:
    """Replace the text of a part."""
    message = conversation.messages[place.message]
    content: str | tuple[Part, ...]
    if isinstance(message.content, str):
        content = text
    elif not message.content:
        content = (Part("text", text),)
    else:
        parts = list(message.content)
        parts[place.part] = replace(parts[place.part], text=text)
        content = tuple(parts)
    return _with_message(conversation, place.message, replace(message, content=content))


def with_role(conversation: Conversation, index: int, role: str) -> Conversation:
    """Give a message another role."""
    message = conversation.messages[index]
    # The name that a ShareGPT file has for the old role would be written for the new one.
    extra = {key: value for key, value in message.extra.items() if key != "from"}
    return _with_message(conversation, index, replace(message, role=role, extra=extra))


def with_kind(conversation: Conversation, place: PartPlace, kind: str) -> Conversation:
    """Give a part another kind."""
    message = conversation.messages[place.message]
    parts = list(message.parts) or [Part("text", "")]
    parts[place.part] = Part(kind, parts[place.part].text)
    return _with_message(conversation, place.message, replace(message, content=tuple(parts)))


def with_new_message(conversation: Conversation, index: int, role: str) -> Conversation:
    """Insert an empty message, which has the index then."""
    messages = list(conversation.messages)
    messages.insert(index, Message(role, ""))
    return replace(conversation, messages=tuple(messages))


def with_new_part(conversation: Conversation, place: PartPlace, kind: str) -> Conversation:
    """Insert an empty part behind another one; a text becomes parts."""
    message = conversation.messages[place.message]
    parts = list(message.parts)
    parts.insert(place.part + 1, Part(kind, ""))
    return _with_message(conversation, place.message, replace(message, content=tuple(parts)))


def without_message(conversation: Conversation, index: int) -> Conversation:
    """Delete a message."""
    messages = conversation.messages
    return replace(conversation, messages=messages[:index] + messages[index + 1 :])


def without_part(conversation: Conversation, place: PartPlace) -> Conversation:
    """Delete a part; a single text part that is left becomes plain content again."""
    message = conversation.messages[place.message]
    parts = message.parts[: place.part] + message.parts[place.part + 1 :]
    is_plain = len(parts) == 1 and parts[0].kind == "text" and not parts[0].extra
    content = parts[0].text if is_plain else parts
    return _with_message(conversation, place.message, replace(message, content=content))


def with_joined_parts(conversation: Conversation, index: int) -> Conversation:
    """Make the parts of a message one text, a line feed between them."""
    message = conversation.messages[index]
    text = "\n".join(part.text for part in message.parts)
    return _with_message(conversation, index, replace(message, content=text))


def moved(conversation: Conversation, index: int, step: int) -> Conversation:
    """Let a message change places with the one before (-1) or behind (1)."""
    messages = list(conversation.messages)
    messages[index], messages[index + step] = messages[index + step], messages[index]
    return replace(conversation, messages=tuple(messages))


def with_messages_of(conversation: Conversation, other: Conversation) -> Conversation:
    """Append the messages of another conversation."""
    return replace(conversation, messages=(*conversation.messages, *other.messages))


# -- rows that cannot be read


def raw_row(text: str) -> Conversation:
    """Hold the text of a row that is no conversation, to be repaired."""
    return Conversation((Message(RAW, text),))


def raw_index(conversation: Conversation) -> int | None:
    """Find the text of a row that is no conversation, None if there is none."""
    roles = [message.role for message in conversation.messages]
    return roles.index(RAW) if RAW in roles else None


def repaired(conversation: Conversation, index: int) -> Conversation:
    """Put the conversation that the text of a row has become in its place.

    Raises:
        ConversationError: If it is none yet; it says why.
    """
    messages = conversation.messages
    value, byte_text = loads(bytetext.to_bytes(messages[index].text))
    row = Conversation.from_json(value, byte_text=byte_text)
    return replace(row, messages=(*messages[:index], *row.messages, *messages[index + 1 :]))


def json_of(conversation: Conversation, indent: int | None = None) -> str:
    """Write a conversation as JSON in its shape; a row that cannot be read as it is."""
    if _is_raw(conversation):
        return conversation.messages[0].text
    return json.dumps(conversation.to_json(), ensure_ascii=False, indent=indent)


def _is_raw(conversation: Conversation) -> bool:
    return [message.role for message in conversation.messages] == [RAW]


def json_parts(conversation: Conversation) -> Iterator[str]:
    """Write what `json_of` does in parts, of which a change changes few."""
    if _is_raw(conversation):
        yield json_of(conversation)
    else:
        yield from json.JSONEncoder(ensure_ascii=False).iterencode(conversation.to_json())


def _with_message(conversation: Conversation, index: int, message: Message) -> Conversation:
    messages = conversation.messages
    return replace(conversation, messages=(*messages[:index], message, *messages[index + 1 :]))


# -- what can be chosen


def next_role(conversation: Conversation, behind: int) -> str:
    """Say whose turn it is behind a message (-1 for the beginning): roles alternate."""
    if behind < 0:
        return "user"
    return "assistant" if conversation.messages[behind].role == "user" else "user"


def roles_to_add(conversation: Conversation) -> tuple[str, ...]:
    """List the roles to add at the end, the one whose turn it is first."""
    first = next_role(conversation, len(conversation.messages) - 1)
    return (first, *(role for role in OFFERED_ROLES if role != first))


def kind_behind(kind: str) -> str:
    """Say what kind of part usually follows: code its output, the output a text."""
    return {"text": "python", "python": "python_output", "tool_call": "text"}.get(kind, "text")


# -- what the list shows


def blocks_of(
    conversation: Conversation, counts: PartCounts | None, warned: Container[int | None]
) -> MessageBlocks:
    """Turn messages into blocks.

    Args:
        conversation: The messages.
        counts: How many tokens each message and each part has, None if there are none.
        warned: The messages that a finding is about.
    """
    by_part = NOTHING.by_part if counts is None else counts.by_part

    def block_of(index: int) -> MessageBlock:
        message = conversation.messages[index]
        plain = isinstance(message.content, str)
        parts = tuple(
            PartBlock(
                "" if plain else part.kind,
                part.text,
                by_part.get((index, number), MaskCounts()).learned > 0,
            )
            for number, part in enumerate(message.parts or (Part("text", ""),))
        )
        note = "" if counts is None else message_note(counts, index)
        warns = index in warned
        return MessageBlock(message.role, parts, f"! {note}" if warns else note, warns)

    return MessageBlocks(conversation.messages, block_of)
