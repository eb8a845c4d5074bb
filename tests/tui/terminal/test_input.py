"""What a terminal sends becomes the right messages, and nothing it sends is an exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.message import Message

from tokviz.tui.terminal.input import (
    ESCAPE_PATIENCE,
    LONE_ESCAPE_PATIENCE,
    PASTE_PATIENCE,
    KeyParser,
    TerminalParser,
)
from tokviz.tui.terminal.paste import PASTE_END, PASTE_START


def parse(*reads: bytes) -> list[Message]:
    parser = TerminalParser()
    messages = [message for data in reads for message in parser.feed(data)]
    return messages + list(parser.wait(PASTE_PATIENCE))


def shown(messages: list[Message]) -> list[str]:
    """Write messages in short: keys by name, pastes in quotes, others by type."""
    return [
        message.key
        if isinstance(message, events.Key)
        else repr(message.text)
        if isinstance(message, events.Paste)
        else type(message).__name__
        for message in messages
    ]


def test_keys_around_a_paste_come_in_order() -> None:
    assert shown(parse(b"a\x1b[A" + PASTE_START + b"x\ry" + PASTE_END + b"\x1b[Bb")) == [
        "a",
        "up",
        "'x\\ny'",
        "down",
        "b",
    ]


def test_escape_key_right_before_a_paste() -> None:
    assert shown(parse(b"\x1b" + PASTE_START + b"x" + PASTE_END)) == ["escape", "'x'"]


def test_escape_key_waits_less_long_than_an_escape_sequence() -> None:
    parser = TerminalParser()
    assert list(parser.feed(b"\x1b")) == []
    assert parser.patience == LONE_ESCAPE_PATIENCE < ESCAPE_PATIENCE / 2
    assert shown(list(parser.wait(LONE_ESCAPE_PATIENCE))) == ["escape"]
    assert parser.patience is None


def test_escape_behind_other_keys_may_be_the_beginning_of_a_sequence_that_is_torn() -> None:
    parser = TerminalParser()
    assert shown(list(parser.feed(b"a\x1b"))) == ["a"]
    assert parser.patience == ESCAPE_PATIENCE
    assert list(parser.wait(LONE_ESCAPE_PATIENCE)) == []
    assert shown(list(parser.feed(b"[A"))) == ["up"]


def test_escape_and_a_key_with_ctrl_are_two_keys_however_quick() -> None:
    assert shown(parse(b"\x1b\x0c2\x1b\x0c")) == ["escape", "ctrl+l", "2", "escape", "ctrl+l"]
    assert shown(parse(b"\x1b", b"\x0c2")) == ["escape", "ctrl+l", "2"]


def test_arrow_key_split_over_reads() -> None:
    assert shown(parse(b"\x1b", b"[", b"A")) == ["up"]


def test_unterminated_paste_is_delivered_after_a_while() -> None:
    parser = TerminalParser()
    assert list(parser.feed(PASTE_START + b"abc")) == []
    assert parser.patience == PASTE_PATIENCE
    assert list(parser.wait(PASTE_PATIENCE / 2)) == []
    assert shown(list(parser.wait(PASTE_PATIENCE))) == ["'abc'"]
    assert shown(list(parser.feed(b"k"))) == ["k"]


def test_character_split_over_reads() -> None:
    euro = "€".encode()
    assert shown(parse(euro[:1], euro[1:2], euro[2:])) == ["euro_sign"]


def test_bytes_that_are_no_utf8_are_dropped_among_keys() -> None:
    assert shown(parse(b"a\xff\x80b", b"\xe4", b"c")) == ["a", "b", "c"]


def test_nul_is_kept_in_a_paste() -> None:
    assert shown(parse(PASTE_START + b"\0a\0" + PASTE_END)) == ["'\\x00a\\x00'"]


def test_code_point_out_of_range_is_dropped() -> None:
    assert shown(parse(b"\x1b[99999999;1u", b"a")) == ["a"]


def test_key_that_types_a_surrogate_is_dropped() -> None:
    assert shown(parse(b"\x1b[56576;1;56576u", b"a")) == ["a"]


def test_mouse_works_where_the_window_has_no_pixels() -> None:
    _, click = parse(b"\x1b[48;24;80;0;0t", b"\x1b[<0;5;7M")
    assert isinstance(click, events.MouseDown)
    assert (click.x, click.y) == (4, 6)


MARKERS = [PASTE_START, PASTE_END, b"\x1b[48;0;0;0;0t", b"\x1b[<0;1;1M", "🤖".encode()]
BYTES_OF_INTEREST = st.sampled_from([bytes([byte]) for byte in b"\x1b[M<09;ut~\xff\0a:"] + MARKERS)


@given(st.lists(st.lists(BYTES_OF_INTEREST).map(b"".join) | st.binary()))
def test_no_input_is_an_exception(reads: list[bytes]) -> None:
    parse(*reads)


def test_alt_keys_in_reads_close_together_are_keys_and_no_text() -> None:
    parser = TerminalParser()
    messages = [*parser.feed(b"\x1bh"), *parser.feed(b"\x1br"), *parser.feed(b"x")]
    assert [getattr(message, "key", "") for message in messages] == ["alt+h", "alt+r", "x"]


def test_alt_keys_in_one_read_are_keys_and_no_text() -> None:
    parser = TerminalParser()
    data = b"\x1bh\x1br\x1b[A\x1bhx\x1br\x1bOP\x1bv"
    keys = [getattr(message, "key", "") for message in (*parser.feed(data), *parser.wait(1.0))]
    assert keys == ["alt+h", "alt+r", "up", "alt+h", "x", "alt+r", "f1", "alt+v"]


def test_a_key_with_alt_types_nothing_also_where_it_is_no_command() -> None:
    parser = TerminalParser()
    messages = [*parser.feed(b"\x1bh\x1bZ\x1b[120;3u\xc3\xa9Z"), *parser.wait(1.0)]
    typed = [message.character if isinstance(message, events.Key) else None for message in messages]
    assert typed == [None, None, None, "é", "Z"]


@pytest.mark.parametrize(
    "junk",
    [
        *(b"\x1b[1;", b"\x1b[<0;1", b"\x1b]52;", b"\x1bP" + b"x" * 20, b"\x1bPx"),
        *(b"\x1b[", b"\x1b]", b"\x1b_", b"\x1bO", b"\x1b", b"\0"),
    ],
)
def test_input_that_is_no_key_is_dropped(junk: bytes) -> None:
    flood = junk * (400_000 // len(junk))
    reads = [flood[start : start + 4_095] for start in range(0, len(flood), 4_095)]
    *noise, last = shown(parse(*reads, b"\x11"))
    assert last == "ctrl+q"
    assert len(noise) < 25 * len(reads), "what a read cuts off may be keys"


def test_quick_keys_and_reports_are_not_taken_for_junk() -> None:
    sent = b"\x1bO\x1bOP\x1b[1;5C\x1b[1;5C\x1b]\x1bPa\x1b[<35;100;200M\x1b[A\0a\0"
    assert shown(parse(sent)) == shown([*KeyParser().feed(sent.decode())])
