"""JSON shapes in which datasets keep conversations. To add one, add an entry to `SHAPES`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tokviz.chat.messages import (
    IN_PROMPT,
    ConversationError,
    Json,
    Message,
    clean_text,
    kind_of,
    n_in_prompt,
    read_messages,
    write_sharegpt,
)
from tokviz.storage.plugins import Registry
from tokviz.text.common_prefix import n_common


@dataclass(frozen=True, slots=True)
class DatasetShape:
    """A shape in which datasets keep conversations.

    Attributes:
        looks: A short sketch of a row; "" for a second way to read a row of another shape.
        found_in: Projects that use the shape.
        fits: Returns whether a row is meant to be in this shape, valid or not.
        read: Returns the messages of a row that fits, and a dict of its other keys. Takes the
            arguments of `Conversation.from_json`; raises `ConversationError`.
        write: Makes a row of these two; raises `ConversationError` if it cannot hold them.
        list_key: The key, or column of a table, of the list of messages; "" for none.
        text_keys: The other keys, or columns of a table, that the shape requires.
        plain_roles: The roles of the texts of a row without a chat template; none otherwise.
        other: The shape that reads the other answer of a row with two answers; "" for none.
        note: A sentence about how a row is read.
    """

    looks: str
    found_in: str
    fits: Callable[[Any], bool]
    read: Callable[[Any, bool], tuple[tuple[Message, ...], Json]]
    write: Callable[[Iterable[Message], Mapping[str, Any]], Any]
    list_key: str = ""
    text_keys: tuple[str, ...] = ()
    plain_roles: tuple[str, ...] = ()
    other: str = ""
    note: str = ""

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

    def write(messages: Iterable[Message], extra: Mapping[str, Any]) -> Json:
        listed, row = _without_system(messages, extra)
        return {key: [write_message(message) for message in listed], **row}

    return DatasetShape(
        looks,
        found_in,
        lambda value: isinstance(value, Mapping) and key in value and fits(value[key]),
        read,
        write,
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


def _prompted(
    answer: str, looks: str, found_in: str, *, of_text: bool, other: str = ""
) -> DatasetShape:
    """Return a shape of TRL: a prompt and an answer, both texts or both lists of messages.

    Args:
        answer: The key of the answer.
        looks: As in `DatasetShape`.
        found_in: As in `DatasetShape`.
        of_text: Whether both are texts, which TRL tokenizes without a template.
        other: The key of a second answer, which is kept; "" for none. A row with two answers may
            lack `prompt`; then the prompt is the common start of both answers.
    """
    kind = str if of_text else list
    roles = ("user", "assistant") if of_text else ()

    def fits(value: Any) -> bool:
        keys = (answer, other) if other else (answer, "prompt")
        is_such = isinstance(value, Mapping) and all(key in value for key in keys)
        return is_such and isinstance(value[answer], list) != of_text

    def items(value: Any, key: str) -> Any:
        if not isinstance(value[key], kind):
            wanted = "a text" if of_text else "a list of messages"
            raise ConversationError(f"must be {wanted}, not {kind_of(value[key])}", key=key)
        return value[key]

    def read(value: Any, byte_text: bool) -> tuple[tuple[Message, ...], Json]:
        extra = {key: item for key, item in value.items() if key != answer}
        answered = items(value, answer)
        # Of an UltraFeedback row, the prompt is a text, and both answers start with its message.
        if not other or isinstance(value.get("prompt"), kind):
            prompt, extra["prompt"] = items(value, "prompt"), kind()
        else:
            rejected = items(value, other)
            start = n_common(answered, rejected)
            prompt, answered, extra[other] = answered[:start], answered[start:], rejected[start:]
        if of_text:
            texts = (clean_text(prompt, byte_text), clean_text(answered, byte_text))
            return tuple(map(Message, roles, texts)), extra
        messages = read_messages([*prompt, *answered], byte_text)
        first = messages[: len(prompt)]
        marked = (replace(it, extra={**it.extra, IN_PROMPT: True}) for it in first)
        return (*marked, *messages[len(prompt) :]), extra

    def write(messages: Iterable[Message], extra: Mapping[str, Any]) -> Json:
        listed, row = list(messages), dict(extra)
        is_explicit = row.get("prompt") == kind()
        prompt: Any
        answered: Any
        if not of_text:
            written, n_first = [it.to_json() for it in listed], n_in_prompt(listed)
            prompt, answered = written[:n_first], written[n_first:]
        elif fits_plain(listed, roles):
            prompt, answered = listed[0].text, listed[1].text
        else:
            if is_explicit:
                del row["prompt"]
            elif listed:
                row[other] = listed[0].text + row[other]
            return {"messages": [message.to_json() for message in listed], **row}
        if is_explicit:
            return {**row, "prompt": prompt, answer: answered}
        return {**row, other: prompt + row[other], answer: prompt + answered}

    note = f"This is the answer under {answer!r}; the row has another one under {other!r}."
    return DatasetShape(
        looks,
        found_in,
        fits,
        read,
        write,
        text_keys=(answer, other or "prompt"),
        plain_roles=roles,
        other=f"{other}_text" if other and of_text else other,
        note=note if other else "",
    )


def fits_plain(messages: Sequence[Message], roles: Sequence[str]) -> bool:
    """Return whether messages are texts of these roles, without other keys."""
    plain = all(isinstance(message.content, str) and not message.extra for message in messages)
    return plain and [message.role for message in messages] == [*roles]


class _MovedText(str):
    """The value of a key whose text is a message, until the row is written."""


def _with_system(
    messages: tuple[Message, ...], extra: Json, byte_text: bool
) -> tuple[Message, ...]:
    """Move LLaMA-Factory's key `system` into a first message."""
    system = extra.get("system")
    if not isinstance(system, str) or not system or (messages and messages[0].role == "system"):
        return messages
    extra["system"] = _MovedText()
    return (Message("system", clean_text(system, byte_text)), *messages)


