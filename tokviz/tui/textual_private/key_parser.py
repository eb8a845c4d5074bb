"""Parse keys and reports from a terminal without ending on malformed input.

Upstream problem: `XTermParser` has no public module. It raises on a code point out of range and on
a window that reports no pixels, it only gives up waiting for the rest of an escape sequence when
its own clock says so, and it reads an Esc followed by Ctrl with a letter as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.message import Message

_CONTROL = r"[\x01-\x07\x0b\x0c\x0e-\x1a]"
"""Ctrl with a letter, except Tab, Enter and the codes of Backspace, which Alt can modify."""
_BETWEEN_KEYS = re.compile(rf"(?<=\x1b)(?={_CONTROL})|(?<=\x1b[^\x1b\[\]NOPX^_\\])")
"""Between Esc and Ctrl with a letter, because no terminal sends Alt with Ctrl; and after a key with
Alt, because Textual's parser reads a key with Alt as letters if more input follows."""


class KeyParser(XTermParser):
    """Textual's parser, except that it survives malformed reports and can be told to stop waiting.

    It never receives a bracketed paste.
    """

    def feed(self, data: str) -> Iterator[Message]:
        """Parse characters; drop a malformed report and the rest of `data`."""
        if not data:  # to Textual's parser this is the end of the input
            return
        try:
            if re.match(_CONTROL, data):
                yield from self.flush()
            *complete, rest = _BETWEEN_KEYS.split(data)
            for keys in complete:
                yield from super().feed(keys)
                yield from self.flush()
            if rest:
                yield from super().feed(rest)
        except (ValueError, OverflowError):  # a code point out of range
            self._gen = self.parse(self._tokens.append)
            self._awaiting = next(self._gen)
            self._timeout_time = None

    @property
    def is_waiting(self) -> bool:
        """Whether the parser waits for the rest of an escape sequence."""
        return self._timeout_time is not None

    def parse_mouse_code(self, code: str) -> Message | None:
        """Parse a mouse report, in cells if the window reports that it has no pixels."""
        try:
            return super().parse_mouse_code(code)
        except ZeroDivisionError:
            self.mouse_pixels = False
            return super().parse_mouse_code(code)

    def flush(self) -> Iterator[Message]:
        """Parse an incomplete escape sequence as separate keys."""
        if self.is_waiting:
            self._timeout_time = 0.0
            yield from self.tick()

    def close(self) -> None:
        """End the parser."""
        try:
            for _ in super().feed(""):
                pass
        except (EOFError, ParseError):
            pass
