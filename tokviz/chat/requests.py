"""Conversations of rows and of requests to chat APIs, Anthropic's included.

Source: Anthropic's Messages API (`system`, `tools` with `input_schema`, content blocks).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset
from tokviz.chat.messages import Json


def request_row(dataset: Dataset, row: int) -> Conversation:
    """Read a row, counted from 0, that may be a request in Anthropic's format.

    Raises:
        ConversationError: If it is not a conversation; it names the line, the message, the key.
    """
    with dataset.located(row):
        value, byte_text = dataset.value(row)
        return Conversation.from_json(_as_openai(value), byte_text=byte_text)


def _as_openai(value: Any) -> Any:
    """Return a request in OpenAI's format; other values are not changed."""
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return value
    request = {**value, "messages": [it for each in value["messages"] for it in _messages(each)]}
    if isinstance(value.get("system"), list):
        system = {"role": "system", "content": _text(request.pop("system"))}
        request["messages"].insert(0, system)
    if isinstance(value.get("tools"), list):
        request["tools"] = [_tool(tool) for tool in value["tools"]]
    return request


def _tool(tool: Any) -> Any:
    if not isinstance(tool, dict) or "input_schema" not in tool:
        return tool
    function = {key: tool[key] for key in ("name", "description") if key in tool}
    return {"type": "function", "function": {**function, "parameters": tool["input_schema"]}}


def _messages(message: Any) -> Iterator[Any]:
    """Yield a message; before it, one for each result of a tool that it contains."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        yield message
        return
    rest: list[Json] = []
    calls: list[Json] = []
    changed: Json = {}
    for block in content:
        kind = block.get("type")
        if kind == "tool_result":
            answer = _text(block.get("content", ""))
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": answer}
        elif kind == "tool_use":
            function = {"name": block.get("name"), "arguments": block.get("input")}
            calls.append({"id": block.get("id"), "type": "function", "function": function})
            changed["tool_calls"] = calls
        elif kind in ("thinking", "redacted_thinking"):
            thought = changed.get("reasoning_content", "") + block.get("thinking", "")
            changed["reasoning_content"] = thought
        else:
            rest.append({key: item for key, item in block.items() if key != "cache_control"})
    if rest or changed or not content:
        yield {**message, "content": _text(rest) if changed else rest, **changed}


def _text(content: Any) -> Any:
    """Join blocks of text, if there are no other blocks."""
    if not isinstance(content, list) or any(block.get("type") != "text" for block in content):
        return content
    return "\n".join(str(block.get("text")) for block in content)
