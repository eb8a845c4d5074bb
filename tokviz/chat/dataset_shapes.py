"""JSON shapes in which datasets keep conversations. To add one, add an entry to `SHAPES`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokviz.chat.messages import (
    ConversationError,
    Json,
    Message,
    clean_text,
    kind_of,
    read_messages,
    write_sharegpt,
)


@dataclass(frozen=True, slots=True)
class DatasetShape:
    """A shape in which datasets keep conversations.

    Attributes:
        looks: A short sketch of a row.
        found_in: Projects that use the shape.
        fits: Returns whether a row is meant to be in this shape, valid or not.
        read: Returns the messages of a row that fits, and a dict of its other keys. Takes the
            arguments of `Conversation.from_json`; raises `ConversationError`.
        write: Makes a row of these two; raises `ConversationError` if it cannot hold them.
        list_key: The key, or column of a table, of the list of messages; "" for none.
        text_keys: The other keys, or columns of a table, that the shape requires.
    """

    looks: str
    found_in: str
    fits: Callable[[Any], bool]
    read: Callable[[Any, bool], tuple[tuple[Message, ...], Json]]
    write: Callable[[Iterable[Message], Mapping[str, Any]], Any]
    list_key: str = ""
    text_keys: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a table needs; none if no table can be in this shape."""
        return tuple(filter(None, (self.list_key, *self.text_keys)))


def _under_key(
    key: str,
    looks: str,
    found_in: str,
    write_message: Callable[[Message], Json],
    fits: Callable[[Any], bool] = lambda items: True,
) -> DatasetShape:
    """Return a shape of objects that hold a list of messages.

    Args:
        key: The key of the list.
        looks: As in `DatasetShape`.
        found_in: As in `DatasetShape`.
        write_message: Makes an item of the list.
        fits: Returns whether the value under the key is meant to be in this shape.
    """

    def read(value: Any, byte_text: bool) -> tuple[tuple[Message, ...], Json]:
        items = value[key]
        if not isinstance(items, Sequence) or isinstance(items, str):
            raise ConversationError(f"must be a list of messages, not {kind_of(items)}", key=key)
        extra = {name: item for name, item in value.items() if name != key}
        return _with_system(read_messages(items, byte_text), extra, byte_text), extra

    return DatasetShape(
        looks,
        found_in,
        lambda value: isinstance(value, Mapping) and key in value and fits(value[key]),
        read,
        lambda messages, extra: {key: [write_message(message) for message in messages], **extra},
        list_key=key,
    )


def _of_two(question: str, answer: str, looks: str, found_in: str, more: str = "") -> DatasetShape:
    """Return a shape of objects with a question and an answer.

    Conversations that do not fit the shape are written as `messages`.

    Args:
        question: The key of the user's text.
        answer: The key of the assistant's text.
        looks: As in `DatasetShape`.
        found_in: As in `DatasetShape`.
        more: The key of a second text of the user; "" for none.
    """

    def read(value: Any, byte_text: bool) -> tuple[tuple[Message, ...], Json]:
        def text(key: str) -> str:
            if not isinstance(value[key], str):
                raise ConversationError(f"must be a text, not {kind_of(value[key])}", key=key)
            return clean_text(value[key], byte_text)

        extra = {key: item for key, item in value.items() if key not in (question, answer)}
        user_text = text(question)
        if more and extra.get(more):
            extra[more] = text(more)
            user_text += f"\n\n{extra[more]}"
        messages = (Message("user", user_text), Message("assistant", text(answer)))
        return _with_system(messages, extra, byte_text), extra

    def write(messages: Iterable[Message], extra: Mapping[str, Any]) -> Json:
        listed, row = list(messages), dict(extra)
        roles = [message.role for message in listed]
        plain = all(isinstance(message.content, str) and not message.extra for message in listed)
        if not plain or roles not in (["user", "assistant"], ["system", "user", "assistant"]):
            if more:
                row.pop(more, None)
            return {"messages": [message.to_json() for message in listed], **row}
        if len(listed) == 3:
            row["system"] = listed.pop(0).text
        user_text = listed[0].text
        if more and row.get(more):
            suffix = f"\n\n{row[more]}"
            row[more] = row[more] if user_text.endswith(suffix) else ""
            user_text = user_text.removesuffix(suffix)
        return {question: user_text, answer: listed[1].text, **row}

    return DatasetShape(
        looks,
        found_in,
        lambda value: isinstance(value, Mapping) and question in value and answer in value,
        read,
        write,
        text_keys=(question, answer),
    )


def _with_system(
    messages: tuple[Message, ...], extra: Json, byte_text: bool
) -> tuple[Message, ...]:
    """Move LLaMA-Factory's key `system` into a first message."""
    system = extra.get("system")
    if not isinstance(system, str) or not system or (messages and messages[0].role == "system"):
        return messages
    del extra["system"]
    return (Message("system", clean_text(system, byte_text)), *messages)


def _says_from(items: object) -> bool:
    """Return whether messages are in ShareGPT's format."""
    if not isinstance(items, Sequence):
        return False
    return not items or any(isinstance(item, Mapping) and "from" in item for item in items)


SHAPES: dict[str, DatasetShape] = {
    "messages": _under_key(
        "messages",
        '{"messages": [{"role", "content"}]}',
        "nanochat, OpenAI, Hugging Face",
        Message.to_json,
    ),
    "list": DatasetShape(
        '[{"role", "content"}]',
        "nanochat's own JSON Lines",
        lambda value: isinstance(value, list),
        lambda value, byte_text: (read_messages(value, byte_text), {}),
        lambda messages, extra: [message.to_json() for message in messages],
    ),
    "sharegpt": _under_key(
        "conversations",
        '{"conversations": [{"from", "value"}]}',
        "ShareGPT, LLaMA-Factory",
        write_sharegpt,
        _says_from,
    ),
    "conversations": _under_key(
        "conversations",
        '{"conversations": [{"role", "content"}]}',
        "ShareGPT with OpenAI's roles",
        Message.to_json,
    ),
    "alpaca": _of_two(
        "instruction",
        "output",
        '{"instruction", "input", "output"}',
        "Stanford Alpaca, LLaMA-Factory",
        "input",
    ),
    "prompt": _of_two("prompt", "completion", '{"prompt", "completion"}', "OpenAI, TRL"),
}
"""The shapes by name; a row is read in the first that fits. To add one, add an entry."""


def shape_of(value: object, preferred: str | None = None) -> str | None:
    """Return the name of the shape that a row is meant to be in, or None.

    Args:
        value: The row.
        preferred: The shape to return if the row fits it.
    """
    if preferred in SHAPES and SHAPES[preferred].fits(value):
        return preferred
    return next((name for name, shape in SHAPES.items() if shape.fits(value)), None)


def describe_shapes() -> str:
    """Return a list of the shapes for the help, one per line."""
    width = max(len(shape.looks) for shape in SHAPES.values())
    return "\n".join(f"  {shape.looks:<{width}}  {shape.found_in}" for shape in SHAPES.values())
