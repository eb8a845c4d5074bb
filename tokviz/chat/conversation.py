"""A conversation as data, read from the shapes in which people keep them, and written back.

The shapes are the entries of `SHAPES`.

Text is byte text (see `tokviz.text.bytetext`). Keys that say nothing about the messages are kept
for writing. All numbers in messages to people count from 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tokviz.chat import tool_calls
from tokviz.errors import TokvizError
from tokviz.text import bytetext

ROLES = ("system", "developer", "user", "assistant", "tool", "function", "ipython")
"""Every role a message may have; the last three are outputs of tools."""

TOOL_ROLES = frozenset({"tool", "function", "ipython"})

PART_KINDS = ("text", "python", "python_output", "tool_call")
"""What a part of a message may be.

The first three are nanochat's. The text of a `tool_call` is JSON: its `name` and `arguments`.
"""

REASONING_KEYS = ("thinking", "reasoning_content", "reasoning")
"""The keys under which an assistant message keeps what the model thinks before it answers.

They are those of gpt-oss's template, of DeepSeek's and Qwen's interfaces, and of OpenRouter's.
"""

MEDIA_KEYS = ("image", "images", "video", "videos", "audio", "audios")
"""The keys, of messages or beside them, of what is not text, as in LLaVA and Ollama."""

ADDRESS_KEYS = ("name", "channel", "recipient")
"""The keys by which a message says from whom, how and to whom it is; two are Harmony's."""

MESSAGE_EXTRA_FIELDS = (
    *(*REASONING_KEYS, "reasoning_details", "tool_plan", "refusal"),
    *(*MEDIA_KEYS, *ADDRESS_KEYS),
)
"""The keys of a message, beside its content, that a model is to read or to say."""

UNTRAINED_KEYS = ("weight", "train", "training", "train_on_turn", "loss")
"""The keys by which an assistant message says, by 0 or false, that it is not to be learned.

They are those of OpenAI's fine-tuning API, of axolotl (three spellings) and of ms-swift.
"""

CONVERSATION_EXTRA_FIELDS = (
    *("tools", "functions", "documents", "system", "history"),
    *(*REASONING_KEYS, *MEDIA_KEYS),
)
"""The keys beside the messages that are for the model; all others are notes for people."""

Json = dict[str, Any]

_SHAREGPT_ROLES = {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "bing": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "observation": "tool",
    "function_response": "tool",
}
_SHAREGPT_NAMES = {"user": "human", "assistant": "gpt"}
_USUAL_ADDRESSES = ("final", "assistant", "all")
_TEXT_TYPES = ("text", "input_text", "output_text")
_ALWAYS_WRITTEN = frozenset({"role", "content", "from", "value", "tool_calls", "function_call"})


