"""Runs the command as its users do: as a process, in a pipe or on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "tokviz"]


@dataclass(frozen=True)
class Result:
    """How a process ended and what it wrote."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


@pytest.fixture
def tokviz() -> Callable[..., Result]:
    """`tokviz(*arguments, stdin=b"")` runs the command in pipes."""

    def run(*arguments: object, stdin: bytes = b"", **options: Any) -> Result:
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)], input=stdin, capture_output=True, **options
        )
        return Result(done.returncode, done.stdout, done.stderr.decode())

    return run


@pytest.fixture
def tokviz_on_terminal() -> Callable[..., bytes]:
    """Like `tokviz`, with its output on a terminal: gives what the terminal receives."""

    def run(*arguments: object, stdin: bytes = b"") -> bytes:
        parent, child = pty.openpty()
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)], stdin=subprocess.PIPE, stdout=child, stderr=child
        )
        os.close(child)
        assert process.stdin is not None
        with process.stdin as pipe:
            pipe.write(stdin)
        received = bytearray()
        while block := _read(parent):
            received += block
        os.close(parent)
        process.wait()
        return bytes(received)

    return run


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""
