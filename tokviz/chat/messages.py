"""Messages of a conversation, read from the JSON of chat APIs and datasets, and written back.

Text is byte text (see `tokviz.text.bytetext`). Unknown keys are kept, so that writing restores
them. All numbers in error messages count from 1.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokviz.errors import TokvizError
from tokviz.storage import json_file
from tokviz.text import bytetext

ROLES = ("system", "developer", "user", "assistant", "tool", "function", "ipython")
"""Every role that a message can have; the last three are for outputs of tools."""

TOOL_ROLES = frozenset({"tool", "function", "ipython"})

PART_KINDS = ("text", "python", "python_output", "tool_call")
"""The kinds of parts of a message.
The first three are nanochat's. The text of a `tool_call` is JSON: its `name` and `arguments`.
"""

MEDIA_KINDS = (
    *("image", "image_url", "input_image", "audio", "audio_url", "input_audio"),
    *("video", "video_url", "file"),
)
"""Further kinds of parts, for content other than text. Only Jinja templates write them, as
placeholder tokens; their keys are kept, and they have no text.

Sources: the chat templates of transformers, and OpenAI's two APIs.
"""

REASONING_KEYS = ("thinking", "reasoning_content", "reasoning")
"""The keys of an assistant message for its reasoning.

Sources: gpt-oss's template, DeepSeek's and Qwen's APIs, and OpenRouter's.
"""

MEDIA_KEYS = ("image", "images", "video", "videos", "audio", "audios")
"""The keys of a message or conversation for content other than text, as in LLaVA and Ollama."""

ADDRESS_KEYS = ("name", "channel", "recipient")
"""The keys for a message's sender, channel and recipient; the last two are Harmony's."""

MESSAGE_EXTRA_FIELDS = (
    *(*REASONING_KEYS, "reasoning_details", "tool_plan", "refusal"),
    *(*MEDIA_KEYS, *ADDRESS_KEYS),
)
"""The keys of a message, besides its content, that are for the model."""

UNTRAINED_KEYS = ("weight", "train", "training", "train_on_turn", "loss")
"""The keys that exclude an assistant message from the loss if their value is 0 or false.

Sources: OpenAI's fine-tuning API, axolotl (three spellings) and ms-swift.
"""

IN_PROMPT = "(in the prompt)"
"""A mark in the `extra` of messages that a row has under `prompt`; it is never written."""

_IN_A_LIST = "(in a list)"
"""A mark in the `extra` of messages with tool calls and one text in a list; it is never written."""

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
        reason: The problem and its remedy, without the place.
        message_index: The message, counted from 0; None for the whole conversation.
        part_index: The part of that message, counted from 0.
        key: The key with the problem.
    """

    def __init__(
        self,
        reason: str,
        message_index: int | None = None,
        key: str | None = None,
        part_index: int | None = None,
    ) -> None:
        """Create the error from a reason in words and a place."""
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
        """Return the same error with a place in a file in front."""
        error = ConversationError(self.reason, self.message_index, self.key, self.part_index)
        error.args = (f"{place}: {self}",)
        return error


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message.

    Attributes:
        kind: One of `PART_KINDS` or `MEDIA_KINDS`.
        text: Byte text.
        extra: Further keys of the part, for writing.
    """

    kind: str
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def call(self, message_index: int, part_index: int) -> Json:
        """Parse the text of a `tool_call`; the indexes are for error messages.

        Raises:
            ConversationError: If it is not a JSON object with a name.
        """
        call = parse_tool_call(self.text)
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
        """The content as parts; a plain text is one part, even if it is empty."""
        return (Part("text", self.content),) if isinstance(self.content, str) else self.content

    @property
    def text(self) -> str:
        """The texts of all parts, joined."""
        return (
            self.content if isinstance(self.content, str) else "".join(p.text for p in self.content)
        )

    @property
    def reasoning(self) -> tuple[str, ...]:
        """The texts under `REASONING_KEYS` of an assistant message, each once."""
        if self.role != "assistant" or not self.extra:
            return ()
        texts = [self.extra.get(key) for key in REASONING_KEYS]
        cleaned = (clean_text(text, False) for text in texts if isinstance(text, str) and text)
        return tuple(dict.fromkeys(cleaned))

    @property
    def untrained_by(self) -> str | None:
        """The key of `UNTRAINED_KEYS` that excludes an assistant message from the loss, or None."""
        if self.role != "assistant" or not self.extra:
            return None
        values = ((key, self.extra.get(key)) for key in UNTRAINED_KEYS)
        flags = ((key, value) for key, value in values if isinstance(value, int | float))
        return next((key for key, value in flags if not value), None)

    def extra_fields(self) -> Iterator[tuple[str, Any]]:
        """Iterate over the fields of `MESSAGE_EXTRA_FIELDS` without empty and default values."""
        for key in MESSAGE_EXTRA_FIELDS if self.extra else ():
            value = self.extra.get(key)
            if value and not (key in ADDRESS_KEYS and value in _USUAL_ADDRESSES):
                yield key, value

    def to_json(self) -> Json:
        """Return the message as JSON with `role`, `content`, and tool calls in OpenAI's format."""
        content, calls = _content_to_json(self)
        return {"role": self.role, "content": content, **_beside(self.extra, calls)}


