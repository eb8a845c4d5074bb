"""Strict parsing of JSON from untrusted files, with limits on its size and number of values."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from os import PathLike
from typing import Any, NoReturn

from tokviz.errors import InputFileError
from tokviz.storage.files import decode_utf8, read_file

MAX_JSON_BYTES = 96_000_000
"""Larger than any tokenizer.json in use (the largest have about 35 MB)."""

MAX_JSON_VALUES = 8_000_000
"""Values and containers of one file; each takes some 60 bytes of memory."""


_STEP = 1 << 20
"""Characters or bytes counted per call: other threads run between two calls."""


class JsonFileError(InputFileError):
    """A file that can be read, but is not strict JSON."""


def read_json(
    path: str | PathLike[str], *, limit: int = MAX_JSON_BYTES, values: int = MAX_JSON_VALUES
) -> Any:
    """Read a JSON file of at most `limit` bytes and `values` values.

    Raises:
        JsonFileError: If it is not strict JSON; it names the line and column, or the duplicate
            key.
        InputFileError: If it cannot be read.
    """
    return parse_json(read_file(path, limit=limit), path, values)


class _TooManyValuesError(ValueError):
    """JSON that takes too much memory."""


def loads(text: str | bytes) -> Any:
    """Parse untrusted JSON text with `json.loads`.

    Raises:
        ValueError: If it is not JSON, or holds more values than `MAX_JSON_VALUES`.
        RecursionError: If it nests too deeply.
    """
    if len(text) > MAX_JSON_VALUES and _most_values(text) > MAX_JSON_VALUES:
        raise _TooManyValuesError
    return json.loads(text)


def _most_values(text: str | bytes) -> int:
    """Return an upper bound: every value but the first follows a comma, colon or bracket."""
    marks: Any = ",:[{" if isinstance(text, str) else b",:[{"
    parts = (text[start : start + _STEP] for start in range(0, len(text), _STEP))
    return sum(part.count(mark) for part in parts for mark in marks)


def parse_json(data: bytes, path: str | PathLike[str], values: int = MAX_JSON_VALUES) -> Any:
    """Parse a file's content; the path is for error messages only.

    This is stricter than `json.loads`: no NaN or Infinity, no duplicate keys, and a limit to the
    number of values.

    Raises:
        JsonFileError: See `read_json`.
    """
    if len(data) > MAX_JSON_BYTES or _most_values(data) > values:
        raise JsonFileError(path, f"holds more than {values:,} values")
    try:
        text = decode_utf8(data, path)
    except InputFileError as error:
        raise JsonFileError(path, error.reason) from None
    del data  # as large as the text
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise JsonFileError(
            path, f"{_place(text, error.pos)}: is not JSON: {in_words(error)}"
        ) from None
    except RecursionError:
        reason = "is nested too deeply: no tokenizer or setting has so many levels"
        raise JsonFileError(path, reason) from None
    except ValueError as error:
        position, words = _fault(text)
        where = "" if position is None else f"{_place(text, position)}: "
        raise JsonFileError(path, f"{where}{words or f'is not JSON: {error}'}") from None


_WORDS = {
    "Expecting property name": "a key in double quotes is missing here",
    "Illegal trailing comma": "there is a comma before the end",
    "Expecting value": "a value is missing here",
    "Expecting ',' delimiter": "a comma is missing here, or a quote before",
    "Expecting ':' delimiter": "a colon is missing here",
    "Unterminated string": "the string that starts here has no closing quote",
    "Invalid control character": "a control character: write it as \\u and four digits",
    "Invalid \\escape": "not a valid escape: write a backslash as two",
    "Invalid \\uXXXX escape": "four hexadecimal digits are missing after \\u",
    "Extra data": "the JSON ends before here, and more follows",
}
"""Explanations of the messages of `json`, by their start."""


def in_words(error: ValueError | RecursionError) -> str:
    """Return an explanation of an error of `json`."""
    if isinstance(error, RecursionError):
        return "this JSON nests too deeply"
    if isinstance(error, _TooManyValuesError):
        return f"more than {MAX_JSON_VALUES:,} values in one JSON text"
    if not isinstance(error, json.JSONDecodeError):
        return "a number has too many digits"
    if not error.doc[error.pos :].strip():
        return "it is cut off here, or a bracket is not closed"
    words = (words for start, words in _WORDS.items() if error.msg.startswith(start))
    return next(words, error.msg)


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f"line {line}, column {position - text.rfind(chr(10), 0, position)}"


_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


Step = str | int | None
"""A key of an object or an index in a list; None in an object before its first key."""


def _walk(text: str) -> Iterator[tuple[int, str, list[Step], bool]]:
    """Yield the position, text, path and kind (True for a key) of every key and value."""
    stack: list[Step] = []
    before = ""
    for match in _PARTS.finditer(text):
        part = match.group()
        within = stack[-1] if stack else None
        if part in ("}", "]"):
            stack = stack[:-1]
        elif part not in (",", ":"):
            is_key = before in ("{", ",") and bool(stack) and not isinstance(within, int)
            if is_key:
                stack[-1] = part
            elif isinstance(within, int):
                stack[-1] = within + 1
            yield match.start(), part, stack, is_key
            if part in ("{", "["):
                stack.append(None if part == "{" else -1)
        before = part


def _fault(text: str) -> tuple[int | None, str]:
    """Find an error that `json` accepts: a duplicate key, NaN, or an overlong number."""
    keys: dict[int, set[str]] = {}
    for position, part, stack, is_key in _walk(text):
        if part == "{":
            keys[len(stack) + 1] = set()
        elif is_key and part in keys[len(stack)]:
            return position, f"the key {part[:60]} is there twice: remove one"
        elif is_key:
            keys[len(stack)].add(part)
        elif part.lstrip("-") in ("NaN", "Infinity"):
            return position, f"is not JSON: {part} is not a number in it"
        elif len(part) > _MOST_DIGITS and part[0] != '"':
            return position, f"a number of {len(part):,} digits is too long"
    return None, ""


def located(error: InputFileError) -> InputFileError:
    """Add line and column to an error about a part of a JSON file, such as `model.merges[3]`."""
    place = _JSON_PLACE.match(error.reason)
    try:
        if place is None or os.path.getsize(error.path) > _MOST_LOCATED:
            return error
        text = decode_utf8(read_file(error.path), error.path)
    except (OSError, InputFileError):
        return error
    steps = [*(place["keys"] or "").split("."), ast.literal_eval(place["key"])]
    steps = [step for step in steps if step != ""]
    for position, _, stack, _ in _walk(text):
        if len(stack) == len(steps) and all(map(_is_step, stack, steps)):
            place_in_file = f"{_place(text, position)} ({place['place']})"
            reason = place_in_file + error.reason[place.end("place") :]
            return InputFileError(error.path, reason)
    return error


def _is_step(step: Step, wanted: str | int) -> bool:
    if isinstance(step, str) and isinstance(wanted, str):
        return step[1:-1] == wanted or bool(json.loads(step) == wanted)
    return step == wanted


_MOST_LOCATED = 10_000_000
"""Maximum size of a file in which a location is searched for, which takes a second."""

_JSON_PLACE = re.compile(
    r"(?P<place>(?:(?P<keys>[a-z_.]+)\[|item |key )"
    r"""(?P<key>\d+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]?): """
)

_MOST_DIGITS = 4300
"""Maximum number of digits that Python converts."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key is there twice")
    return made


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")