def _without_system(
    messages: Iterable[Message], extra: Mapping[str, Any]
) -> tuple[list[Message], Json]:
    """Move a first system message back to the key `system` that it was read from."""
    listed, row = list(messages), dict(extra)
    if isinstance(row.get("system"), _MovedText) and fits_plain(listed[:1], ("system",)):
        row["system"] = listed.pop(0).text
    return listed, row


def _says_from(items: object) -> bool:
    """Return whether messages are in ShareGPT's format."""
    if not isinstance(items, Sequence):
        return False
    return not items or any(isinstance(item, Mapping) and "from" in item for item in items)


def _read_text(value: Any, byte_text: bool) -> tuple[tuple[Message, ...], Json]:
    if not isinstance(value["text"], str):
        raise ConversationError(f"must be a text, not {kind_of(value['text'])}", key="text")
    extra = {key: item for key, item in value.items() if key != "text"}
    return (Message("assistant", clean_text(value["text"], byte_text)),), extra


def _write_text(messages: Iterable[Message], extra: Mapping[str, Any]) -> Json:
    listed = list(messages)
    if fits_plain(listed, ("assistant",)):
        return {"text": listed[0].text, **extra}
    return {"messages": [message.to_json() for message in listed], **extra}


_PREFERENCE = (
    '{"prompt": [...], "chosen": [...], "rejected": [...]}',
    '{"prompt", "chosen", "rejected"}',
)

_SHAPES = {
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
    "prompt_messages": _prompted(
        "completion",
        '{"prompt": [...], "completion": [...]}',
        "TRL; only the completion is learned",
        of_text=False,
    ),
    "prompt": _prompted("completion", '{"prompt", "completion"}', "TRL; no template", of_text=True),
    "chosen": _prompted("chosen", _PREFERENCE[0], "TRL", of_text=False, other="rejected"),
    "chosen_text": _prompted("chosen", _PREFERENCE[1], "TRL", of_text=True, other="rejected"),
    "rejected": _prompted("rejected", "", "", of_text=False, other="chosen"),
    "rejected_text": _prompted("rejected", "", "", of_text=True, other="chosen"),
    "dolly": _of_two(
        "instruction",
        "response",
        '{"instruction", "context", "response"}',
        "Databricks Dolly",
        "context",
    ),
    "text": DatasetShape(
        '{"text"}',
        "TRL; no template, all of it is learned",
        lambda value: isinstance(value, Mapping) and "text" in value,
        _read_text,
        _write_text,
        text_keys=("text",),
        plain_roles=("assistant",),
    ),
}
SHAPES = Registry("tokviz.dataset_shapes", DatasetShape, _SHAPES)
"""The shapes by name; a row is read in the first that fits. To add one, add an entry."""


def shape_of(value: object, preferred: str | None = None) -> str | None:
    """Return the name of the shape that a row is meant to be in, or None.

    Args:
        value: The row.
        preferred: The shape to return if the row fits it.
    """
    if preferred and preferred in SHAPES and SHAPES[preferred].fits(value):
        return preferred
    return next((name for name, shape in SHAPES.items() if shape.fits(value)), None)


def describe_shapes() -> str:
    """Return a list of the shapes for the help, one per line."""
    listed = [shape for shape in SHAPES.values() if shape.looks]
    width = max(len(shape.looks) for shape in listed)
    return "\n".join(f"  {shape.looks:<{width}}  {shape.found_in}" for shape in listed)