def n_in_prompt(messages: Sequence[Message]) -> int:
    """Return the number of messages up to the last one that a row has under `prompt`."""
    marked = (index for index, it in enumerate(messages, 1) if IN_PROMPT in it.extra)
    return max(marked, default=0)


def read_messages(items: Iterable[object], byte_text: bool) -> tuple[Message, ...]:
    """Read a list of messages.

    Args:
        items: Parsed JSON.
        byte_text: See `clean_text`.

    Raises:
        ConversationError: If an item is not a message.
    """
    return tuple(_message(item, index, byte_text) for index, item in enumerate(items))


def is_message(item: object) -> bool:
    """Return whether a value is meant to be a message, valid or not."""
    return isinstance(item, Mapping) and ("role" in item or "from" in item)


def _message(item: object, index: int, byte_text: bool) -> Message:
    if not isinstance(item, Mapping):
        raise ConversationError(
            f"must be an object with 'role' and 'content', not {kind_of(item)}", index
        )
    role_key = "role" if "role" in item else "from" if "from" in item else None
    if role_key is None:
        raise ConversationError("is missing; it names the speaker, such as 'user'", index, "role")
    role = _role(item[role_key], index, role_key)
    extra = {key: value for key, value in item.items() if key not in _ALWAYS_WRITTEN}
    if "tool_calls" in item and not item["tool_calls"]:
        # A template may test whether the key is there.
        extra["tool_calls"] = item["tool_calls"]
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
        if isinstance(content, str):
            content = (Part("text", content),)
        elif len(content) == 1:
            extra[_IN_A_LIST] = True
        content = (*content, *calls)
    return Message(role, content, extra)


def _role(name: object, index: int, key: str) -> str:
    if not isinstance(name, str):
        raise ConversationError(f"must be a text such as 'user', not {kind_of(name)}", index, key)
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
            f"must be a text or a list of parts, not {kind_of(raw)}", index, key
        )
    return clean_text(raw, byte_text)


def _part(item: object, index: int, number: int, byte_text: bool) -> Part:
    if isinstance(item, str):
        return Part("text", clean_text(item, byte_text))
    if not isinstance(item, Mapping):
        raise ConversationError(
            f"must be an object with 'type' and 'text', not {kind_of(item)}", index, None, number
        )
    kind = item.get("type")
    if kind is None:
        raise ConversationError("is missing; write 'text', for example", index, "type", number)
    extra = {key: value for key, value in item.items() if key not in ("type", "text")}
    if kind in _TEXT_TYPES and kind != "text":
        extra["type"] = kind
        kind = "text"
    if kind in MEDIA_KINDS:
        return Part(kind, "", {key: value for key, value in item.items() if key != "type"})
    if kind not in PART_KINDS:
        raise ConversationError(
            f"{_short(kind)} is not a known kind of part; the kinds are "
            f"{', '.join((*PART_KINDS, *MEDIA_KINDS))}",
            index,
            "type",
            number,
        )
    if not isinstance(item.get("text"), str):
        what = (
            "is missing" if "text" not in item else f"must be a text, not {kind_of(item['text'])}"
        )
        raise ConversationError(what, index, "text", number)
    return Part(kind, clean_text(item["text"], byte_text), extra)


