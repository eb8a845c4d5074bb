"""Output of the commands. Text from files and arguments is made safe for terminals."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tokviz.errors import TokvizError
from tokviz.storage.files import write_file
from tokviz.text.glyphs import n_cells, safe

if TYPE_CHECKING:
    from tokviz.share.figure import Figure

FINDINGS = 1
"""Exit code if a check finds a problem, or a comparison a difference."""
ERROR = 2
"""Exit code for a usage error, or if an input, a job or an output failed."""
INTERRUPTED = 130
"""Exit code after Ctrl+C."""
PIPE_CLOSED = 141
"""Exit code if the reader of the output has closed its pipe."""


def report(message: object) -> None:
    """Print a line about a problem to standard error."""
    if sys.stderr is not None:
        print(f"tokviz: {safe(str(message))}", file=sys.stderr)


class FigureOutput:
    """Writes figures in one form, to a file or to standard output."""

    def __init__(self, form: str, output: str | None, choose: str = "run it once for each") -> None:
        """Set the form and the file.

        Args:
            form: One of `tokviz.share.FORMS`.
            output: The file to write, None for standard output.
            choose: How to select one of several figures, for the error message.

        Raises:
            TokvizError: If the form is PNG and standard output is a terminal.
        """
        if form == "png" and output is None and sys.stdout.isatty():
            raise TokvizError("a terminal cannot show a PNG: name a file with -o")
        self._form, self._output, self._choose = form, output, choose
        self._written: list[bytes] = []
        self._n_figures = 0

    def write(self, figure: Figure) -> None:
        """Write a figure: to standard output now, to a file when `end` is called.

        Raises:
            TokvizError: If the figure is too large for the form, or is a second one and the form
                holds only one.
        """
        # Most commands that import this module write no figure.
        from tokviz.share import WHOLE, write_figure

        if self._n_figures and self._form in WHOLE:
            raise TokvizError(f"--{self._form} holds only one figure: {self._choose}")
        blocks = write_figure(figure, self._form)
        self._n_figures += 1
        if self._output is not None:
            self._written += blocks
        else:
            sys.stdout.flush()
            sys.stdout.buffer.writelines(blocks)  # pages declare UTF-8, whatever the locale is

    def end(self, has_failed: bool = False) -> None:
        """Write the file, if there is one and no input has failed."""
        if self._output is not None and has_failed:
            report(f"{self._output}: not written")
        elif self._output is not None and self._n_figures:
            write_file(self._output, self._written)


def print_json(record: Mapping[str, object]) -> None:
    """Print a record as one line of ASCII JSON, in which control characters are escaped."""
    print(json.dumps(record))


def plain_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Align a table whose first row has the heads: names to the left, numbers to the right."""
    widths = [max(map(n_cells, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        gaps = [" " * (width - n_cells(cell)) for cell, width in zip(row, widths, strict=True)]
        numbers = (gap + cell for cell, gap in zip(row[1:], gaps[1:], strict=True))
        yield "  ".join((row[0] + gaps[0], *numbers)).rstrip()
