"""Tool calls in OpenAI's shape, as the text of a part and back.

A call is shown and edited as JSON text, `{"name": "add", "arguments": {"a": 1}}`. What else the
call holds (`id`, `type`) is kept beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tokviz.storage import json_file

Json = dict[str, Any]

_LEGACY = "function_call"


def to_text(call: Mapping[str, Any], function: Mapping[str, Any], key: str) -> tuple[str, Json]:
    """Give the text of a call and what is beside it.

    Args:
        call: An item of `tool_calls`.
        function: Its `function`, or the item itself where it is written without.
        key: The key of the message that holds the call.
    """
    text = json.dumps(dict(function), ensure_ascii=False)
    if key == _LEGACY:
        return text, {_LEGACY: True}
    if function is call:
        return text, {"function": None}
    return text, {name: value for name, value in call.items() if name != "function"}


def to_json(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> Json:
    """Write calls as the keys of a message: `tool_calls`, or `function_call`; nothing for none.

    A text that is no JSON (somebody is typing it) is kept as the `arguments` of a nameless call.
    """
    if not calls:
        return {}
    functions = [parse(text) or {"name": "", "arguments": text} for text, _ in calls]
    if len(calls) == 1 and calls[0][1].get(_LEGACY):
        return {_LEGACY: functions[0]}
    written = []
    for function, (_, extra) in zip(functions, calls, strict=True):
        if "function" in extra:
            written.append(function)
        else:
            beside = {name: value for name, value in extra.items() if name != _LEGACY}
            written.append({**beside, "function": function})
    return {"tool_calls": written}


def parse(text: str) -> Json | None:
    """Read the text of a call; None if it is no JSON object with a name."""
    try:
        value = json_file.loads(text)
    except (ValueError, RecursionError):
        return None
    named = isinstance(value, dict) and isinstance(value.get("name"), str)
    return value if named else None
