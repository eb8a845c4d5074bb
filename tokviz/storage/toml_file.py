"""TOML files written by users: reading with errors that name the line, and lines of keys."""

from __future__ import annotations

import re
from os import PathLike
from typing import Any

from tokviz.errors import InputFileError
from tokviz.storage.files import decode_utf8, read_file

_MAX_BYTES = 1_000_000

_HEADER = re.compile(r"\s*\[+\s*([^\]]*?)\s*\]")
_PLACE = re.compile(r"(.*) \(at (line .*)\)", re.DOTALL)


def read_toml(path: str | PathLike[str]) -> tuple[dict[str, Any], str]:
    """Read a file of at most a megabyte; return its values and its text.

    Raises:
        InputFileError: If it cannot be read, or is not TOML; it names the line.
    """
    import tomllib  # most commands read no TOML

    text = decode_utf8(read_file(path, limit=_MAX_BYTES), path)
    try:
        return tomllib.loads(text), text
    except (RecursionError, ValueError) as error:
        place = _PLACE.fullmatch(str(error))
        message = (
            f"{place[2]}: is not valid TOML: {place[1]}" if place else f"is not valid TOML: {error}"
        )
        raise InputFileError(path, message) from None


def line_of(text: str, table: str, key: str, number: int = 0) -> int:
    """Return the line number of a key, or that of the table's header, counted from 1.

    Args:
        text: The text of the file.
        table: The table, such as "keys"; empty for top-level keys and table names.
        key: The key.
        number: The index of the table, if several have that name.
    """
    wanted = re.compile(rf"""\s*(?:\[+\s*)?["']?{re.escape(key)}["']?\s*(?:[=.\]]|$)""")
    header, is_in, n_seen = 1, not table, 0
    for place, line in enumerate(text.splitlines(), 1):
        match = _HEADER.match(line)
        if match and table:
            is_in = match[1] == table and n_seen == number
            n_seen += match[1] == table
            header = place if is_in else header
        elif match:
            is_in = False
        if (is_in or (match and not table)) and wanted.match(line):
            return place
    return header
