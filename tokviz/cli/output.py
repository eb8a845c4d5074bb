"""What the commands print. Nothing from a file or an argument reaches a terminal raw."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokviz.errors import TokvizError
from tokviz.storage.files import write_file
from tokviz.text.glyphs import safe

if TYPE_CHECKING:
    from tokviz.share.figure import Figure

USAGE_ERROR = 2
"""Exit code for a command line that makes no sense."""


def report(message: object) -> None:
    """Write one line about a problem to standard error."""
    if sys.stderr is not None:
        print(f"tokviz: {safe(str(message))}", file=sys.stderr)


def report_note(note: str) -> None:
    """Write a note, if there is any."""
    if note:
        report(note)


class FigureOutput:
    """Writes what is shown in one of the forms, to a file or to standard output."""

    def __init__(self, form: str, output: str | None, choose: str = "run it once for each") -> None:
        """Take the form, the name of the file, and how to choose one thing of several.

        Raises:
            TokvizError: If a terminal would get a PNG.
        """
        if form == "png" and output is None and sys.stdout.isatty():
            raise TokvizError("a terminal shows no PNG: name a file by -o")
        self._form, self._output, self._choose = form, output, choose
        self._written: list[bytes] = []
        self._n = 0

    def write(self, figure: Figure) -> None:
        """Write one, at once unless a file is named.

        Raises:
            TokvizError: If it has no place in this form, or is one too many.
        """
        from tokviz.share import WHOLE, write_figure

        if self._n and self._form in WHOLE:
            raise TokvizError(f"--{self._form} shows one thing: {self._choose}")
        parts = write_figure(figure, self._form)
        self._n += 1
        if self._output is not None:
            self._written += parts
        else:
            sys.stdout.flush()
            sys.stdout.buffer.writelines(parts)  # UTF-8 in every locale, as pages say they are

    def end(self, has_failed: bool = False) -> None:
        """Write the file, if one is named, unless an input has failed."""
        if self._output is not None and has_failed:
            report(f"{self._output}: not written")
        elif self._output is not None and self._n:
            write_file(self._output, self._written)


def print_json(record: Mapping[str, object]) -> None:
    """Print a record as one line of JSON, in ASCII: controls and the like are escaped."""
    print(json_line(record))


def json_line(record: Mapping[str, object]) -> str:
    """Write a record as one line of JSON; see `print_json`."""
    import json

    return json.dumps(record, ensure_ascii=True)
