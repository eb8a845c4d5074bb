"""JSON from a file that nobody vouches for: what it may cost is known before it is parsed."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any, NoReturn

from tokviz.errors import InputFileError
from tokviz.files import decode_utf8, read_file

MAX_JSON_BYTES = 96_000_000
"""Larger than any tokenizer.json in use (the largest have about 35 MB)."""

MAX_JSON_VALUES = 8_000_000
"""Values and containers of one file; each takes some 60 bytes of memory."""


class JsonFileError(InputFileError):
    """A file that can be read, but is not strict JSON."""


def read_json(path: str | PathLike[str], *, limit: int = MAX_JSON_BYTES) -> Any:
    """Read a JSON file of at most `limit` bytes.

    Raises:
        JsonFileError: If it is not strict JSON: it names the line and column, or the key that is
            there twice.
        InputFileError: If it cannot be read.
    """
    return parse_json(read_file(path, limit=limit), path)


def parse_json(data: bytes, path: str | PathLike[str]) -> Any:
    """Parse a file's content; the path is for error messages only.

    Stricter than Python: no NaN or Infinity, no key twice in an object, and not more values than
    memory should hold.

    Raises:
        JsonFileError: See `read_json`.
    """
    # Every value but the first has a comma, a colon or a bracket before it.
    n_values = data.count(b",") + data.count(b"[") + data.count(b"{") + data.count(b":")
    if len(data) > MAX_JSON_BYTES or n_values > MAX_JSON_VALUES:
        raise JsonFileError(path, f"holds more than {MAX_JSON_VALUES:,} values")
    try:
        text = decode_utf8(data, path)
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except InputFileError as error:
        raise JsonFileError(path, error.reason) from None
    except _DuplicateKeyError as error:
        raise JsonFileError(path, f"has the key {error.key!r} twice: remove one") from None
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno}, column {error.colno}: is not JSON: {error.msg}"
        raise JsonFileError(path, reason) from None
    except RecursionError:
        raise JsonFileError(path, "is nested too deeply") from None
    except ValueError as error:
        raise JsonFileError(path, f"is not JSON: {error}") from None


class _DuplicateKeyError(ValueError):
    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKeyError(key)
            seen.add(key)
    return made


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")
