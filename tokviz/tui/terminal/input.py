"""Convert bytes from a terminal to Textual's messages."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import TypeGuard

from textual import constants, events
from textual.message import Message

from tokviz.tui.terminal.paste import Keys, PasteSplitter, Segment, pasted_text
from tokviz.tui.textual_private.key_parser import KeyParser

PASTE_PATIENCE = 0.5
"""Seconds without input after which an incomplete paste is delivered."""

ESCAPE_PATIENCE = constants.ESCAPE_DELAY
"""Seconds without input after which an incomplete escape sequence counts as keys."""

LONE_ESCAPE_PATIENCE = 0.3 * ESCAPE_PATIENCE
"""The same for a single Esc: a sequence is rarely split after its first byte."""

_ESCAPE = b"\x1b"


_JUNK = re.compile(
    r"\x1b\[[ -?]+(?=[\0-\x1f])"  # a control sequence interrupted by a control character
    r"|\x1b\[[ -?]{32,}[@-~]?"  # longer than any key or report
    r"|\x1b\]\d+;[^\x07\x1b]*(?:\x07|\x1b\\|(?=\x1b))"  # an operating system command
    r"|\x1b[PX^_][^\x07\x1b]{16,}(?:\x07|\x1b\\|(?=\x1b))"  # a control string, such as DCS
    r"|(?:\x1b[PX^_][^\x07\x1b]*){4,}(?=\x1b)"  # short control strings, none of them closed
    r"|(?:\x1b[O\[\]]){3,}(?=\x1b)"  # starts of sequences, none of them continued
    r"|(?<=\x1b{4})\x1b+|(?<=\0)\0+"  # keys repeated more often than a user can in one read
)
"""Input that no key sends. Without this filter, 400 KB of it would block the app for a minute."""


class TerminalParser:
    """Converts terminal input to key, mouse, paste and report messages.

    Bytes that are not UTF-8 are dropped from keys, and kept as byte text in pastes.
    """

    def __init__(self, debug: bool = False) -> None:
        """Create the parser; `debug` makes Textual's parser log its input."""
        self._splitter = PasteSplitter()
        self._keys = KeyParser(debug)
        self._escape_patience = ESCAPE_PATIENCE
        self._decode = getincrementaldecoder("utf-8")("ignore").decode

    def feed(self, data: bytes) -> Iterator[Message]:
        """Parse the bytes of one read."""
        self._escape_patience = LONE_ESCAPE_PATIENCE if data == _ESCAPE else ESCAPE_PATIENCE
        for segment in self._splitter.feed(data):
            yield from self._messages(segment)

    def wait(self, seconds: float) -> Iterator[Message]:
        """Parse incomplete input after a pause of this length."""
        if seconds >= PASTE_PATIENCE:
            for segment in self._splitter.interrupt():
                yield from self._messages(segment)
        if seconds >= self._escape_patience:
            for segment in self._splitter.flush():
                yield from self._messages(segment)
            yield from self._keys.flush()

    @property
    def patience(self) -> float | None:
        """Seconds without input after which `wait` must be called, None for never."""
        if self._splitter.in_paste:
            return PASTE_PATIENCE
        if self._splitter.holds_keys or self._keys.is_waiting:
            return self._escape_patience
        return None

    def close(self) -> None:
        """End the parser."""
        self._keys.close()

    def _messages(self, segment: Segment) -> Iterator[Message]:
        if isinstance(segment, Keys):
            for message in self._keys.feed(_JUNK.sub("", self._decode(segment.data))):
                if _with_alt(message):
                    message.character = None  # a command never types text, even if it is unknown
                if not _types_surrogate(message):
                    yield message
        else:
            yield from self._keys.flush()
            yield events.Paste(pasted_text(segment.data))


def _with_alt(message: Message) -> TypeGuard[events.Key]:
    return isinstance(message, events.Key) and message.key.startswith("alt+")


def _types_surrogate(message: Message) -> bool:
    """Return whether a key types a surrogate, which represents a raw byte in byte text."""
    return (
        isinstance(message, events.Key)
        and message.character is not None
        and any("\ud800" <= character <= "\udfff" for character in message.character)
    )
