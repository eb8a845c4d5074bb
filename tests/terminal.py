"""A program on a pseudo-terminal, with the arrival times of its output.

The driver plays a modern terminal emulator: it says yes to synchronized output (mode 2026), so
every frame ends with `END_OF_FRAME`, and a latency runs from a byte written to the terminal until
that mark has been read.
"""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import random
import re
import select
import signal
import string
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.screen import Screen

ROOT = Path(__file__).resolve().parents[1]
DEADLINE_SECONDS = 30.0
START_OF_FRAME, END_OF_FRAME = b"\x1b[?2026h", b"\x1b[?2026l"
MODE_QUERY = re.compile(rb"\x1b\[\?(\d+)\$p")
LETTERS_PER_LINE = 30

SWITCHED_OFF = {
    "alternate screen": (b"\x1b[?1049h", b"\x1b[?1049l"),
    "mouse clicks": (b"\x1b[?1000h", b"\x1b[?1000l"),
    "mouse moves": (b"\x1b[?1003h", b"\x1b[?1003l"),
    "urxvt mouse": (b"\x1b[?1015h", b"\x1b[?1015l"),
    "SGR mouse": (b"\x1b[?1006h", b"\x1b[?1006l"),
    "pixel mouse": (b"\x1b[?1016h", b"\x1b[?1016l"),
    "focus": (b"\x1b[?1004h", b"\x1b[?1004l"),
    "paste": (b"\x1b[?2004h", b"\x1b[?2004l"),
    "hidden cursor": (b"\x1b[?25l", b"\x1b[?25h"),
    "no line wrap": (b"\x1b[?7l", b"\x1b[?7h"),
    "kitty keyboard": (b"\x1b[>", b"\x1b[<u"),
}


_READ_SIZE = 1 << 16
_WRITE_SIZE = 1 << 12


class NoFrameError(AssertionError):
    """The program did not draw the expected output in time."""


class Echo(NamedTuple):
    """Response to a key: seconds until the end of the first and last frame, and bytes drawn."""

    first: float
    settled: float
    n_bytes: int


