"""Search by a regex that a user types, in a child process with a time limit.

Compiling a few characters such as `(?:(?:a{100}){100}){50}` takes a second in which no other code
of the process runs, and so may a match. A new search cancels the current one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tokviz.errors import PatternError
from tokviz.process.child import JobTimeoutError
from tokviz.process.protocol import Body, Message, pack, unpack_numbers
from tokviz.process.runner import raise_if_stopped, stopped_by
from tokviz.text.snapshots import TextPart
from tokviz.tokenizer.pretokenize.regex_process import client_for, text_requests
from tokviz.tokenizer.pretokenize.step_limit import STEP_SECONDS

_ALL_ROWS_SECONDS = 10.0


def find(
    regex_text: str,
    text: str,
    flags: int,
    most: int,
    *,
    put: str | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[array[int], array[int], Sequence[str]]:
    r"""Find matches in a text, except those of zero width.

    Args:
        regex_text: The regex.
        text: Byte text; the child keeps it for the next search.
        flags: Flags of the `regex` package.
        most: Maximum number of matches.
        put: Replacement of the matches; `\1` stands for the text of the first group.
        stop: Called regularly; the search ends once it returns True.

    Returns:
        The starts and ends of the matches in characters, typecode "I"; and the replacement of each,
        if requested.

    Raises:
        PatternError: If the regex is invalid, or takes too long.
        JobDroppedError: If the search was cancelled.
    """
    body = {"do": "find", "regex": regex_text, "flags": flags, "most": most, "put": put}
    (answer,) = _ask("find", regex_text, text, body, stop)
    return unpack_numbers(answer["starts"]), unpack_numbers(answer["ends"]), answer["texts"]


def rows(
    regex_text: str,
    text: str,
    ends: bytes,
    flags: int,
    *,
    stop: Callable[[], bool] = lambda: False,
) -> list[int]:
    """Return the indexes of the texts that contain a match; see `find`.

    Args:
        regex_text: The regex.
        text: The texts, concatenated.
        ends: The end of each text, in characters; 32 bits each.
        flags: Flags of the `regex` package.
        stop: Called regularly; the search ends once it returns True.
    """
    body = {
        "do": "rows",
        "regex": regex_text,
        "flags": flags,
        "most_seconds": _ALL_ROWS_SECONDS,
        "ends": pack(ends),
    }
    answers = _ask("rows", regex_text, text, body, stop)
    return [row for answer in answers for row in unpack_numbers(answer["rows"])]


def _ask(
    purpose: str, regex_text: str, text: str, body: Body, stop: Callable[[], bool]
) -> list[Message]:
    parts = [TextPart(text)]

    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        yield from text_requests(parts, memory)
        yield {**body, "seconds": STEP_SECONDS}

    with stopped_by(stop):
        raise_if_stopped()
        try:
            return client_for(purpose).call(requests, in_turn=False)
        except JobTimeoutError:
            raise PatternError(regex_text, "takes too long; try a simpler regex") from None
