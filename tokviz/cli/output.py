"""What the commands print. Nothing from a file or an argument reaches a terminal raw."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from tokviz.glyphs import safe


def report(message: object) -> None:
    """Write one line about a problem to standard error."""
    if sys.stderr is not None:
        print(f"tokviz: {safe(str(message))}", file=sys.stderr)


def print_json(record: Mapping[str, object]) -> None:
    """Print a record as one line of JSON, in ASCII: controls and the like are escaped."""
    import json

    print(json.dumps(record, ensure_ascii=True))
