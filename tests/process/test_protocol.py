from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokviz.errors import JobError, PatternError, SpecialTokenError, TokvizError
from tokviz.process.protocol import (
    decode_line,
    describe_error,
    encode_line,
    pack_numbers,
    restore_error,
    unpack_numbers,
)


@given(st.text())
def test_any_byte_text_survives(text: str) -> None:
    line = encode_line("request", 3, body={"text": text + "\udc80\udcff"})
    assert line.count(b"\n") == 1
    assert decode_line(line)["body"]["text"] == text + "\udc80\udcff"


@pytest.mark.parametrize("line", [b"", b"hello\n", b"[]\n", b'{"v":1}\n', b'{"v":99,"type":"x"}\n'])
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(JobError):
        decode_line(line)


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_numbers_survive(numbers: list[int]) -> None:
    assert unpack_numbers(pack_numbers(array("I", numbers))).tolist() == numbers


def _over_the_wire(error: BaseException) -> TokvizError:
    line = encode_line("error", 1, **describe_error(error))
    return restore_error("split", decode_line(line))


def test_a_pattern_error_comes_back_whole() -> None:
    error = _over_the_wire(PatternError("a(", "missing )", 2))
    assert isinstance(error, PatternError)
    assert (error.pattern, error.reason, error.position) == ("a(", "missing )", 2)


def test_other_errors_come_back_as_job_errors_with_their_text() -> None:
    assert str(_over_the_wire(SpecialTokenError("ids collide"))) == "ids collide"
    unexpected = _over_the_wire(ZeroDivisionError("by zero"))
    assert str(unexpected) == "the split job failed: ZeroDivisionError: by zero"
    assert "memory" in str(_over_the_wire(MemoryError()))
