"""The JSON of a dataset's row after an edit: its own shape, keys and formatting are kept.

>>> from tokviz.chat.conversation import Conversation
>>> row = b'{"id": 7, "prompt": "Hi", "completion": " you"}'
>>> edited_row(row, Conversation.from_json({"prompt": "Hi", "completion": " all", "id": 7}))
b'{"id": 7, "prompt": "Hi", "completion": " all"}'
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset_shapes import shape_of
from tokviz.chat.json_text import loads
from tokviz.chat.messages import ConversationError
from tokviz.text import bytetext
from tokviz.text.common_prefix import n_common

_BLANKS = re.compile(r"[ \t\n\r\ufeff]*")


def keeps_shape(conversation: Conversation) -> bool:
    """Return whether the conversation still fits the shape that it was read from."""
    return shape_of(conversation.to_json(), conversation.shape) == conversation.shape


def edited_row(old: bytes, conversation: Conversation, indent: str = "") -> bytes:
    """Return the JSON of a row after an edit, formatted like the old one.

    White space around the old row is kept, and so is a byte order mark.

    Args:
        old: The old row.
        conversation: The conversation after the edit.
        indent: The white space before the old row, which starts every line of indented JSON.
    """
    text = bytetext.from_bytes(old)
    start = _after_blanks(text, 0)
    stop = max(start, len(text.rstrip(" \t\n\r")))
    try:
        value, byte_text = loads(old)
        new = edited_value(value, conversation, byte_text)
    except ConversationError:  # the old row was not a conversation
        new, byte_text = conversation.to_json(), True
    written = _dumps_like(text[start:stop], new, indent, byte_text)
    return bytetext.to_bytes(text[:start]) + written + bytetext.to_bytes(text[stop:])


def edited_value(old: Any, conversation: Conversation, byte_text: bool = False) -> Any:
    """Return the value of a row after an edit.

    Everything without a change is taken from the old value: keys that are not part of a
    conversation, the order of the keys, and null values.

    Raises:
        ConversationError: If the old value is not a conversation.
    """
    shape = shape_of(old, conversation.shape)
    before = Conversation.from_json(old, byte_text=byte_text, shape=shape)
    return _merged(old, before.to_json(), conversation.to_json())


def _merged(raw: Any, before: Any, after: Any) -> Any:
    """Apply the change from `before` to `after` to the raw value that `before` was read from."""
    if repr(before) == repr(after):  # 1 == True
        return raw
    if isinstance(raw, Mapping) and isinstance(before, Mapping) and isinstance(after, Mapping):
        # Reading drops null values and empty lists, such as of `tool_calls`.
        kept = [key for key in raw if key in after or (key not in before and not raw[key])]
        return {
            key: _merged(raw.get(key), before.get(key), after[key]) if key in after else raw[key]
            for key in dict.fromkeys([*kept, *after])
        }
    values = (raw, before, after)
    if all(isinstance(value, list) for value in values) and len(raw) == len(before):
        old, new = ([*map(repr, value)] for value in (before, after))
        first = n_common(old, new)
        last = n_common(old[first:][::-1], new[first:][::-1])
        inner = [value[first : len(value) - last] for value in values]
        changed = inner[2]
        if len(inner[0]) == len(changed):
            changed = [_merged(*items) for items in zip(*inner, strict=True)]
        return [*raw[:first], *changed, *raw[len(raw) - last :]]
    return after


def _dumps_like(old: str, value: Any, indent: str, byte_text: bool) -> bytes:
    """Write JSON with the indentation, separators and escapes of an old text."""
    step = re.match(r"[\[{]\r?\n" + re.escape(indent) + r"([ \t]+)", old)
    is_compact = re.search(r'":(\S)', old) is not None and re.search(r'": ', old) is None
    separators = (",", ":") if is_compact else (", " if step is None else ",", ": ")
    how: dict[str, Any] = {"indent": step and step[1], "separators": separators}
    if "\\u" not in old or not old.isascii():
        text = json.dumps(value, ensure_ascii=False, **how).replace("\n", f"\n{indent}")
        try:
            return text.encode("utf-8", "surrogateescape" if byte_text else "strict")
        except UnicodeEncodeError:
            pass  # a lone surrogate, which JSON can only write as an escape
    return json.dumps(value, **how).replace("\n", f"\n{indent}").encode()


def values_in(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each value in the JSON array or object at an offset.

    >>> [*values_in('{"a": [1], "b": 2}', 0)]
    [(6, 9), (16, 17)]
    """
    decode = json.JSONDecoder().raw_decode
    is_object, at = text[at] == "{", _after_blanks(text, at + 1)
    while text[at] not in "]}":
        if is_object:
            at = _after_blanks(text, _after_blanks(text, decode(text, at)[1]) + 1)
        end = decode(text, at)[1]
        yield at, end
        at = _after_blanks(text, end)
        at = _after_blanks(text, at + 1) if text[at] == "," else at


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at
