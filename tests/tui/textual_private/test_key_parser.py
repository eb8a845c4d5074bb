"""The key parser survives malformed input; Textual's own does not."""

from __future__ import annotations

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from tokviz.tui.textual_private.key_parser import KeyParser

OUT_OF_RANGE = "\x1b[99999999;1u"
NO_PIXELS = "\x1b[48;24;80;0;0t", "\x1b[<0;5;7M"


def keys(parser: XTermParser, data: str) -> list[str]:
    return [message.key for message in parser.feed(data) if isinstance(message, events.Key)]


def test_malformed_input_is_dropped() -> None:
    parser = KeyParser()
    assert keys(parser, OUT_OF_RANGE) == []
    assert keys(parser, "a") == ["a"]
    assert [message for data in NO_PIXELS for message in parser.feed(data)]


def test_an_incomplete_sequence_is_flushed() -> None:
    parser = KeyParser()
    assert not parser.is_waiting
    assert keys(parser, "\x1b") == []
    assert parser.is_waiting
    assert [getattr(message, "key", "") for message in parser.flush()] == ["escape"]
    parser.close()


def test_textual_still_needs_the_workaround() -> None:
    with pytest.raises((ValueError, OverflowError)):
        keys(XTermParser(), OUT_OF_RANGE)
    parser = XTermParser()
    with pytest.raises(ZeroDivisionError):
        [*parser.feed(NO_PIXELS[0]), *parser.feed(NO_PIXELS[1])]
    assert not hasattr(XTermParser, "flush"), "use the public method"
