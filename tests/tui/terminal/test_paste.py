"""Pastes and keys are told apart, however the reads cut them."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokviz.tui.terminal.paste import (
    PASTE_END,
    PASTE_START,
    Keys,
    Pasted,
    PasteSplitter,
    Segment,
    pasted_text,
)


def split(*reads: bytes) -> list[Segment]:
    splitter = PasteSplitter()
    return [segment for data in reads for segment in splitter.feed(data)]


def joined(segments: list[Segment]) -> list[Segment]:
    """Join neighbouring keys: how they are cut means nothing."""
    result: list[Segment] = []
    for segment in segments:
        if result and isinstance(segment, Keys) and isinstance(result[-1], Keys):
            result[-1] = Keys(result[-1].data + segment.data)
        else:
            result.append(segment)
    return result


def oracle(data: bytes) -> list[Segment]:
    """Split complete input with one regex."""
    parts = re.split(rb"\x1b\[200~(.*?)\x1b\[201~", data, flags=re.DOTALL)
    return [Pasted(part) if number % 2 else Keys(part) for number, part in enumerate(parts) if part]


KEYS = st.sampled_from([b"a", b"\r", b"\x1b[A", b"\x1b[<0;3;4M", b"\x1b", b"\xff", "é".encode()])
PASTED = st.lists(
    st.sampled_from([b"a", b"\r", b"\0", b"\x1b", b"\x1b[", b"\x1b[20", b"01~", PASTE_START])
).map(lambda parts: b"".join(parts).replace(PASTE_END, b""))
INPUT = st.lists(KEYS | PASTED.map(lambda data: PASTE_START + data + PASTE_END)).map(b"".join)


@given(INPUT, st.lists(st.integers(0, 200)))
def test_reads_may_cut_anywhere(data: bytes, cuts: list[int]) -> None:
    borders = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    reads = [data[start:end] for start, end in pairwise(borders)]
    splitter = PasteSplitter()
    segments = [segment for read in reads for segment in splitter.feed(read)]
    assert joined(segments + splitter.flush()) == joined(oracle(data))


def test_every_character_of_a_paste_is_kept() -> None:
    pasted = b"\0\x01\t\n\r\x1b[A\x1b[200~\x7f\x80\xff" + "€".encode()
    assert split(PASTE_START + pasted + PASTE_END) == [Pasted(pasted)]


@pytest.mark.parametrize("cut", range(1, len(PASTE_END)))
def test_end_marker_split_over_reads(cut: int) -> None:
    reads = (PASTE_START + b"abc" + PASTE_END[:cut], PASTE_END[cut:] + b"k")
    assert split(*reads) == [Pasted(b"abc"), Keys(b"k")]


def test_end_marker_arriving_byte_by_byte() -> None:
    data = PASTE_START + b"abc" + PASTE_END + b"k"
    assert split(*(bytes([byte]) for byte in data)) == [Pasted(b"abc"), Keys(b"k")]


def test_something_like_the_end_marker_is_text() -> None:
    assert split(PASTE_START + b"\x1b[201", b"x\x1b[2" + PASTE_END) == [Pasted(b"\x1b[201x\x1b[2")]


def test_empty_paste_is_nothing() -> None:
    assert split(PASTE_START + PASTE_END) == []


def test_two_pastes_in_one_read() -> None:
    paste = PASTE_START + b"x" + PASTE_END
    assert split(paste + b"k" + paste) == [Pasted(b"x"), Keys(b"k"), Pasted(b"x")]


def test_escape_key_is_held_until_flushed() -> None:
    splitter = PasteSplitter()
    assert splitter.feed(b"\x1b") == []
    assert splitter.holds_keys
    assert splitter.flush() == [Keys(b"\x1b")]
    assert not splitter.holds_keys


def test_unterminated_paste_is_delivered_and_keys_work_again() -> None:
    splitter = PasteSplitter()
    assert splitter.feed(PASTE_START + b"abc") == []
    assert splitter.in_paste
    assert splitter.interrupt() == [Pasted(b"abc")]
    assert splitter.feed(b"k") == [Keys(b"k")]


def test_late_end_marker_is_ignored() -> None:
    splitter = PasteSplitter()
    splitter.feed(PASTE_START + b"abc")
    splitter.interrupt()
    assert splitter.feed(PASTE_END + b"k") == [Keys(b"k")]
    assert splitter.feed(PASTE_START + b"x" + PASTE_END) == [Pasted(b"x")]


def test_paste_that_paused_goes_on_as_a_paste() -> None:
    splitter = PasteSplitter()
    splitter.feed(PASTE_START + b"abc")
    splitter.interrupt()
    rest = b"rm -rf x\r" * 100
    assert splitter.feed(rest) == []
    assert splitter.feed(b"end" + PASTE_END + b"k") == [Pasted(rest + b"end"), Keys(b"k")]


def test_short_rest_of_a_paused_paste_is_no_keys() -> None:
    splitter = PasteSplitter()
    splitter.feed(PASTE_START + b"abc")
    splitter.interrupt()
    assert splitter.feed(b"q" + PASTE_END) == [Pasted(b"q")]


def test_new_paste_after_an_unterminated_one() -> None:
    splitter = PasteSplitter()
    splitter.feed(PASTE_START + b"abc")
    splitter.interrupt()
    assert splitter.feed(b"k" + PASTE_START + b"x" + PASTE_END) == [Keys(b"k"), Pasted(b"x")]


def test_mouse_floods_after_an_unterminated_paste_are_no_paste() -> None:
    splitter = PasteSplitter()
    splitter.feed(PASTE_START + b"abc")
    splitter.interrupt()
    moves = b"\x1b[<35;10;10M" * 50
    assert splitter.feed(moves) == [Keys(moves)]


def test_interrupting_outside_of_a_paste_does_nothing() -> None:
    splitter = PasteSplitter()
    assert splitter.interrupt() == []
    assert splitter.feed(b"k" + PASTE_END) == [Keys(b"k" + PASTE_END)]


@pytest.mark.parametrize("cut", range(7))
def test_x10_mouse_reports_are_dropped(cut: int) -> None:
    report = b"\x1b[M \xe4\xff"
    assert joined(split(b"a" + report[:cut], report[cut:] + b"b")) == [Keys(b"ab")]


def test_newlines_of_most_terminals_become_lf() -> None:
    assert pasted_text(b"one\r\rtwo\r") == "one\n\ntwo\n"


def test_crlf_survives_where_the_terminal_sends_it() -> None:
    assert pasted_text(b"one\r\ntwo\rthree\n") == "one\r\ntwo\rthree\n"


def test_invalid_bytes_survive_a_paste() -> None:
    assert pasted_text(b"caf\xe9\0").encode("utf-8", "surrogateescape") == b"caf\xe9\0"
