"""Searching by a regex that somebody types: in a child process, with a limit to all it does.

Compiling a few characters such as `(?:(?:a{100}){100}){50}` takes a second in which nothing else of
the process moves, and so may a match. A new search takes the place of one that is under way.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tokviz.child.process import JobTimeoutError
from tokviz.child.protocol import Body, Message, pack, unpack_numbers
from tokviz.child.runner import raise_if_stopped, stopped_by
from tokviz.errors import PatternError
from tokviz.pretokenize.guard import client_for, text_requests

SECONDS = 0.7
"""How long a search of a text, or of a token, may take, in processor time."""

_ALL_ROWS_SECONDS = 10.0


class Found(NamedTuple):
    """Where a regex matches a text: starts and ends in characters; typecode "I"."""

    starts: array[int]
    ends: array[int]
    slow: bool
    """Whether there may be more, since it took too long."""
    texts: Sequence[str] = ()
    """What is to take the place of each, if that was asked for."""


def find(
    regex_text: str,
    text: str,
    flags: int,
    most: int,
    *,
    put: str | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Found:
    r"""Find matches in a text; those without any character are left out.

    Args:
        regex_text: The regex.
        text: Byte text; the child keeps it for the next search.
        flags: Flags of the `regex` package.
        most: How many matches are enough.
        put: What is to take the place of matches; `\1` is what the first group matched.
        stop: Asked now and then; True ends the search.

    Raises:
        PatternError: If it is no valid regex, or needs too much memory.
        JobDroppedError: If the search was ended, or another took its place.
    """
    body = {"do": "find", "regex": regex_text, "flags": flags, "seconds": SECONDS, "most": most}
    try:
        (answer,) = _ask("find", text, {**body, "put": put}, stop)
    except JobTimeoutError:
        return Found(array("I"), array("I"), True)
    starts, ends = unpack_numbers(answer["starts"]), unpack_numbers(answer["ends"])
    return Found(starts, ends, answer["slow"], answer["texts"])


def rows(
    regex_text: str,
    text: str,
    ends: bytes,
    flags: int,
    *,
    stop: Callable[[], bool] = lambda: False,
) -> list[int]:
    """Give the numbers of the texts in which a regex matches somewhere; see `find`.

    Args:
        regex_text: The regex.
        text: The texts, one behind another.
        ends: Where each ends, in characters; 32 bits each.
        flags: Flags of the `regex` package.
        stop: Asked now and then; True ends the search.
    """
    body = {
        "do": "rows",
        "regex": regex_text,
        "flags": flags,
        "seconds": SECONDS,
        "most_seconds": _ALL_ROWS_SECONDS,
        "ends": pack(ends),
    }
    try:
        answers = _ask("rows", text, body, stop)
    except JobTimeoutError:
        raise PatternError(regex_text, "takes too long; try a simpler one") from None
    return [row for answer in answers for row in unpack_numbers(answer["rows"])]


def _ask(purpose: str, text: str, body: Body, stop: Callable[[], bool]) -> list[Message]:
    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        if memory.get("text") != text:
            yield from text_requests(text, memory)
            memory["text"] = text
        yield body

    with stopped_by(stop):
        raise_if_stopped()
        return client_for(purpose).call(requests, in_turn=False)