class Terminal:
    """A Python program on a pseudo-terminal, with its output so far in `output`.

    A context manager that ends it.
    """

    def __init__(
        self,
        *arguments: str,
        redirect: str = "",
        script: str = "",
        ignore: tuple[int, ...] = (),
        environment: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        size: tuple[int, int] = (80, 24),
    ) -> None:
        """Start a program.

        Args:
            arguments: The arguments of the Python interpreter.
            redirect: Redirections as the shell writes them.
            script: What a shell does, which is the program's parent then; `"$@"` is the program.
            ignore: Signals that the program finds ignored.
            environment: The environment, None for that of this process.
            variables: Environment variables besides.
            size: Columns and rows.
        """
        self.output = bytearray()
        self.last_arrival = 0.0
        self.status: int | None = None
        self._screen = Screen(*size)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._n_shown = 0
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size[::-1], 0, 0))
        self.attributes = termios.tcgetattr(self.slave)
        given = {**(environment or os.environ), "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
        given.pop("TEXTUAL_DRIVER", None)
        script = script or (f'exec "$@" {redirect}' if redirect else "")
        self.started = time.perf_counter()
        self.pid = os.fork()
        if self.pid == 0:
            self._become(arguments, script, ignore, {**given, **(variables or {})})
        os.set_blocking(self.master, False)

    def _become(
        self,
        arguments: tuple[str, ...],
        script: str,
        ignore: tuple[int, ...],
        environment: Mapping[str, str],
    ) -> None:
        try:
            os.close(self.master)
            os.login_tty(self.slave)
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
                signal.signal(number, signal.SIG_IGN if number in ignore else signal.SIG_DFL)
            command = [sys.executable, *arguments]
            if script:
                command = ["/bin/sh", "-c", script, "sh", *command]
            os.execve(command[0], command, environment)
        finally:
            os._exit(126)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *how: Any) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)

    # -- input and output

    def pump(self, seconds: float = 0.02) -> bool:
        """Read output for some time and answer queries; return False if there is none."""
        if self.master < 0:
            time.sleep(seconds)
            return False
        if not select.select((self.master,), (), (), seconds)[0]:
            return False
        data = os.read(self.master, _READ_SIZE)
        self.last_arrival = time.perf_counter()
        tail = len(self.output) - 12
        self.output += data
        for query in MODE_QUERY.finditer(self.output, max(0, tail)):
            if query.end() > tail + 12:
                answer = b"2" if query[1] == b"2026" else b"0"
                with suppress(BlockingIOError):
                    os.write(self.master, b"\x1b[?" + query[1] + b";" + answer + b"$y")
        return True

    def type(self, data: bytes) -> None:
        """Send bytes as if typed, and read output meanwhile."""
        waiting = memoryview(data)
        while waiting:
            ends = (self.master,)
            readable, writable, _ = select.select(ends, ends, (), DEADLINE_SECONDS)
            if readable:
                self.pump(0)
            if writable:
                with suppress(BlockingIOError):
                    waiting = waiting[os.write(self.master, waiting[:_WRITE_SIZE]) :]
            if not readable and not writable:
                raise NoFrameError("the program reads no input")

    def comes_true(self, what: Callable[[], object], seconds: float) -> bool:
        """Read until `what()` is true; return False after the time limit."""
        deadline = time.monotonic() + seconds
        while not (is_so := bool(what())) and time.monotonic() < deadline:
            self.pump()
        return is_so

    def wait_for(self, what: Callable[[], object]) -> None:
        """Read until `what()` is true."""
        assert self.comes_true(what, DEADLINE_SECONDS), bytes(self.output[-2000:])

    # -- frames

    def wait_quiet(self, quiet: float, timeout: float = 60.0) -> None:
        """Read until nothing has arrived for `quiet` seconds."""
        start = time.perf_counter()
        while self.pump(quiet):
            if time.perf_counter() - start > timeout:
                raise NoFrameError(f"output did not pause for {quiet} s within {timeout} s")

    def wait_until(self, shown: Callable[[], bool], timeout: float) -> float:
        """Read until a finished frame satisfies `shown`.

        Returns:
            The arrival time of the end of that frame (`time.perf_counter` seconds).

        Raises:
            NoFrameError: Not within `timeout` seconds, or the program has ended.
        """
        deadline = time.perf_counter() + timeout
        while self._inside_frame() or not shown():
            is_over = self.has_ended() or time.perf_counter() > deadline
            if not self.pump(0.05) and is_over:
                raise NoFrameError(f"not shown within {timeout} s:\n{self.screen().text()}")
        if END_OF_FRAME not in self.output:
            # The first frame is drawn before the answer about synchronized output is read.
            self.wait_quiet(0.002)
        return self.last_arrival

    def key(self, data: bytes, quiet: float = 0.07, timeout: float = 30.0) -> Echo:
        """Press a key and time the frames that follow, until `quiet` seconds without output."""
        while self.pump(0):
            pass
        start_offset = len(self.output)
        search_from = start_offset
        first = settled = 0.0
        start = time.perf_counter()
        os.write(self.master, data)
        while first == 0.0 or time.perf_counter() - self.last_arrival < quiet:
            if self.pump(quiet if first else 0.5):
                end = self.output.rfind(END_OF_FRAME, search_from)
                if end >= 0:
                    settled = self.last_arrival - start
                    first = first or settled
                    search_from = end + len(END_OF_FRAME)
            elif self.has_ended() or time.perf_counter() - start > timeout:
                raise NoFrameError(f"no frame {timeout} s after {data!r}:\n{self.screen().text()}")
        return Echo(first, settled, len(self.output) - start_offset)

    def type_steadily(
        self, interval: float, goes_on: Callable[[float], object], *, replaced_in: str = ""
    ) -> list[float]:
        """Type a letter at regular intervals for some time.

        Args:
            interval: Seconds between two letters.
            goes_on: Takes the seconds since the first one.
            replaced_in: What stands before the first letter of a row, if another text may take the
                place of what was typed: then the next letter answers for those that are gone.

        Returns:
            The seconds until each was seen.
        """
        choose, typed = random.Random(1), ""
        waiting: list[tuple[str, float]] = []
        delays: list[float] = []
        next_key = start = time.perf_counter()
        while (typing := goes_on(next_key - start)) or waiting:
            now = time.perf_counter()
            if typing and now >= next_key:
                if len(typed) == LETTERS_PER_LINE:
                    self.type(b"\r")
                    typed = ""
                typed += choose.choice(string.ascii_letters)
                waiting.append((typed, time.perf_counter()))
                self.type(typed[-1].encode())
                next_key += interval
            if self.pump(max(0.0, min(0.002, next_key - now))):
                seen = [text for text, _ in waiting if self.shows(text)]
                if seen and replaced_in:
                    in_turn = [text for text, _ in waiting]
                    seen = in_turn[: in_turn.index(seen[-1]) + 1]
                elif waiting and replaced_in:
                    row = waiting[-1][0]
                    if any(self.shows(replaced_in + row[n:]) for n in range(len(row))):
                        seen = [text for text, _ in waiting]
                delays += [self.last_arrival - sent for text, sent in waiting if text in seen]
                waiting = [(text, sent) for text, sent in waiting if text not in seen]
            if waiting and now - waiting[0][1] > DEADLINE_SECONDS:
                raise NoFrameError(f"{waiting[0][0]!r} not shown:\n{self.screen().text()}")
        return delays

    def screen(self) -> Screen:
        """Return the screen after all output so far."""
        self._screen.feed(self._decoder.decode(bytes(self.output[self._n_shown :])))
        self._n_shown = len(self.output)
        return self._screen

    def shows(self, text: str) -> bool:
        """Return whether a row of the screen contains a text."""
        return any(text in line for line in self.screen().lines())

    def wait_counted(self, n_tokens: int, timeout: float) -> float:
        """Read until the status line shows exactly `n_tokens` tokens.

        While tokens are missing the line says `1,234+ tokens`, so this is the end of all work.

        Returns:
            The arrival time of the end of that frame (`time.perf_counter` seconds).
        """
        unit = "token" if n_tokens == 1 else "tokens"
        counted = re.compile(rf"(?<![\d,]){n_tokens:,} {unit}")
        return self.wait_until(lambda: counted.search(self.screen().text()) is not None, timeout)

    def resident_megabytes(self) -> float:
        """Return the resident memory of the program and its children."""
        return sum(_status_kilobytes(pid, "VmRSS") for pid in _family(self.pid)) / 1000

    def peak_megabytes(self) -> float:
        """Return the peak resident memory of the program."""
        return _status_kilobytes(self.pid, "VmHWM") / 1000

    def _inside_frame(self) -> bool:
        """Return whether a frame is incomplete."""
        return self.output.rfind(START_OF_FRAME) > self.output.rfind(END_OF_FRAME)

    # -- exit

    def end(self) -> int:
        """Wait for the end, and return the exit code (128 + n for signal n)."""
        self.wait_for(self.has_ended)
        while self.master >= 0 and select.select((self.master,), (), (), 0.0)[0]:
            self.pump(0)
        assert self.status is not None
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else 128 - code

    def has_ended(self) -> bool:
        """Return whether the program has ended."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status is not None

    def hang_up(self) -> None:
        """Close the terminal."""
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def modes_left_on(self) -> list[str]:
        """Return the modes that are still switched on."""
        return [
            name
            for name, (on, off) in SWITCHED_OFF.items()
            if self.output.rfind(on) > self.output.rfind(off)
        ]

    def is_restored(self) -> bool:
        """Return whether the terminal is in its original state."""
        return not self.modes_left_on() and termios.tcgetattr(self.slave) == self.attributes


def _status_kilobytes(pid: int, field: str) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1])
    return 0


def _family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    members = [pid]
    for member in members:
        for children in Path(f"/proc/{member}/task").glob("*/children"):
            with suppress(OSError):
                members += [int(child) for child in children.read_text().split()]
    return members