class ConversationError(TokvizError):
    """A conversation that cannot be read or rendered.

    Attributes:
        reason: What is wrong and what to do, without the place.
        message_index: The message it is about, counted from 0; None for the whole.
        part_index: The part of that message, counted from 0.
        key: The key it is about.
    """

    def __init__(
        self,
        reason: str,
        message_index: int | None = None,
        key: str | None = None,
        part_index: int | None = None,
    ) -> None:
        """Take the reason in words and the place."""
        self.reason = reason
        self.message_index = message_index
        self.part_index = part_index
        self.key = key
        places = []
        if message_index is not None:
            places.append(f"message {message_index + 1}")
        if part_index is not None:
            places.append(f"part {part_index + 1}")
        if key is not None:
            places.append(f"key {key!r}")
        super().__init__(f"{', '.join(places)}: {reason}" if places else reason)

    def at(self, place: str) -> ConversationError:
        """Say the same about a conversation of a file, whose place goes first."""
        error = ConversationError(self.reason, self.message_index, self.key, self.part_index)
        error.args = (f"{place}: {self}",)
        return error


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message.

    Attributes:
        kind: One of `PART_KINDS`.
        text: Byte text.
        extra: Further keys of the part, for writing.
    """

    kind: str
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def call(self, message_index: int, part_index: int) -> Json:
        """Read the text of a `tool_call`; the indexes are for the message of an error.

        Raises:
            ConversationError: If it is not a JSON object with a name.
        """
        call = tool_calls.parse(self.text)
        if call is None:
            reason = 'a tool call is JSON, such as {"name": "add", "arguments": {}}'
            raise ConversationError(reason, message_index, None, part_index)
        return call


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        role: One of `ROLES`.
        content: Byte text, or parts.
        extra: Further keys of the message, for writing and for Jinja templates.
    """

    role: str
    content: str | tuple[Part, ...]
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts; a plain text is one part, also when it is empty."""
        return (Part("text", self.content),) if isinstance(self.content, str) else self.content

    @property
    def text(self) -> str:
        """The texts of all parts, one after another."""
        return (
            self.content if isinstance(self.content, str) else "".join(p.text for p in self.content)
        )

    @property
    def reasoning(self) -> tuple[str, ...]:
        """The texts under `REASONING_KEYS` of an assistant message, each once."""
        if self.role != "assistant" or not self.extra:
            return ()
        texts = [self.extra.get(key) for key in REASONING_KEYS]
        return tuple(
            dict.fromkeys(_clean(text, False) for text in texts if isinstance(text, str) and text)
        )

    @property
    def untrained_by(self) -> str | None:
        """The one of `UNTRAINED_KEYS` that keeps an assistant message from being learned."""
        if self.role != "assistant" or not self.extra:
            return None
        values = ((key, self.extra.get(key)) for key in UNTRAINED_KEYS)
        said = ((key, value) for key, value in values if isinstance(value, int | float))
        return next((key for key, value in said if not value), None)

    def extra_fields(self) -> Iterator[tuple[str, Any]]:
        """List what is under `MESSAGE_EXTRA_FIELDS`, but for what is empty or as usual."""
        for key in MESSAGE_EXTRA_FIELDS if self.extra else ():
            value = self.extra.get(key)
            if value and not (key in ADDRESS_KEYS and value in _USUAL_ADDRESSES):
                yield key, value

    def to_json(self) -> Json:
        """Write the message with `role` and `content`, tool calls as OpenAI does."""
        content, calls = _content_to_json(self.content)
        return {"role": self.role, "content": content, **calls, **self.extra}


class ExtraField(NamedTuple):
    """Something for the model that is not among the contents of the messages.

    Attributes:
        key: Where it is: one of `CONVERSATION_EXTRA_FIELDS`, or of a message one of
            `MESSAGE_EXTRA_FIELDS`, or a key of one of its tool calls.
        value: What is there.
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
        extra: Further keys beside the messages, such as `tools`.
    """

    messages: tuple[Message, ...]
    shape: str = "messages"
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def from_json(cls, value: object, *, byte_text: bool = False) -> Conversation:
        """Read a conversation from parsed JSON, which is not changed.

        Args:
            value: What `json.loads` gave, in any of the shapes.
            byte_text: Whether U+DC80 to U+DCFF in it stand for raw bytes; otherwise they are lone
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
                f"a conversation is an object or a list, not {_kind_of(value)}; {_EXAMPLE}"
            )
        found = ", ".join(map(repr, list(value)[:8])) or "none"
        raise ConversationError(f"there is no key 'messages' (keys: {found}); {_EXAMPLE}")

    def untrained(self) -> dict[int, str]:
        """Find the messages that say they are not to be learned, each with the key that does."""
        keys = ((index, message.untrained_by) for index, message in enumerate(self.messages))
        return {index: key for index, key in keys if key is not None}

    def extra_fields(self) -> list[ExtraField]:
        """List what a template may leave out, for it is not among the contents.

        The name of a tool that answers is not there if a call before it says it.
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
                call = tool_calls.parse(part.text) if part.kind == "tool_call" else None
                for key, value in (call or {}).items():
                    if key == "name":
                        called.append(value)
                    elif value and key != "arguments":
                        values.append((key, value))
            found += [ExtraField(key, value, index, message.role) for key, value in values]
        return found

    def to_json(self) -> Any:
        """Write the conversation in its shape, ready for `json.dumps`."""
        return SHAPES[self.shape].write(self.messages, self.extra)


_EXAMPLE = 'write {"messages": [{"role": "user", "content": "Hi"}]}'


# -- shapes


@dataclass(frozen=True, slots=True)
class DatasetShape:
    """A shape in which datasets keep conversations.

    Attributes:
        looks: What a row looks like, in a few characters.
        found_in: Who keeps conversations so.
        fits: Tells whether a row is meant to be in this shape, be it right or wrong.
        read: Makes the messages of a row that fits, and a dict of what it holds beside them. Takes
            the arguments of `Conversation.from_json`; raises `ConversationError`.
        write: Makes a row of these two; raises `ConversationError` if it cannot hold them.
        list_key: The key, and the column of a table, that holds a list of messages; "" for none.
        text_keys: The keys, and the columns of a table, that it needs otherwise.
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
        """The columns that a table has to have; none if no table can be in this shape."""
        return tuple(filter(None, (self.list_key, *self.text_keys)))


