"""What the commands print. Nothing from a file or an argument reaches a terminal raw."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from tokviz.glyphs import safe


def report(message: object) -> None:
    """Write one line about a problem to standard error."""
    if sys.stderr is not None:
        print(f"tokviz: {safe(str(message))}", file=sys.stderr)


def report_note(note: str) -> None:
    """Write a note, if there is any."""
    if note:
        report(note)


def print_json(record: Mapping[str, object]) -> None:
    """Print a record as one line of JSON, in ASCII: controls and the like are escaped."""
    print(json_line(record))


def json_line(record: Mapping[str, object]) -> str:
    """Write a record as one line of JSON; see `print_json`."""
    import json

    return json.dumps(record, ensure_ascii=True)
