r"""Tells pastes from keys in what a terminal sends, in time linear in its length.

A terminal in bracketed paste mode wraps what the user pastes in `ESC [ 200 ~` and `ESC [ 201 ~`.
This module works on the bytes as they are read and knows nothing of Textual.

>>> splitter = PasteSplitter()
>>> splitter.feed(b"a\x1b[200~one\rtwo\x1b[201~b")
[Keys(data=b'a'), Pasted(data=b'one\rtwo'), Keys(data=b'b')]
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tokviz.text.bytetext import from_bytes

PASTE_START = b"\x1b[200~"
PASTE_END = b"\x1b[201~"

_X10_MOUSE = b"\x1b[M"
_X10_REPORT = re.compile(rb"\x1b\[M[\x20-\xff]{3}")
_X10_LENGTH = 6

_BURST = 128
"""Bytes in one read that no fingers make: after a pause inside a paste, its continuation."""


@dataclass(frozen=True)
class Keys:
    """Bytes of keys, mouse events and reports."""

    data: bytes


@dataclass(frozen=True)
class Pasted:
    """The bytes of one paste, or of one part of a paste that was interrupted."""

    data: bytes


Segment = Keys | Pasted


class PasteSplitter:
    """Splits the bytes from a terminal into keys and pastes.

    Invariant: every byte fed comes out once, in order, except the two markers and mouse reports in
    the X10 encoding (their coordinates are arbitrary bytes, and Textual asks for another encoding).
    """

    def __init__(self) -> None:
        """Start outside of a paste."""
        self._held = b""
        self._paste: bytearray | None = None
        self._interrupted = False

    @property
    def in_paste(self) -> bool:
        """Whether a paste has begun whose end has not come."""
        return self._paste is not None

    @property
    def holds_keys(self) -> bool:
        """Whether bytes are held back because they may be the beginning of a marker."""
        return bool(self._held)

    def feed(self, data: bytes) -> list[Segment]:
        """Take the bytes of one read."""
        segments: list[Segment] = []
        if self._interrupted:
            data = self._continue_interrupted(data, segments)
        while data:
            if self._paste is None:
                data = self._feed_keys(data, segments)
            else:
                data = self._feed_paste(data, segments)
        return segments

    def flush(self) -> list[Segment]:
        """Give up waiting for the rest of a marker: what is held back were keys."""
        held, self._held = self._held, b""
        return [Keys(held)] if held and not held.startswith(_X10_MOUSE) else []

    def interrupt(self) -> list[Segment]:
        """Give up waiting for the end of a paste: deliver what has come and take keys again."""
        if self._paste is None:
            return []
        data = bytes(self._paste)
        self._paste = None
        self._interrupted = True
        return [Pasted(data)] if data else []

    def _feed_keys(self, data: bytes, segments: list[Segment]) -> bytes:
        """Add the keys up to the next paste, and return what follows its start."""
        data = self._held + data
        start = data.find(PASTE_START)
        if start < 0:
            self._held = _incomplete_tail(data)
            self._add_keys(data[: len(data) - len(self._held)], segments)
            return b""
        self._held = b""
        self._add_keys(data[:start], segments)
        self._paste = bytearray()
        return data[start + len(PASTE_START) :]

    def _feed_paste(self, data: bytes, segments: list[Segment]) -> bytes:
        """Add the paste if its end is there, and return what follows it."""
        assert self._paste is not None
        searched = max(len(self._paste) + 1 - len(PASTE_END), 0)
        self._paste += data
        end = self._paste.find(PASTE_END, searched)
        if end < 0:
            return b""
        if end:
            segments.append(Pasted(bytes(self._paste[:end])))
        rest = bytes(self._paste[end + len(PASTE_END) :])
        self._paste = None
        return rest

    def _continue_interrupted(self, data: bytes, segments: list[Segment]) -> bytes:
        """Return what is left after the rest of a paste that paused for too long.

        Its late end marker is swallowed. Without one, only a burst is taken for the paste going on;
        anything shorter are keys.
        """
        end, start = data.find(PASTE_END), data.find(PASTE_START)
        if start >= 0 and (end < 0 or start < end):
            self._interrupted = False
        elif end >= 0:
            self._interrupted = False
            if end:
                segments.append(Pasted(data[:end]))
            return data[end + len(PASTE_END) :]
        elif len(data) >= _BURST and not data.startswith(b"\x1b"):
            self._interrupted = False
            self._paste = bytearray()
        return data

    @staticmethod
    def _add_keys(data: bytes, segments: list[Segment]) -> None:
        keys = _X10_REPORT.sub(b"", data) if _X10_MOUSE in data else data
        if keys:
            segments.append(Keys(keys))


def _incomplete_tail(data: bytes) -> bytes:
    """Return the end of `data` that may be the beginning of a paste or of a mouse report."""
    escape = data.rfind(b"\x1b", max(0, len(data) - _X10_LENGTH + 1))
    if escape < 0:
        return b""
    tail = data[escape:]
    return tail if PASTE_START.startswith(tail) or tail.startswith(_X10_MOUSE) else b""


def pasted_text(data: bytes) -> str:
    r"""Turn the bytes of a paste into byte text.

    Most terminals send CR for a newline, so in a paste without any LF a CR means LF. A paste with
    an LF comes from a terminal that changes nothing, and is kept as it is.

    >>> pasted_text(b"one\rtwo"), pasted_text(b"one\r\ntwo")
    ('one\ntwo', 'one\r\ntwo')
    """
    return from_bytes(data if b"\n" in data else data.replace(b"\r", b"\n"))
