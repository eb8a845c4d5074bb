r"""Separate pastes from keys in terminal input, in linear time.

A terminal in bracketed paste mode wraps what the user pastes in `ESC [ 200 ~` and `ESC [ 201 ~`.
This module works on bytes, without Textual.

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
"""Bytes in one read that must be the rest of a paste that paused, because no user types so fast."""


@dataclass(frozen=True)
class Keys:
    """Bytes of keys, mouse events and reports."""

    data: bytes


@dataclass(frozen=True)
class Pasted:
    """The bytes of one paste, or of a part of an interrupted paste."""

    data: bytes


Segment = Keys | Pasted


class PasteSplitter:
    """Splits the bytes from a terminal into keys and pastes.

    Invariant: every byte comes out once, in order, except the two markers and mouse reports in the
    X10 encoding (their coordinates are arbitrary bytes, and Textual requests another encoding).
    """

    def __init__(self) -> None:
        """Start outside of a paste."""
        self._held = b""
        self._paste: bytearray | None = None
        self._interrupted = False

    @property
    def in_paste(self) -> bool:
        """Whether a paste has started but not ended."""
        return self._paste is not None

    @property
    def holds_keys(self) -> bool:
        """Whether bytes are held back because they may be the start of a marker."""
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
        """Stop waiting for the rest of a marker, and return the held bytes as keys."""
        held, self._held = self._held, b""
        return [Keys(held)] if held and not held.startswith(_X10_MOUSE) else []

    def interrupt(self) -> list[Segment]:
        """Stop waiting for the end of a paste: return the bytes received, and expect keys again."""
        if self._paste is None:
            return []
        data = bytes(self._paste)
        self._paste = None
        self._interrupted = True
        return [Pasted(data)] if data else []

    def _feed_keys(self, data: bytes, segments: list[Segment]) -> bytes:
        """Add the keys up to the next paste, and return the bytes after its start."""
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
        """Add the paste if it has ended, and return the bytes after it."""
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
        """Return the bytes after the rest of a paste that paused for too long.

        Drop its late end marker. Without a marker, a burst continues the paste; fewer bytes are
        keys.
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
    """Return the end of `data` that may be the start of a paste or of a mouse report."""
    escape = data.rfind(b"\x1b", max(0, len(data) - _X10_LENGTH + 1))
    if escape < 0:
        return b""
    tail = data[escape:]
    return tail if PASTE_START.startswith(tail) or tail.startswith(_X10_MOUSE) else b""


def pasted_text(data: bytes) -> str:
    r"""Decode the bytes of a paste as byte text.

    Most terminals send CR for a newline, so in a paste without any LF a CR means LF. A paste with
    an LF comes from a terminal that keeps newlines, and is not changed.

    >>> pasted_text(b"one\rtwo"), pasted_text(b"one\r\ntwo")
    ('one\ntwo', 'one\r\ntwo')
    """
    return from_bytes(data if b"\n" in data else data.replace(b"\r", b"\n"))
