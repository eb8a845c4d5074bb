"""A program on a real pseudo-terminal, with the arrival time of everything that it paints.

The harness plays a modern terminal emulator: it says yes to synchronized output (mode 2026), so
every frame ends with `END_OF_FRAME`, and a latency runs from a byte written to the terminal until
that mark has been read.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from _screen import Background, Screen

PROJECT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
START_OF_FRAME, END_OF_FRAME = b"\x1b[?2026h", b"\x1b[?2026l"
MODE_QUERY = re.compile(rb"\x1b\[\?(\d+)\$p")
TOKEN_COLOURS: frozenset[Background] = frozenset(
    {
        (0x1F, 0x3A, 0x5F),
        (0x5A, 0x3A, 0x1C),
        (0x1F, 0x4A, 0x33),
        (0x55, 0x2A, 0x45),
        (0x3D, 0x34, 0x70),
        (0x1D, 0x4A, 0x4F),
    }
)
"""The token backgrounds of the dark theme."""

TOKEN_COLOUR = re.compile(
    b"48;2;(?:"
    + b"|".join(b"%d;%d;%d" % rgb for rgb in sorted(filter(None, TOKEN_COLOURS)))
    + rb")(?!\d)"
)

CTRL_HOME, CTRL_END = b"\x1b[1;5H", b"\x1b[1;5F"
PAGE_UP, PAGE_DOWN = b"\x1b[5~", b"\x1b[6~"
RIGHT = b"\x1b[C"
PASTE_START, PASTE_END = b"\x1b[200~", b"\x1b[201~"

_READ_SIZE = 1 << 16
_WRITE_SIZE = 1 << 14


class NoFrameError(Exception):
    """The program did not paint what was waited for."""


class Echo(NamedTuple):
    """What followed one key: seconds until the end of its first and last frame, bytes painted."""

    first: float
    settled: float
    n_bytes: int


def tokviz_command(*arguments: str) -> list[str]:
    """Return the command that starts the app."""
    return [sys.executable, "-m", "tokviz", *arguments]


def peer_command(script: str, *arguments: str) -> list[str]:
    """Return the command that starts a small program of this folder."""
    return [sys.executable, str(HERE / script), *arguments]


class Terminal:
    """A running program and the terminal it believes to be in; a context manager that ends it."""

    def __init__(
        self, command: Sequence[str], folder: Path, columns: int = 120, rows: int = 40
    ) -> None:
        """Start the program.

        Args:
            command: The program and its arguments.
            folder: Where to make a new home for it, so that no run meets another's settings.
            columns: Width in cells.
            rows: Height in cells.
        """
        variables = environment(Path(tempfile.mkdtemp(prefix="home-", dir=folder)))
        self._screen = Screen(columns, rows)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.received = bytearray()
        self._shown = 0
        self.last_arrival = 0.0
        self.started = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            _become(command, variables, columns, rows)
        self.closed = False
        os.set_blocking(self._fd, False)

    def __enter__(self) -> Terminal:
        """Return the terminal itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the program."""
        self.close()

    def pump(self, timeout: float) -> bool:
        """Read what has arrived, waiting up to `timeout` seconds, and answer queries.

        Returns:
            False if nothing came.

        Raises:
            NoFrameError: If the program has ended.
        """
        if not select.select([self._fd], [], [], timeout)[0]:
            return False
        try:
            data = os.read(self._fd, _READ_SIZE)
        except OSError:
            data = b""
        if not data:
            raise NoFrameError(f"the program ended:\n{self.screen().text()}")
        self.last_arrival = time.perf_counter()
        tail = len(self.received) - 12
        self.received += data
        for query in MODE_QUERY.finditer(self.received, max(0, tail)):
            if query.end() > tail + 12:
                answer = b"2" if query[1] == b"2026" else b"0"
                os.write(self._fd, b"\x1b[?" + query[1] + b";" + answer + b"$y")
        return True

    def send(self, data: bytes) -> None:
        """Write everything to the program, reading what it paints meanwhile."""
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select([self._fd], [self._fd], [], 30)
            if readable:
                self.pump(0)
            if writable:
                with contextlib.suppress(BlockingIOError):
                    view = view[os.write(self._fd, view[:_WRITE_SIZE]) :]
            if not readable and not writable:
                raise NoFrameError("the program reads no input")

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
            NoFrameError: Not within `timeout` seconds.
        """
        deadline = time.perf_counter() + timeout
        while self._inside_frame() or not shown():
            if not self.pump(0.05) and time.perf_counter() > deadline:
                raise NoFrameError(f"not shown within {timeout} s:\n{self.screen().text()}")
        if END_OF_FRAME not in self.received:
            self._finish_unmarked_frame()
        return self.last_arrival

    def key(self, data: bytes, quiet: float = 0.07, timeout: float = 30.0) -> Echo:
        """Press a key and time the frames that follow, until `quiet` seconds without output."""
        while self.pump(0):
            pass
        start_offset = len(self.received)
        search_from = start_offset
        first = settled = 0.0
        start = time.perf_counter()
        os.write(self._fd, data)
        while first == 0.0 or time.perf_counter() - self.last_arrival < quiet:
            if self.pump(quiet if first else 0.5):
                end = self.received.rfind(END_OF_FRAME, search_from)
                if end >= 0:
                    settled = self.last_arrival - start
                    first = first or settled
                    search_from = end + len(END_OF_FRAME)
            elif time.perf_counter() - start > timeout:
                raise NoFrameError(f"no frame {timeout} s after {data!r}:\n{self.screen().text()}")
        return Echo(first, settled, len(self.received) - start_offset)

    def screen(self) -> Screen:
        """Return the screen as painted by everything read so far."""
        self._screen.feed(self._decoder.decode(bytes(self.received[self._shown :])))
        self._shown = len(self.received)
        return self._screen

    def shows(self, text: str) -> bool:
        """Tell whether some row of the screen holds this text."""
        return any(text in line for line in self.screen().lines())

    def shows_coloured(self, text: str) -> bool:
        """Tell whether some row of the screen holds this text and token backgrounds."""
        screen = self.screen()
        return any(
            text in line and screen.backgrounds(row) & TOKEN_COLOURS
            for row, line in enumerate(screen.lines())
        )

    def wait_counted(self, n_tokens: int, timeout: float) -> float:
        """Read until the status line says that the document has exactly `n_tokens` tokens.

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
        """Return the largest resident memory that the program itself had."""
        return _status_kilobytes(self.pid, "VmHWM") / 1000

    def close(self) -> None:
        """End the program: ask, then kill."""
        if self.closed:
            return
        self.closed = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        deadline = time.perf_counter() + 3
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            with contextlib.suppress(NoFrameError):
                self.pump(0.02)
            if time.perf_counter() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                deadline += 60
        os.close(self._fd)

    def _inside_frame(self) -> bool:
        """Tell whether a frame has begun that has not ended yet."""
        return self.received.rfind(START_OF_FRAME) > self.received.rfind(END_OF_FRAME)

    def _finish_unmarked_frame(self) -> None:
        """Read on until output pauses.

        A program paints its first frame before the terminal's answer about synchronized output
        has reached it, so nothing marks that frame's end.
        """
        while self.pump(0.002):
            pass


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder for the documents and homes of a script, removed at the end."""
    with tempfile.TemporaryDirectory(
        prefix="tokviz-benchmark-", ignore_cleanup_errors=True
    ) as name:
        yield Path(name)


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a modern terminal whose user has no settings yet."""
    inherited = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV")
    return {
        **{name: os.environ[name] for name in inherited if name in os.environ},
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "HOME": str(home),
        "XDG_CONFIG_HOME": f"{home}/config",
        "XDG_CACHE_HOME": f"{home}/cache",
        "XDG_DATA_HOME": f"{home}/data",
        "XDG_STATE_HOME": f"{home}/state",
    }


def _become(command: Sequence[str], variables: dict[str, str], columns: int, rows: int) -> None:
    """Turn this forked child into the program."""
    try:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.chdir(PROJECT)
        os.execvpe(command[0], list(command), variables)
    finally:
        os._exit(127)


def _status_kilobytes(pid: int, field: str) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1])
    return 0


def _family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    members = [pid]
    for member in members:
        for children in Path(f"/proc/{member}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                members += [int(child) for child in children.read_text().split()]
    return members