def _under_key(
    key: str,
    looks: str,
    found_in: str,
    write_message: Callable[[Message], Json],
    fits: Callable[[Any], bool] = lambda items: True,
) -> DatasetShape:
    """Make a shape of objects that hold a list of messages.

    Args:
        key: Where the list is.
        looks: As in `DatasetShape`.
        found_in: As in `DatasetShape`.
        write_message: Makes an item of the list.
        fits: Tells whether what is there is meant in this shape.
    """

    def read(value: Any, byte_text: bool) -> tuple[tuple[Message, ...], Json]:
        items = value[key]
        if not isinstance(items, Sequence) or isinstance(items, str):
            raise ConversationError(f"must be a list of messages, not {_kind_of(items)}", key=key)
        extra = {name: item for name, item in value.items() if name != key}
        return _with_system(_messages(items, byte_text), extra, byte_text), extra

    return DatasetShape(
        looks,
        found_in,
        lambda value: isinstance(value, Mapping) and key in value and fits(value[key]),
        read,
        lambda messages, extra: {key: [write_message(message) for message in messages], **extra},
        list_key=key,
    )


def _of_two(question: str, answer: str, looks: str, found_in: str, more: str = "") -> DatasetShape:
    """Make a shape of objects with a text and the answer to it.

    What it cannot hold is written as `messages`.

    Args:
        question: The key of what the user says.
        answer: The key of what the assistant says.
        looks: As in `DatasetShape`.
        found_in: As in `DatasetShape`.
        more: The key of what the user says besides, if there is any.
    """

    def read(value: Any, byte_text: bool) -> tuple[tuple[Message, ...], Json]:
        def text(key: str) -> str:
            if not isinstance(value[key], str):
                raise ConversationError(f"must be a text, not {_kind_of(value[key])}", key=key)
            return _clean(value[key], byte_text)

        extra = {key: item for key, item in value.items() if key not in (question, answer)}
        asked = text(question)
        if more and extra.get(more):
            extra[more] = text(more)
            asked += f"\n\n{extra[more]}"
        messages = (Message("user", asked), Message("assistant", text(answer)))
        return _with_system(messages, extra, byte_text), extra

    def write(messages: Iterable[Message], extra: Mapping[str, Any]) -> Json:
        told, row = list(messages), dict(extra)
        roles = [message.role for message in told]
        plain = all(isinstance(message.content, str) and not message.extra for message in told)
        if not plain or roles not in (["user", "assistant"], ["system", "user", "assistant"]):
            if more:
                row.pop(more, None)
            return {"messages": [message.to_json() for message in told], **row}
        if len(told) == 3:
            row["system"] = told.pop(0).text
        asked = told[0].text
        if more and row.get(more):
            besides = f"\n\n{row[more]}"
            row[more] = row[more] if asked.endswith(besides) else ""
            asked = asked.removesuffix(besides)
        return {question: asked, answer: told[1].text, **row}

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
    """Take LLaMA-Factory's `system` beside the messages for a first message."""
    system = extra.get("system")
    if not isinstance(system, str) or not system or (messages and messages[0].role == "system"):
        return messages
    del extra["system"]
    return (Message("system", _clean(system, byte_text)), *messages)


