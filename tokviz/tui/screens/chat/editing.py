"""Edits of a conversation as pure functions that return a new one."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from dataclasses import replace

from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset_shapes import SHAPES
from tokviz.chat.json_text import loads
from tokviz.chat.messages import Message, Part
from tokviz.text import bytetext
from tokviz.tui.widgets.conversation.rows import MessageBlock, MessageBlocks, PartBlock, PartPlace
from tokviz.tui.widgets.mask.counts import NOTHING, MaskCounts, PartCounts, message_note

OFFERED_ROLES = ("user", "assistant", "system", "tool")
"""The roles that can be added with one click."""

EMPTY = Conversation((Message("user", ""),))
"""Content of a new conversation."""

RAW = "unreadable row"
"""Role of the text of an unreadable row, to be repaired into a conversation."""


def place_in(conversation: Conversation, place: PartPlace | None) -> PartPlace | None:
    """Return the nearest existing place, or None if there is no message."""
    messages = conversation.messages
    if not messages:
        return None
    message, part = place or (0, 0)
    message = max(0, min(message, len(messages) - 1))
    return PartPlace(message, max(0, min(part, max(1, len(messages[message].parts)) - 1)))


def text_at(conversation: Conversation, place: PartPlace) -> str:
    """Return the text of a part; it is empty in a message without parts."""
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
    """Change the role of a message."""
    message = conversation.messages[index]
    # The name that a ShareGPT file has for the old role would be written for the new one.
    extra = {key: value for key, value in message.extra.items() if key != "from"}
    return _with_message(conversation, index, replace(message, role=role, extra=extra))


def with_kind(conversation: Conversation, place: PartPlace, kind: str) -> Conversation:
    """Change the kind of a part."""
    message = conversation.messages[place.message]
    parts = list(message.parts) or [Part("text", "")]
    parts[place.part] = Part(kind, parts[place.part].text)
    return _with_message(conversation, place.message, replace(message, content=tuple(parts)))


def with_new_message(conversation: Conversation, index: int, role: str) -> Conversation:
    """Insert an empty message at an index."""
    messages = list(conversation.messages)
    messages.insert(index, Message(role, ""))
    return replace(conversation, messages=tuple(messages))


def with_new_part(conversation: Conversation, place: PartPlace, kind: str) -> Conversation:
    """Insert an empty part after another one; plain content becomes parts."""
    message = conversation.messages[place.message]
    parts = list(message.parts)
    parts.insert(place.part + 1, Part(kind, ""))
    return _with_message(conversation, place.message, replace(message, content=tuple(parts)))


def without_message(conversation: Conversation, index: int) -> Conversation:
    """Delete a message."""
    messages = conversation.messages
    return replace(conversation, messages=messages[:index] + messages[index + 1 :])


def without_part(conversation: Conversation, place: PartPlace) -> Conversation:
    """Delete a part; a single remaining text part becomes plain content again."""
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
    """Swap a message with the previous (-1) or next one (1)."""
    messages = list(conversation.messages)
    messages[index], messages[index + step] = messages[index + step], messages[index]
    return replace(conversation, messages=tuple(messages))


def with_other_answer(conversation: Conversation) -> Conversation | None:
    """Return the other answer of a preference row; None for any other row."""
    other = SHAPES[conversation.shape].other
    if not other:
        return None
    return Conversation.from_json(conversation.to_json(), byte_text=True, shape=other)


def with_messages_of(conversation: Conversation, other: Conversation) -> Conversation:
    """Append the messages of another conversation."""
    return replace(conversation, messages=(*conversation.messages, *other.messages))


# -- rows that cannot be read


def raw_row(text: str) -> Conversation:
    """Return a conversation with the text of an unreadable row, to be repaired."""
    return Conversation((Message(RAW, text),))


def raw_index(conversation: Conversation) -> int | None:
    """Return the text of an unreadable row, or None."""
    roles = [message.role for message in conversation.messages]
    return roles.index(RAW) if RAW in roles else None


def repaired(conversation: Conversation, index: int) -> Conversation:
    """Replace a repaired text by the conversation that it contains.

    Raises:
        ConversationError: If it is not valid yet, with the reason.
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
    """Return the result of `json_of` in parts, few of which change with an edit."""
    if _is_raw(conversation):
        yield json_of(conversation)
    else:
        yield from json.JSONEncoder(ensure_ascii=False).iterencode(conversation.to_json())


def _with_message(conversation: Conversation, index: int, message: Message) -> Conversation:
    messages = conversation.messages
    return replace(conversation, messages=(*messages[:index], message, *messages[index + 1 :]))


# -- what can be chosen


def next_role(conversation: Conversation, behind: int) -> str:
    """Return the next role after a message (-1 for the start): roles alternate."""
    if behind < 0:
        return "user"
    return "assistant" if conversation.messages[behind].role == "user" else "user"


def roles_to_add(conversation: Conversation) -> tuple[str, ...]:
    """List the roles to add at the end, the one whose turn it is first."""
    first = next_role(conversation, len(conversation.messages) - 1)
    return (first, *(role for role in OFFERED_ROLES if role != first))


def kind_behind(kind: str) -> str:
    """Return the kind of part that usually follows: output after code, text after output."""
    return {"text": "python", "python": "python_output", "tool_call": "text"}.get(kind, "text")


# -- the list


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
