"""Pseudo-terminals in which apps run."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import termios
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple, Self

from tokviz.errors import TokvizError

READ_BYTES = 1 << 16
END_SECONDS = 4.0
"""Time limit for an app to end after its terminal is closed."""


class Size(NamedTuple):
    """The size of a terminal in cells."""

    columns: int
    rows: int

    @classmethod
    def of(cls, columns: object, rows: object) -> Self:
        """Check a size sent by a browser.

        Raises:
            TokvizError: If it is not a valid size.
        """
        if type(columns) is not int or type(rows) is not int:
            raise TokvizError("a size is two whole numbers")
        if not (1 <= columns <= 500 and 1 <= rows <= 200):
            raise TokvizError("a terminal has 1 to 500 columns and 1 to 200 rows")
        return cls(columns, rows)


class AppTerminal:
    """A running app and the controlling end of its terminal."""

    def __init__(self, process: Process, size: Size, master: FileIO) -> None:
        """Use `start` instead."""
        self._process = process
        self._master = master
        self._reader = asyncio.StreamReader(limit=READ_BYTES)
        self.resize(size)

    @classmethod
    async def start(
        cls, program: Sequence[str], size: Size, environment: Mapping[str, str], folder: Path
    ) -> Self:
        """Start a program in a folder, in a new terminal."""
        descriptor, slave = pty.openpty()
        master = FileIO(descriptor, "r+b")
        try:
            process = await asyncio.create_subprocess_exec(
                *program,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
            self = cls(process, size, master)
            await self._connect()
        except BaseException:
            master.close()
            raise
        finally:
            os.close(slave)
        return self

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._input, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), self._master
        )
        output, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, FileIO(os.dup(self._master.fileno()), "wb")
        )
        self._writer = asyncio.StreamWriter(output, protocol, None, loop)

    def resize(self, size: Size) -> None:
        """Set the size of the terminal."""
        cells = struct.pack("HHHH", size.rows, size.columns, 0, 0)
        with suppress(OSError, ValueError):  # the app may have ended
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, cells)

    async def read(self) -> bytes:
        """Wait for output of the app; empty after it has ended."""
        try:
            return await self._reader.read(READ_BYTES)
        except OSError:  # the error of a terminal that no process has open
            return b""

    async def write(self, data: bytes) -> None:
        """Send input, as fast as the app reads it."""
        self._writer.write(data)
        with suppress(OSError):
            await self._writer.drain()

    async def end(self) -> None:
        """Close the terminal and wait until the app has ended; kill it after `END_SECONDS`."""
        self._input.close()
        self._writer.transport.abort()
        try:
            await asyncio.wait_for(self._process.wait(), END_SECONDS)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
