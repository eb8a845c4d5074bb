"""The loops of a Jinja template over the messages. Imported in the child process only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jinja2

_FOR = re.compile(r"\s*for\s+([A-Za-z_]\w*)\s+in\s")


def message_loops(environment: jinja2.Environment, source: str) -> list[dict[str, Any]]:
    """List the loops `{% for m in … %}` whose body reads `m.role`.

    Returns:
        For each loop, inner loops first: `name`, that of the message; `start` and `end`, the
        offsets of its body in characters; `opening`, the end of the tag before the body, and
        `closing`, the start of the tag after it, with their signs for white space.
    """
    opened: list[tuple[str, int, str]] = []
    found = []
    for begin, tag, end, closing in _tags(environment, source):
        if tag.split(maxsplit=1)[0] == "for":
            target = _FOR.match(tag)
            opened.append((target[1] if target else "", end, closing))
        elif tag.strip() == "endfor":
            name, start, opening = opened.pop()
            if name and re.search(rf"\b{name}(\.role\b|\[['\"]role)", source[start:begin]):
                sign = source[begin : begin + 3].rstrip()
                found.append(
                    {
                        "name": name,
                        "start": start,
                        "end": begin,
                        "opening": opening,
                        "closing": sign if sign in ("{%-", "{%+") else "{%",
                    }
                )
    return found


def _tags(environment: jinja2.Environment, source: str) -> Iterator[tuple[int, str, int, str]]:
    """Yield each tag: the offset of its start, its text, the offset of its end, and its `%}`."""
    position = begin = start = 0
    for _, kind, value in environment.lex(source):
        at = source.index(value, position)
        position = at + len(value)
        if kind == "block_begin":
            begin, start = at, position
        elif kind == "block_end":
            closing = value.rstrip()
            yield begin, source[start:at], at + len(closing), closing