def _messages(items: Iterable[object], byte_text: bool) -> tuple[Message, ...]:
    return tuple(_message(item, index, byte_text) for index, item in enumerate(items))


def is_message(item: object) -> bool:
    """Tell whether something is meant to be a message, be it right or wrong."""
    return isinstance(item, Mapping) and ("role" in item or "from" in item)


def _message(item: object, index: int, byte_text: bool) -> Message:
    if not isinstance(item, Mapping):
        raise ConversationError(
            f"must be an object with 'role' and 'content', not {_kind_of(item)}", index
        )
    role_key = "role" if "role" in item else "from" if "from" in item else None
    if role_key is None:
        raise ConversationError("is missing; it says who speaks, such as 'user'", index, "role")
    role = _role(item[role_key], index, role_key)
    extra = {key: value for key, value in item.items() if key not in _ALWAYS_WRITTEN}
    if role_key == "from" and _SHAREGPT_NAMES.get(role, role) != item["from"]:
        extra["from"] = item["from"]
    content_key = "content" if "content" in item or role_key == "role" else "value"
    if item.get(role_key) == "function_call":
        text = _text(item.get(content_key), index, content_key, byte_text)
        return Message(role, (Part("tool_call", text, {"from": "function_call"}),), extra)
    calls = _calls(item, index, byte_text)
    raw = item.get(content_key)
    if raw is None and calls:
        return Message(role, tuple(calls), extra)
    content = _content(item, content_key, index, byte_text)
    if calls:
        parts = content if isinstance(content, tuple) else (Part("text", content),)
        content = (*parts, *calls)
    return Message(role, content, extra)


def _role(name: object, index: int, key: str) -> str:
    if not isinstance(name, str):
        raise ConversationError(f"must be a text such as 'user', not {_kind_of(name)}", index, key)
    role = name
    if key == "from":
        role = "assistant" if name == "function_call" else _SHAREGPT_ROLES.get(name, name)
    if role not in ROLES:
        known = [*ROLES, *_SHAREGPT_ROLES] if key == "from" else list(ROLES)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the roles are {', '.join(ROLES)}"
        raise ConversationError(f"{_short(name)} is not a known role; {hint}", index, key)
    return role


def _content(item: Mapping[str, Any], key: str, index: int, byte_text: bool) -> Any:
    if key not in item:
        raise ConversationError('is missing; an empty text is ""', index, key)
    raw = item[key]
    if isinstance(raw, list):
        return tuple(_part(part, index, number, byte_text) for number, part in enumerate(raw))
    return _text(raw, index, key, byte_text)


def _text(raw: object, index: int, key: str, byte_text: bool) -> str:
    if not isinstance(raw, str):
        raise ConversationError(
            f"must be a text or a list of parts, not {_kind_of(raw)}", index, key
        )
    return _clean(raw, byte_text)


