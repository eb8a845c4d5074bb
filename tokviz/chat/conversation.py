"""A conversation: messages in order, read from and written to any of `SHAPES`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tokviz.chat.dataset_shapes import SHAPES, shape_of
from tokviz.chat.messages import (
    MEDIA_KEYS,
    REASONING_KEYS,
    TOOL_ROLES,
    ConversationError,
    Json,
    Message,
    kind_of,
    parse_tool_call,
)
from tokviz.storage import json_file

CONVERSATION_EXTRA_FIELDS = (
    *("tools", "functions", "documents", "system", "history"),
    *(*REASONING_KEYS, *MEDIA_KEYS),
)
"""The keys of a conversation, besides the messages, that are for the model; others are metadata."""


class ExtraField(NamedTuple):
    """A value for the model outside the contents of the messages.

    Attributes:
        key: Its key: one of `CONVERSATION_EXTRA_FIELDS`, or for a message one of
            `MESSAGE_EXTRA_FIELDS` or a key of one of its tool calls.
        value: The value.
        message: The message, counted from 0; None for the whole conversation.
        role: The role of that message.
    """

    key: str
    value: Any
    message: int | None = None
    role: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in order.

    Attributes:
        messages: The messages.
        shape: The shape it was read from and will be written in: a key of `SHAPES`.
        extra: Further keys besides the messages, such as `tools`.
    """

    messages: tuple[Message, ...]
    shape: str = "messages"
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def from_json(cls, value: object, *, byte_text: bool = False) -> Conversation:
        """Read a conversation from parsed JSON, which is not changed.

        Args:
            value: The result of `json.loads`, in any of the shapes.
            byte_text: Whether U+DC80 to U+DCFF in it are raw bytes; otherwise they are lone
                surrogates and become U+FFFD.

        Raises:
            ConversationError: If it is not a conversation; it names the message and the key.
        """
        name = shape_of(value)
        if name is not None:
            messages, extra = SHAPES[name].read(value, byte_text)
            return cls(messages, name, extra)
        if not isinstance(value, Mapping):
            raise ConversationError(
                f"a conversation is an object or a list, not {kind_of(value)}; {_EXAMPLE}"
            )
        found = ", ".join(map(repr, list(value)[:8])) or "none"
        raise ConversationError(f"there is no key 'messages' (keys: {found}); {_EXAMPLE}")

    @property
    def variables(self) -> Mapping[str, Any]:
        """The variables for a Jinja template under the key `chat_template_kwargs`."""
        return self.extra.get("chat_template_kwargs") or {}

    def objects(self, key: str) -> list[Json] | None:
        """Return the tools or the documents: a list of objects, also written as JSON text.

        Raises:
            ConversationError: If they are anything else, which transformers refuses too.
        """
        value = self.extra.get(key)
        if isinstance(value, str):
            try:
                value = json_file.loads(value) if value.strip() else None
            except (ValueError, RecursionError):
                raise ConversationError("is a text that is not JSON", key=key) from None
        if value is None:
            return None
        if not isinstance(value, list):
            raise ConversationError(f"must be a list of objects, not {kind_of(value)}", key=key)
        for number, item in enumerate(value, 1):
            if not isinstance(item, dict):
                message = f"number {number} is {kind_of(item)}, not an object"
                raise ConversationError(message, key=key)
        return value

    def with_variables(self, variables: Mapping[str, Any]) -> Conversation:
        """Return the conversation with further variables for a Jinja template."""
        if not variables:
            return self
        together = {**self.variables, **variables}
        return replace(self, extra={**self.extra, "chat_template_kwargs": together})

    def untrained(self) -> dict[int, str]:
        """Return the messages that are excluded from the loss, and the key that excludes each."""
        keys = ((index, message.untrained_by) for index, message in enumerate(self.messages))
        return {index: key for index, key in keys if key is not None}

    def extra_fields(self) -> list[ExtraField]:
        """List the fields that a template may leave out because they are not contents.

        The name of an answering tool is omitted if an earlier call names the tool.
        """
        found = [
            ExtraField(key, value)
            for key in CONVERSATION_EXTRA_FIELDS
            if (value := self.extra.get(key))
        ]
        called: list[object] = []
        for index, message in enumerate(self.messages):
            values = [
                (key, value)
                for key, value in message.extra_fields()
                if not (key == "name" and message.role in TOOL_ROLES and value in called)
            ]
            for part in () if isinstance(message.content, str) else message.content:
                call = parse_tool_call(part.text) if part.kind == "tool_call" else None
                for key, value in (call or {}).items():
                    if key == "name":
                        called.append(value)
                    elif value and key != "arguments":
                        values.append((key, value))
            found += [ExtraField(key, value, index, message.role) for key, value in values]
        return found

    def to_json(self) -> Any:
        """Return the conversation in its shape, ready for `json.dumps`."""
        return SHAPES[self.shape].write(self.messages, self.extra)


_EXAMPLE = 'write {"messages": [{"role": "user", "content": "Hi"}]}'
