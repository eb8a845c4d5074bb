"""Piped text is read whole, and the keys come from the terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal import ROOT, Terminal

READ = """
from tokviz.tui.terminal.stdin import read_piped_stdin
from tokviz.errors import InputFileError
try:
    print(repr(read_piped_stdin(limit=10)))
except InputFileError as error:
    print(error)
"""

REOPEN = """
import os, sys
from tokviz.errors import TokvizError
from tokviz.tui.terminal.stdin import read_piped_stdin, reopen_terminal
print(read_piped_stdin())
try:
    reopen_terminal()
    print("reopened", os.isatty(0), sys.stdin.isatty(), sys.__stdin__.fileno(), flush=True)
    print("typed", sys.stdin.readline().strip())
except TokvizError as error:
    print(f"TokvizError: {error}")
"""


def run(program: str, piped: bytes) -> str:
    """Run a program without any terminal, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=piped,
        capture_output=True,
        cwd=ROOT,
        start_new_session=True,
        check=True,
    )
    return done.stdout.decode().strip()


def test_piped_bytes_are_read_exactly() -> None:
    assert run(READ, b"a\r\n\xff\0") == repr(b"a\r\n\xff\0")


def test_the_limit_is_inclusive() -> None:
    assert run(READ, b"0123456789") == repr(b"0123456789")


def test_too_much_is_an_error() -> None:
    assert run(READ, b"0123456789a") == "standard input: more than 10 bytes, which is the limit"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_standard_input_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with Terminal("-c", READ, redirect=f"0>{tmp_path / 'file'}") as process:
        assert process.end() == 0
        assert process.output.startswith(b"standard input: ")


def test_without_a_terminal_the_error_says_what_to_use() -> None:
    *_, last = run(REOPEN, b"x").splitlines()
    assert last.startswith("TokvizError: ")
    assert "needs a terminal" in last
    assert "tokviz encode" in last


@pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
@pytest.mark.parametrize(
    ("redirect", "piped"),
    [("", b"None"), ("<&-", b"None"), ("</dev/null", b"b''"), ("<<E\nhi\nE", b"b'hi\\n'")],
)
def test_keys_come_from_the_terminal(redirect: str, piped: bytes) -> None:
    with Terminal("-c", REOPEN, redirect=redirect) as process:
        process.wait_for(lambda: b"reopened" in process.output and process.output.endswith(b"\n"))
        assert process.output.startswith(piped + b"\r\nreopened True True 0")
        process.type(b"key\r")
        assert process.end() == 0
        assert b"typed key" in process.output