def _part(item: object, index: int, number: int, byte_text: bool) -> Part:
    if isinstance(item, str):
        return Part("text", _clean(item, byte_text))
    if not isinstance(item, Mapping):
        raise ConversationError(
            f"must be an object with 'type' and 'text', not {_kind_of(item)}", index, None, number
        )
    kind = item.get("type")
    if kind is None:
        raise ConversationError("is missing; write 'text', for example", index, "type", number)
    extra = {key: value for key, value in item.items() if key not in ("type", "text")}
    if kind in _TEXT_TYPES and kind != "text":
        extra["type"] = kind
        kind = "text"
    if kind not in PART_KINDS:
        raise ConversationError(
            f"{_short(kind)} is not a known kind of part; the kinds are {', '.join(PART_KINDS)}",
            index,
            "type",
            number,
        )
    if not isinstance(item.get("text"), str):
        what = (
            "is missing" if "text" not in item else f"must be a text, not {_kind_of(item['text'])}"
        )
        raise ConversationError(what, index, "text", number)
    return Part(kind, _clean(item["text"], byte_text), extra)


def _calls(item: Mapping[str, Any], index: int, byte_text: bool) -> list[Part]:
    """Read OpenAI's `tool_calls`, and `function_call` that came before it."""
    calls = item.get("tool_calls")
    key = "tool_calls"
    if calls is None and item.get("function_call") is not None:
        key, calls = "function_call", [{"function": item["function_call"]}]
    if calls is None:
        return []
    if not isinstance(calls, list):
        raise ConversationError(f"must be a list, not {_kind_of(calls)}", index, key)
    parts = []
    for call in calls:
        function = call.get("function", call) if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise ConversationError("every call needs a 'function' with a 'name'", index, key)
        text, extra = tool_calls.to_text(call, function, key)
        parts.append(Part("tool_call", _clean(text, byte_text), extra))
    return parts


def _content_to_json(content: str | tuple[Part, ...]) -> tuple[Any, Json]:
    if isinstance(content, str):
        return content, {}
    calls = [part for part in content if part.kind == "tool_call" and "from" not in part.extra]
    rest = [part for part in content if part.kind != "tool_call" or "from" in part.extra]
    written: Any = [{"type": part.kind, "text": part.text, **part.extra} for part in rest]
    if calls and len(rest) == 1 and rest[0].kind == "text" and not rest[0].extra:
        written = rest[0].text
    elif calls and not rest:
        written = None
    return written, tool_calls.to_json([(part.text, part.extra) for part in calls])


def _to_sharegpt(message: Message) -> Json:
    parts = message.parts
    if len(parts) == 1 and parts[0].extra.get("from") == "function_call":
        return {"from": "function_call", "value": parts[0].text, **message.extra}
    content, calls = _content_to_json(message.content)
    name = _SHAREGPT_NAMES.get(message.role, message.role)
    return {"from": name, "value": content, **calls, **message.extra}


def _says_from(items: object) -> bool:
    """Tell ShareGPT's messages from others."""
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
        lambda value, byte_text: (_messages(value, byte_text), {}),
        lambda messages, extra: [message.to_json() for message in messages],
    ),
    "sharegpt": _under_key(
        "conversations",
        '{"conversations": [{"from", "value"}]}',
        "ShareGPT, LLaMA-Factory",
        _to_sharegpt,
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
"""The shapes by name; a row is in the first that fits. To add one, add an entry."""


def shape_of(value: object) -> str | None:
    """Find the shape that a row is in, or is meant to be in; None if nothing tells."""
    return next((name for name, shape in SHAPES.items() if shape.fits(value)), None)


def describe_shapes() -> str:
    """List the shapes for people, a line for each."""
    width = max(len(shape.looks) for shape in SHAPES.values())
    return "\n".join(f"  {shape.looks:<{width}}  {shape.found_in}" for shape in SHAPES.values())


def _clean(text: str, byte_text: bool) -> str:
    return bytetext.as_byte_text(text) if byte_text else bytetext.replace_surrogates(text)[0]


def _kind_of(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text"}
    if value is None:
        return "null"
    return names.get(type(value), "an object" if isinstance(value, Mapping) else "a list")


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