def _calls(item: Mapping[str, Any], index: int, byte_text: bool) -> list[Part]:
    """Read OpenAI's `tool_calls`, or its predecessor `function_call`."""
    calls = item.get("tool_calls")
    key = "tool_calls"
    if calls is None and item.get("function_call") is not None:
        key, calls = "function_call", [{"function": item["function_call"]}]
    if calls is None:
        return []
    if not isinstance(calls, list):
        raise ConversationError(f"must be a list, not {kind_of(calls)}", index, key)
    parts = []
    for call in calls:
        function = call.get("function", call) if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise ConversationError("every call needs a 'function' with a 'name'", index, key)
        text, extra = _call_to_text(call, function, key)
        parts.append(Part("tool_call", clean_text(text, byte_text), extra))
    return parts


def _content_to_json(message: Message) -> tuple[Any, Json]:
    content = message.content
    if isinstance(content, str):
        return content, {}
    calls = [part for part in content if part.kind == "tool_call" and "from" not in part.extra]
    rest = [part for part in content if part.kind != "tool_call" or "from" in part.extra]
    written: Any = [_part_to_json(part) for part in rest]
    is_text = len(rest) == 1 and rest[0].kind == "text" and not rest[0].extra
    if calls and is_text and _IN_A_LIST not in message.extra:
        written = rest[0].text
    elif calls and not rest:
        written = None
    return written, _calls_to_json([(part.text, part.extra) for part in calls])


def _beside(extra: Mapping[str, Any], calls: Json) -> Json:
    """Return the keys of a message besides the role and the content."""
    return calls | {
        key: value
        for key, value in extra.items()
        if key not in calls and key not in (IN_PROMPT, _IN_A_LIST)
    }


def _part_to_json(part: Part) -> Json:
    text = {} if part.kind in MEDIA_KINDS else {"text": part.text}
    return {"type": part.kind, **text, **part.extra}


def write_sharegpt(message: Message) -> Json:
    """Return a message as JSON with the keys `from` and `value`."""
    parts = message.parts
    if len(parts) == 1 and parts[0].extra.get("from") == "function_call":
        return {"from": "function_call", "value": parts[0].text, **message.extra}
    content, calls = _content_to_json(message)
    name = _SHAREGPT_NAMES.get(message.role, message.role)
    return {"from": name, "value": content, **_beside(message.extra, calls)}


def clean_text(text: str, byte_text: bool) -> str:
    """Return byte text; lone surrogates become U+FFFD unless `byte_text` (raw bytes) is true."""
    return bytetext.as_byte_text(text) if byte_text else bytetext.replace_surrogates(text)[0]


def kind_of(value: object) -> str:
    """Return the JSON type of a value in words, for error messages."""
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text"}
    if value is None:
        return "null"
    return names.get(type(value), "an object" if isinstance(value, Mapping) else "a list")


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."


_LEGACY = "function_call"
_HERE = "(here)"
"""The value of `function` in the `extra` of a call that has further keys after it."""


def _call_to_text(
    call: Mapping[str, Any], function: Mapping[str, Any], key: str
) -> tuple[str, Json]:
    """Return the text of a call, and the call's other keys.

    Args:
        call: An item of `tool_calls`.
        function: Its `function`, or the item itself if it has no such key.
        key: The key of the message that holds the call.
    """
    text = json.dumps(dict(function), ensure_ascii=False)
    if key == _LEGACY:
        return text, {_LEGACY: True}
    if function is call:
        return text, {"function": None}
    in_order = list(call)[-1] == "function"
    return text, {
        name: _HERE if name == "function" else value
        for name, value in call.items()
        if name != "function" or not in_order
    }


def _calls_to_json(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> Json:
    """Return calls as keys of a message: `tool_calls`, or `function_call`; no keys without calls.

    A text that is not JSON, because it is being typed, becomes the `arguments` of a nameless call.
    """
    if not calls:
        return {}
    functions = [parse_tool_call(text) or {"name": "", "arguments": text} for text, _ in calls]
    if len(calls) == 1 and calls[0][1].get(_LEGACY):
        return {_LEGACY: functions[0]}
    written = []
    for function, (_, extra) in zip(functions, calls, strict=True):
        if extra.get("function") == _HERE:
            written.append({**extra, "function": function})
        elif "function" in extra:
            written.append(function)
        else:
            beside = {name: value for name, value in extra.items() if name != _LEGACY}
            written.append({**beside, "function": function})
    return {"tool_calls": written}


def parse_tool_call(text: str) -> Json | None:
    """Parse the text of a call; return None if it is not a JSON object with a name."""
    try:
        value = json_file.loads(text)
    except (ValueError, RecursionError):
        return None
    named = isinstance(value, dict) and isinstance(value.get("name"), str)
    return value if named else None
