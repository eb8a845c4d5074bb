"""Edits of a conversation as pure functions that return a new one."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, cast

from tokviz.chat.conversation import CONVERSATION_EXTRA_FIELDS, Conversation
from tokviz.chat.dataset_shapes import SHAPES
from tokviz.chat.json_text import loads
from tokviz.chat.messages import (
    MESSAGE_EXTRA_FIELDS,
    REASONING_KEYS,
    UNTRAINED_KEYS,
    Message,
    Part,
    clean_text,
)
from tokviz.storage import json_file
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
    n_parts = max(1, len(messages[message].parts)) + len(fields(conversation, message))
    return PartPlace(message, max(0, min(part, n_parts - 1)))


def text_at(conversation: Conversation, place: PartPlace) -> str:
    """Return the text of a part or field; it is empty in a message without parts."""
    field = field_at(conversation, place)
    if field is not None:
        return field_text(_owner(conversation, place, field).extra[field.key])
    parts = conversation.messages[place.message].parts
    return parts[place.part].text if parts else ""


def with_text(conversation: Conversation, place: PartPlace, text: str) -> Conversation:
    """Replace the text of a part or field."""
    field = field_at(conversation, place)
    if field is not None:
        value = field_value(text, _owner(conversation, place, field).extra[field.key])
        return _with_field(conversation, place, field, value)
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
    parts.insert(min(place.part, len(parts) - 1) + 1, Part(kind, ""))
    return _with_message(conversation, place.message, replace(message, content=tuple(parts)))


# -- fields: values beside the parts, shown after the parts


class Field(NamedTuple):
    """A field of a part, a message or the conversation.

    Attributes:
        key: Its key.
        part: The part; `OF_MESSAGE` or `OF_CONVERSATION` for a field of these.
    """

    key: str
    part: int

    @property
    def title(self) -> str:
        """Its key, and the owner unless that is the message."""
        if self.part == OF_CONVERSATION:
            return f"{self.key} of the conversation"
        return self.key if self.part == OF_MESSAGE else f"{self.key} of part {self.part + 1}"


class JsonText(str):
    """JSON that is being typed and is not valid yet."""


OF_MESSAGE, OF_CONVERSATION = -1, -2
NEW_FIELDS: dict[str, Any] = {
    "reasoning_content": "",
    "tool_call_id": "",
    "name": "",
    "weight": 0,
    "tools": [],
}
"""The fields that can be added, with their first values; `tools` is of the conversation."""
_MESSAGE_KEYS = (*MESSAGE_EXTRA_FIELDS, "tool_call_id", *UNTRAINED_KEYS)
_KEYS = tuple(key for key in CONVERSATION_EXTRA_FIELDS if key != "system")
"""The keys of a conversation; its system text is shown as a message."""


def fields(conversation: Conversation, index: int) -> list[Field]:
    """List the fields of a message; the last message has those of the conversation too."""
    message, whole = conversation.messages[index], conversation.extra
    parts = enumerate(message.parts)
    found = [Field("id", n) for n, part in parts if part.extra.get("id") is not None]
    keys = (key for key in _MESSAGE_KEYS if message.extra and message.extra.get(key) is not None)
    found += [Field(key, OF_MESSAGE) for key in keys]
    if whole and message is conversation.messages[-1]:
        found += [Field(key, OF_CONVERSATION) for key in _KEYS if whole.get(key) is not None]
    return found


def field_at(conversation: Conversation, place: PartPlace) -> Field | None:
    """Return the field at a place, None for a part."""
    number = place.part - max(1, len(conversation.messages[place.message].parts))
    return fields(conversation, place.message)[number] if number >= 0 else None


def with_new_field(
    conversation: Conversation, place: PartPlace, key: str
) -> tuple[Conversation, PartPlace]:
    """Add a field of `NEW_FIELDS`, or find it; also return its place."""
    field = Field(key, OF_CONVERSATION if key == "tools" else OF_MESSAGE)
    place = place if field.part == OF_MESSAGE else PartPlace(len(conversation.messages) - 1)
    if field not in fields(conversation, place.message):
        conversation = _with_field(conversation, place, field, NEW_FIELDS[key])
    number = fields(conversation, place.message).index(field)
    n_parts = max(1, len(conversation.messages[place.message].parts))
    return conversation, PartPlace(place.message, n_parts + number)


def field_text(value: Any) -> str:
    r"""Return the text of a field: a text as it is, any other value as JSON.

    >>> field_text("call_1"), field_text(0), field_text(["a"])
    ('call_1', '0', '[\n  "a"\n]')
    """
    if isinstance(value, str):
        return clean_text(value, True)
    return json.dumps(value, ensure_ascii=False, indent=2)


def field_value(text: str, old: Any) -> Any:
    """Return the value of an edited field: a text if it was one, otherwise parsed JSON."""
    if isinstance(old, str) and not isinstance(old, JsonText):
        return text
    try:
        value = json_file.loads(text)
    except (ValueError, RecursionError):
        return JsonText(text)
    return JsonText(text) if value is None or isinstance(value, str) else value


def _owner(
    conversation: Conversation, place: PartPlace, field: Field
) -> Conversation | Message | Part:
    if field.part == OF_CONVERSATION:
        return conversation
    message = conversation.messages[place.message]
    return message if field.part == OF_MESSAGE else message.parts[field.part]


def _with_field(
    conversation: Conversation, place: PartPlace, field: Field, value: Any
) -> Conversation:
    """Set the value of a field; None removes it."""
    owner = _owner(conversation, place, field)
    extra = {**owner.extra, field.key: value}
    if value is None:
        del extra[field.key]
    changed: Any = replace(owner, extra=extra)
    if field.part == OF_CONVERSATION:
        return cast(Conversation, changed)
    if field.part >= 0:
        message = conversation.messages[place.message]
        parts = [*message.parts]
        parts[field.part] = changed
        changed = replace(message, content=tuple(parts))
    return _with_message(conversation, place.message, changed)


def without_message(conversation: Conversation, index: int) -> Conversation:
    """Delete a message."""
    messages = conversation.messages
    return replace(conversation, messages=messages[:index] + messages[index + 1 :])


def without_part(conversation: Conversation, place: PartPlace) -> Conversation:
    """Delete a part or field; a single remaining text part becomes plain content again."""
    field = field_at(conversation, place)
    if field is not None:
        return _with_field(conversation, place, field, None)
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
        beside = by_part.get((index, -1), MaskCounts()).learned > 0
        parts += tuple(
            PartBlock(
                field.title,
                text_at(conversation, PartPlace(index, len(parts) + number)),
                beside and field.key in REASONING_KEYS,
                has_kinds=False,
            )
            for number, field in enumerate(fields(conversation, index))
        )
        note = "" if counts is None else message_note(counts, index)
        warns = index in warned
        return MessageBlock(message.role, parts, f"! {note}" if warns else note, warns)

    return MessageBlocks(conversation.messages, block_of)
