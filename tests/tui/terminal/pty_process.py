"""Runs a program on a pseudo-terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[3]
DEADLINE_SECONDS = 30.0

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


class PtyProcess:
    """A Python program on a pseudo-terminal, with what it wrote so far in `output`."""

    def __init__(
        self,
        *arguments: str,
        redirect: str = "",
        script: str = "",
        ignore: tuple[int, ...] = (),
        variables: Mapping[str, str] | None = None,
        size: tuple[int, int] = (80, 24),
    ) -> None:
        """Start a program.

        Args:
            arguments: The arguments of the Python interpreter.
            redirect: Redirections as the shell writes them.
            script: What a shell does, which is the program's parent then; `"$@"` is the program.
            ignore: Signals that the program finds ignored.
            variables: Environment variables besides those of this process.
            size: Columns and rows.
        """
        self.output = b""
        self.status: int | None = None
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size[::-1], 0, 0))
        self.attributes = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            script = script or (f'exec "$@" {redirect}' if redirect else "")
            self._run(arguments, script, ignore, variables or {})

    def _run(
        self,
        arguments: tuple[str, ...],
        script: str,
        ignore: tuple[int, ...],
        variables: Mapping[str, str],
    ) -> None:
        try:
            os.close(self.master)
            os.login_tty(self.slave)
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
                signal.signal(number, signal.SIG_IGN if number in ignore else signal.SIG_DFL)
            environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
            environment.update(variables)
            environment.pop("TEXTUAL_DRIVER", None)
            command = [sys.executable, *arguments]
            if script:
                command = ["/bin/sh", "-c", script, "sh", *command]
            os.execve(command[0], command, environment)
        finally:
            os._exit(126)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)

    def type(self, data: bytes) -> None:
        """Send bytes as if typed, and read what comes meanwhile."""
        waiting = memoryview(data)
        while waiting:
            readable, writable, _ = select.select((self.master,), (self.master,), (), 1.0)
            if readable:
                self._read()
            if writable:
                waiting = waiting[os.write(self.master, waiting[:4096]) :]

    def read_some(self, seconds: float = 0.02) -> None:
        """Read what comes within a short time."""
        if self.master < 0:
            time.sleep(seconds)
        elif select.select((self.master,), (), (), seconds)[0]:
            self._read()

    def _read(self) -> None:
        self.output += os.read(self.master, 65536)

    def wait_for(self, what: Callable[[], bool]) -> None:
        """Read until `what()` is true."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not what():
            assert time.monotonic() < deadline, self.output[-2000:]
            self.read_some()

    def end(self) -> int:
        """Wait for the end, and return the exit code (128 + n for signal n)."""
        self.wait_for(self.has_ended)
        while self.master >= 0 and select.select((self.master,), (), (), 0.0)[0]:
            self._read()
        assert self.status is not None
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else 128 - code

    def has_ended(self) -> bool:
        """Tell whether it has ended."""
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
        """Name the modes that were switched on after they were last switched off."""
        return [
            name
            for name, (on, off) in SWITCHED_OFF.items()
            if self.output.rfind(on) > self.output.rfind(off)
        ]

    def is_restored(self) -> bool:
        """Tell whether the terminal is as it was before."""
        return not self.modes_left_on() and termios.tcgetattr(self.slave) == self.attributes
