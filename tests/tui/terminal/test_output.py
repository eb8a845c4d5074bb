"""Writing to a terminal never fails, also when it has gone."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from tokviz.tui.terminal.driver import TerminalOutput


def test_text_is_written_at_the_flush() -> None:
    reader, writer = os.pipe()
    output = TerminalOutput(writer)
    output.write("häl")
    output.write("lo")
    output.flush()
    assert os.read(reader, 100) == "hällo".encode()
    os.close(reader)
    os.close(writer)


def test_what_nobody_can_encode_is_replaced() -> None:
    reader, writer = os.pipe()
    output = TerminalOutput(writer)
    output.write("a\udcffb")
    output.flush()
    assert os.read(reader, 100) == b"a?b"
    os.close(reader)
    os.close(writer)


def test_a_terminal_that_has_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    output = TerminalOutput(writer)
    for _ in range(3):
        output.write("x" * 100_000)
        output.flush()
    os.close(writer)


@pytest.mark.skipif(sys.platform == "win32", reason="needs non-blocking pipes")
def test_a_non_blocking_terminal_gets_everything() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    text = "0123456789" * 50_000
    received: list[bytes] = []

    def read_all() -> None:
        while data := os.read(reader, 65536):
            received.append(data)

    thread = threading.Thread(target=read_all)
    thread.start()
    output = TerminalOutput(writer)
    output.write(text)
    output.flush()
    os.close(writer)
    thread.join()
    os.close(reader)
    assert b"".join(received).decode() == text
