"""A minimal terminal emulator for the screens that Textual draws."""

from __future__ import annotations

import re

from rich.cells import cell_len

_SEQUENCE = re.compile(
    r"\x1b\[(?P<parameters>[0-9;:?<>=]*)[ -/]*(?P<command>[@-~])"
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\)"
    r"|\x1b[^\[\]PX^_]"
    r"|(?P<text>[^\x00-\x1f\x1b\x7f]+)"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])",
    re.DOTALL,
)

Background = tuple[int, int, int] | None
"""A 24-bit background colour, None for every other kind."""


class Screen:
    """A grid of cells with text and 24-bit background colors.

    Knows cursor placement, SGR backgrounds, newlines, erasing and wide characters. Textual's output
    uses nothing else that moves text.
    """

    def __init__(self, columns: int, rows: int) -> None:
        """Create an empty screen."""
        self.columns = columns
        self.rows = rows
        self._texts = [[" "] * columns for _ in range(rows)]
        self._backgrounds: list[list[Background]] = [[None] * columns for _ in range(rows)]
        self._row = 0
        self._column = 0
        self._background: Background = None
        self._rest = ""

    def feed(self, output: str) -> None:
        """Apply terminal output; a sequence cut in two is completed by the next call."""
        data = self._rest + output
        position = 0
        while position < len(data):
            match = _SEQUENCE.match(data, position)
            if match is None:
                break
            position = match.end()
            if match["text"] is not None:
                self._write(match["text"])
            elif match["control"] is not None:
                self._control(match["control"])
            elif match["command"] is not None:
                self._command(match["command"], match["parameters"])
        self._rest = data[position:]

    def lines(self) -> list[str]:
        """Return the text of every row, trailing blanks removed."""
        return ["".join(cells).rstrip() for cells in self._texts]

    def text(self) -> str:
        """Return all rows joined by newlines."""
        return "\n".join(self.lines())

    def backgrounds(self, row: int) -> set[Background]:
        """Return the background colors in a row."""
        return set(self._backgrounds[row])

    def _write(self, text: str) -> None:
        if self._row >= self.rows:
            return
        texts, backgrounds = self._texts[self._row], self._backgrounds[self._row]
        for character in text:
            width = 1 if " " <= character <= "~" else cell_len(character)
            if width == 0:
                if self._column:
                    texts[min(self._column, self.columns) - 1] += character
                continue
            if self._column + width > self.columns:
                return
            texts[self._column] = character
            backgrounds[self._column] = self._background
            if width == 2:
                texts[self._column + 1] = ""
                backgrounds[self._column + 1] = self._background
            self._column += width

    def _control(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._row += 1
            self._column = 0

    def _command(self, command: str, parameters: str) -> None:
        if command == "H":
            row, _, column = parameters.partition(";")
            self._row, self._column = int(row or 1) - 1, int(column or 1) - 1
        elif command == "m":
            self._colour(parameters.split(";"))
        elif command == "J" or (command == "h" and parameters == "?1049"):
            self._texts = [[" "] * self.columns for _ in range(self.rows)]
            self._backgrounds = [[None] * self.columns for _ in range(self.rows)]

    def _colour(self, codes: list[str]) -> None:
        index = 0
        while index < len(codes):
            code = codes[index]
            if code in ("38", "48"):
                n_codes = 5 if codes[index + 1 : index + 2] == ["2"] else 3
                if code == "48":
                    values = codes[index + 2 : index + 5]
                    rgb = n_codes == 5 and len(values) == 3
                    self._background = (
                        (int(values[0]), int(values[1]), int(values[2])) if rgb else None
                    )
                index += n_codes
                continue
            if code in ("", "0", "49"):
                self._background = None
            index += 1
