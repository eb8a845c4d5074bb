"""Fixtures that run the command in pipes or on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from tests.forks import Forks, is_as_begun

COMMAND = [sys.executable, "-m", "tokviz"]


@dataclass(frozen=True)
class Result:
    """Exit code and output of a process."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


@pytest.fixture
def tokviz(forks: Forks) -> Callable[..., Result]:
    """Return `run(*arguments, stdin=b"")`, which runs the command in pipes."""

    def run(*arguments: object, stdin: bytes = b"", **options: Any) -> Result:
        words = [*map(str, arguments)]
        if not options and is_as_begun():
            (stdin_end, feed), (out, stdout_end), (err, stderr_end) = (os.pipe() for _ in range(3))
            with ThreadPoolExecutor(3) as threads:
                threads.submit(_write, feed, stdin)
                said = [threads.submit(_read_all, stream) for stream in (out, err)]
                code = forks.run(words, stdin_end, stdout_end, stderr_end)
            return Result(code, said[0].result(), said[1].result().decode())
        done = subprocess.run([*COMMAND, *words], input=stdin, capture_output=True, **options)
        return Result(done.returncode, done.stdout, done.stderr.decode())

    return run


@pytest.fixture
def tokviz_on_terminal(forks: Forks) -> Callable[..., bytes]:
    """Like `tokviz`, with the output on a terminal; returns the output."""

    def run(*arguments: object, stdin: bytes = b"") -> bytes:
        parent, terminal = pty.openpty()
        stdin_end, feed = os.pipe()
        with ThreadPoolExecutor(2) as threads:
            threads.submit(forks.run, [*map(str, arguments)], stdin_end, terminal, terminal)
            threads.submit(_write, feed, stdin)
            return _read_all(parent)

    return run


def _write(pipe: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(pipe, "wb") as file:
        file.write(data)


def _read_all(stream: int) -> bytes:
    received = bytearray()
    while block := _read(stream):
        received += block
    os.close(stream)
    return bytes(received)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the error of Linux if the other side is closed
        return b""
