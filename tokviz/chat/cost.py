"""The parts of rendered conversations, such as the description of a tool, and their tokens."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import ConversationError, Json
from tokviz.chat.statistics import END_TOKENS, TEMPLATE_TEXT, Render, kind_of
from tokviz.text import bytetext

Path = tuple[str, ...]
"""A part, after the parts that contain it, such as ("tools", "add", "parameters")."""

TOOLS, NOT_ATTRIBUTED = "tools", "not attributed"
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},:]|[^][{},:"\s]+')


def part_tokens(conversation: Conversation, render: Render) -> Counter[Path]:
    """Count the tokens of each part of a conversation that contains no other parts.

    Tools are found as JSON in the template text. All other text that the template writes only
    because there are tools is `NOT_ATTRIBUTED`.

    Raises:
        ConversationError: If the template cannot write the conversation.
    """
    rendering = render(conversation)
    tokens = Counter[Path]()
    spans = [*_tool_spans(rendering.text, conversation.objects(TOOLS) or [])]
    at = 0
    for run in rendering.runs:
        role = conversation.messages[run.message].role if run.message >= 0 else ""
        path = _path(role, kind_of(run, rendering))
        inside = [span for span in spans if span[0] < at + run.n_bytes and span[1] > at]
        if inside and rendering.from_structure[run.first]:
            sizes = (len(rendering.token_bytes(token)) for token in range(run.first, run.last))
            for start in [*accumulate(sizes, initial=at)][:-1]:
                tokens[next((it[2] for it in inside if it[0] <= start < it[1]), path)] += 1
        else:
            tokens[path] += run.last - run.first
        at += run.n_bytes
    n_other = -sum(n for path, n in tokens.items() if path[0] == TOOLS)
    try:
        without = render(replace(conversation, extra={**conversation.extra, TOOLS: None}))
        n_other += len(rendering) - len(without)
    except ConversationError:  # the rest of the text for tools counts as template text
        n_other = 0
    n_other = max(0, min(n_other, tokens[TEMPLATE_TEXT,]))
    tokens[TOOLS, NOT_ATTRIBUTED] += n_other
    tokens[TEMPLATE_TEXT,] -= n_other
    return +tokens


def totals(tokens: Counter[Path]) -> dict[Path, int]:
    """Return the tokens of all parts, each before the parts that it contains; () is everything."""
    sums = Counter[Path]({(): 0, ("system",): 0, (TOOLS,): 0, ("messages",): 0})
    for path, n_tokens in tokens.items():
        for length in range(len(path) + 1):
            sums[path[:length]] += n_tokens
    place = {path: number for number, path in enumerate(sums)}
    ordered = sorted(+sums, key=lambda path: [place[path[:n]] for n in range(len(path) + 1)])
    return {path: sums[path] for path in ordered}


def function_of(tool: Json) -> Json:
    """Return the name, description and parameters of a tool in OpenAI's format, or of another."""
    function = tool.get("function")
    return function if isinstance(function, dict) else tool


def _path(role: str, kind: str) -> Path:
    if kind in (TEMPLATE_TEXT, END_TOKENS):
        return (TEMPLATE_TEXT,)
    if role in ("system", "developer"):
        return ("system",)
    return ("messages", role, kind) if role == "assistant" else ("messages", role)


def _tool_spans(text: str, tools: list[Json]) -> Iterator[tuple[int, int, Path]]:
    """Find the tools in their order; yield byte ranges and paths, the inner ranges first."""
    at = 0
    for tool in tools:
        function = function_of(tool)
        path = (TOOLS, str(function.get("name")))
        whole = _find(text, tool, at) or _find(text, function, at)
        start, end = whole or (at, len(text))
        for key in ("parameters", "description"):
            if place := _find(text[:end], function.get(key), start):
                yield (*_in_bytes(text, place), (*path, key))
        if whole:
            yield (*_in_bytes(text, whole), (*path, "other"))
            at = end


def _in_bytes(text: str, place: tuple[int, int]) -> tuple[int, int]:
    return bytetext.n_bytes(text[: place[0]]), bytetext.n_bytes(text[: place[1]])


def _find(text: str, value: Any, at: int) -> tuple[int, int] | None:
    """Find a text, as it is or as in JSON, or another value in JSON with any white space."""
    if not value:
        return None
    written = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        pattern = "|".join(map(re.escape, (value, written[1:-1])))
    else:
        pattern = r"\s*".join(map(re.escape, _JSON_TOKEN.findall(written)))
    found = re.compile(pattern).search(text, at)
    return found and found.span()
